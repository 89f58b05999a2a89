package io.github.djlpositional.support;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs code with hostile input. It must succeed or throw a documented exception, within seconds, and allocate at most
 * ten times the input.
 */
public final class ResourceGuard {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final BufferPoolMXBean DIRECT = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .findFirst()
            .orElseThrow();
    /**
     * The bytes for the smallest input: stack traces, messages, and a text of a claimed 64 KB as bytes and characters.
     */
    private static final long FLOOR = 1 << 20;
    /** A case takes less than a millisecond, but the machine may be busy. */
    private static final long LONGEST_SECONDS = 20;

    private final List<Class<? extends Exception>> documented;

    /** The code that uses the input. */
    @FunctionalInterface
    public interface Action {
        void run() throws Exception;
    }

    /**
     * Creates a guard.
     *
     * @param documented the expected exceptions, including their subclasses
     */
    public ResourceGuard(List<Class<? extends Exception>> documented) {
        this.documented = documented;
    }

    /**
     * Runs code with hostile input, and fails if it does harm.
     *
     * @param inputBytes the size of the input
     * @param fixed bytes that the action may allocate in addition
     * @param action the code
     * @return the exception, or null if the input was accepted
     */
    public Exception refusal(long inputBytes, long fixed, Action action) {
        long direct = DIRECT.getTotalCapacity();
        long heap = THREADS.getCurrentThreadAllocatedBytes();
        long start = System.nanoTime();
        Exception refusal = null;
        try {
            action.run();
        } catch (OutOfMemoryError e) {
            throw new AssertionError("memory was allocated for data that does not exist", e);
        } catch (Exception e) {
            if (documented.stream().noneMatch(type -> type.isInstance(e))) {
                throw new AssertionError("not a documented exception: " + e, e);
            }
            refusal = e;
        }
        long most = 10 * inputBytes + fixed + FLOOR;
        assertThat(THREADS.getCurrentThreadAllocatedBytes() - heap)
                .as("bytes of Java's heap")
                .isLessThan(most);
        assertThat(DIRECT.getTotalCapacity() - direct)
                .as("bytes outside of Java's heap")
                .isLessThan(most);
        assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start))
                .as("seconds")
                .isLessThan(LONGEST_SECONDS);
        return refusal;
    }

    /**
     * Fails if an exception was not thrown by a check of the library.
     *
     * @param what the input
     * @param refusal the exception, or null if the input was accepted; an engine's exceptions are ignored
     */
    public static void requireOurs(Object what, Exception refusal) {
        if (refusal instanceof IllegalArgumentException) {
            assertThat(refusal.getStackTrace()[0].getClassName())
                    .as("%s: %s", what, refusal)
                    .startsWith("io.github.djlpositional.");
            assertThat(refusal).as("%s", what).message().contains(": ");
        }
    }
}
