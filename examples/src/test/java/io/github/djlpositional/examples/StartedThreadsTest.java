package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StartedThreadsTest {

    /** What a JVM says whose system has no more threads. */
    static final String NO_MORE = "unable to create native thread";

    /**
     * Starts threads until the system seems to have no more of them.
     *
     * @param most so many start
     * @param made where each is put, that which does not start too
     */
    static StartedThreads thatRunOutAfter(int most, List<Thread> made) {
        return new StartedThreads(work -> {
            boolean isOneTooMany = made.size() == most;
            Thread thread = new Thread(work) {
                @Override
                public synchronized void start() {
                    if (isOneTooMany) {
                        throw new OutOfMemoryError(NO_MORE);
                    }
                    super.start();
                }
            };
            made.add(thread);
            return thread;
        });
    }

    @Test
    void closeWaitsForTheEndHoweverOftenItIsInterrupted() {
        Thread closing = Thread.currentThread();
        AtomicReference<String> ended = new AtomicReference<>();
        StartedThreads threads = new StartedThreads();
        threads.start("patient", () -> {
            for (int i = 0; i < 3; i++) {
                closing.interrupt();
                while (closing.isInterrupted()) {
                    Thread.onSpinWait();
                }
            }
            ended.set(Thread.currentThread().getName());
        });
        threads.close();
        assertThat(Thread.interrupted()).as("kept for the caller to see").isTrue();
        assertThat(ended).hasValue("patient");
    }
}
