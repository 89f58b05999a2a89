package io.github.djlpositional.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;

/** Threads that one object starts, tells to end, and waits for before what they use is closed. For one thread. */
final class StartedThreads implements AutoCloseable {

    private final ThreadFactory factory;
    private final List<Thread> threads = new ArrayList<>();

    StartedThreads() {
        this(Thread::new);
    }

    StartedThreads(ThreadFactory factory) {
        this.factory = factory;
    }

    /** How many have started. */
    int count() {
        return threads.size();
    }

    /**
     * Starts one more.
     *
     * @param name what it is called in a dump of all threads
     * @param work what it does; it ends by itself once it is told to
     * @throws OutOfMemoryError if the system gives no more threads; those that have started are still to be closed
     */
    void start(String name, Runnable work) {
        Thread thread = factory.newThread(work);
        thread.setName(name);
        thread.start();
        threads.add(thread);
    }

    /**
     * Waits until the last one has ended. An interrupt does not cut this short, as what the threads use must not be
     * closed under them; it is kept for the caller to see.
     */
    @Override
    public void close() {
        boolean wasInterrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    wasInterrupted = true;
                }
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
