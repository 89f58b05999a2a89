package io.github.djlpositional.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;

/** Starts threads, and waits for their end before the objects that they use are closed. Not thread-safe. */
final class StartedThreads implements AutoCloseable {

    private final ThreadFactory factory;
    private final List<Thread> threads = new ArrayList<>();

    StartedThreads(ThreadFactory factory) {
        this.factory = factory;
    }

    /** Returns the number of started threads. */
    int count() {
        return threads.size();
    }

    /**
     * Starts a thread.
     *
     * @param name the name of the thread
     * @param work must end by itself after the owner has requested it
     * @throws OutOfMemoryError if the system cannot create more threads; the caller still closes the started ones
     */
    void start(String name, Runnable work) {
        Thread thread = factory.newThread(work);
        thread.setName(name);
        thread.start();
        threads.add(thread);
    }

    /**
     * Waits until all threads have ended. Interrupts do not shorten the wait; the interrupted status is restored
     * afterwards.
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
