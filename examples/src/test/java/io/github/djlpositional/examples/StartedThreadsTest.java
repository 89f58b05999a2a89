package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StartedThreadsTest {

    /** The message of a JVM whose system cannot create more threads. */
    static final String NO_MORE = "unable to create native thread";

    /**
     * Simulates a system that cannot create more than some threads.
     *
     * @param most the number of threads that start
     * @param made receives each thread, including the one that does not start
     */
    static ThreadFactory thatRunOutAfter(int most, List<Thread> made) {
        return work -> {
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
        };
    }

    @Test
    void closeWaitsForTheEndInSpiteOfInterrupts() {
        Thread closing = Thread.currentThread();
        AtomicReference<String> ended = new AtomicReference<>();
        StartedThreads threads = new StartedThreads(Thread::new);
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
        assertThat(Thread.interrupted()).as("interrupted status").isTrue();
        assertThat(ended).hasValue("patient");
    }
}
