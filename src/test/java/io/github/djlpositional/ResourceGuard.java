package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What hostile input may do: succeed, or be refused with an exception that is documented; soon, and without room for
 * more than ten times the input.
 */
public final class ResourceGuard {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final BufferPoolMXBean DIRECT = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .findFirst()
            .orElseThrow();
    /**
     * What the smallest input may cost: stack traces, messages, and a text of 64 KB that is claimed, in bytes and
     * letters.
     */
    private static final long FLOOR = 1 << 20;
    /** A case takes well below a millisecond; a machine that is busy elsewhere may hold it up. */
    private static final long LONGEST_SECONDS = 20;

    private final List<Class<? extends Exception>> documented;

    /** What is done with the input. */
    @FunctionalInterface
    public interface Action {
        void run() throws Exception;
    }

    /**
     * Names what may be thrown.
     *
     * @param documented the exceptions, of which subclasses pass too
     */
    public ResourceGuard(List<Class<? extends Exception>> documented) {
        this.documented = documented;
    }

    /**
     * Does something with hostile input, and fails if it does harm.
     *
     * @param inputBytes the size of the input
     * @param fixed bytes that the action may take, whatever the input
     * @param action what is done
     * @return what it was refused with, null where it was taken
     */
    public Exception refusal(long inputBytes, long fixed, Action action) {
        long direct = DIRECT.getTotalCapacity();
        long heap = THREADS.getCurrentThreadAllocatedBytes();
        long start = System.nanoTime();
        Exception refusal = null;
        try {
            action.run();
        } catch (OutOfMemoryError e) {
            throw new AssertionError("room was made for what there is not", e);
        } catch (Exception e) {
            if (documented.stream().noneMatch(type -> type.isInstance(e))) {
                throw new AssertionError("this is not documented: " + e, e);
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
     * Fails where what was refused was not refused by a check of the library, but by whatever came first elsewhere.
     *
     * @param what the input
     * @param refusal what it was refused with, null where it was taken; an engine's own exceptions say nothing
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
