package io.github.djlpositional;

/** Something that a program does again and again over its life, by one thread or many; every answer is checked. */
interface SoakActivity extends AutoCloseable {

    /** The number of threads that do it at the same time. */
    int threads();

    /**
     * Does a part of it. Called by each of the threads until it says that it is over.
     *
     * @param thread which of them, from 0
     * @param isTimeUp whether the soak is to end
     * @return whether to go on; the same for all threads
     */
    boolean step(int thread, boolean isTimeUp) throws Exception;

    /** What was done until now. */
    String done();

    /** The arrays that it has open now. */
    int openArrays();

    @Override
    void close();
}
