package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;

/**
 * The work of a server: threads share a block, models are saved and loaded, predictors are opened and closed, all at
 * the same time. No value is wrong, no array stays open, and memory does not grow.
 *
 * <p>{@code mvn test -Dtest=SoakTest -Dsoak.duration=10m} soaks each engine for ten minutes, with the units {@code s},
 * {@code m} and {@code h} (default: {@value #DEFAULT_DURATION}).
 */
class SoakTest {

    private static final String DEFAULT_DURATION = "10s";

    /** The slope is computed from all pairs of samples. */
    private static final int SAMPLES = 400;

    private static final int LEAST_MILLIS = 250;

    /**
     * The MB by which memory may rise over the second half, or by its scatter if that is more. The allocator and the
     * JVM take up to 4 MB in a short soak. An array that is left open takes at least 256 bytes, so 16 MB are 65,536
     * arrays, which a few seconds of forwards would leave.
     */
    private static final double MAX_RISE = 16;

    /** How often a soak in which memory rises is repeated. */
    private static final int REPETITIONS = 2;

    /** Work that a program repeats in one or more threads. Every answer is checked. */
    interface Activity extends AutoCloseable {

        /** The number of threads that do the work at the same time. */
        int threads();

        /**
         * Does a part of the work. Each thread calls it until it returns false.
         *
         * @param thread the number of the thread, from 0
         * @param isTimeUp whether the soak ends
         * @return whether to continue; the same for all threads
         */
        boolean step(int thread, boolean isTimeUp) throws Exception;

        /** What was done until now. */
        String done();

        /** The number of arrays that are open now. */
        int openArrays();

        @Override
        void close();
    }

    private volatile boolean isTimeUp;

    private static Duration duration() {
        return Duration.parse("PT" + System.getProperty("soak.duration", DEFAULT_DURATION));
    }

    @EngineTest
    void memoryDoesNotGrowNoArrayStaysOpenAndNoValueIsWrong(Engine engine, @TempDir Path folder) throws Exception {
        try (Activity sharing = new SoakSharing(engine);
                Activity saving = SoakEachModel.saving(engine, folder);
                Activity predicting = SoakEachModel.predicting(engine)) {
            List<Activity> activities = List.of(sharing, saving, predicting);
            int before = openArrays(activities);
            SoakMemory memory = soak(engine, activities);
            // memory of a JVM that still compiles, or of a busy machine, settles; a leak continues
            for (int more = 0; more < REPETITIONS && memory.rise() >= maxRise(memory); more++) {
                memory = soak(engine, activities);
            }
            assertThat(openArrays(activities)).isEqualTo(before);
            assertThat(memory.rise()).isLessThan(maxRise(memory));
        }
    }

    private static double maxRise(SoakMemory memory) {
        return Math.max(MAX_RISE, memory.scatter());
    }

    private SoakMemory soak(Engine engine, List<Activity> activities) throws Exception {
        int before = openArrays(activities);
        SoakMemory memory = soak(activities);
        System.out.printf(
                Locale.ROOT,
                "%s, %s: %s; open arrays: %d before, %d after; resident: %.0f MB, %+.2f MB per minute (%+.2f MB"
                        + " over the second half, scatter %.2f MB)%n",
                engine.getEngineName(),
                duration().toString().substring(2).toLowerCase(Locale.ROOT),
                activities.stream().map(Activity::done).collect(Collectors.joining(", ")),
                before,
                openArrays(activities),
                memory.latest(),
                memory.slope(),
                memory.rise(),
                memory.scatter());
        return memory;
    }

    private static int openArrays(List<Activity> activities) {
        return activities.stream().mapToInt(Activity::openArrays).sum();
    }

    private SoakMemory soak(List<Activity> activities) throws Exception {
        ExecutorService executor = Executors.newCachedThreadPool();
        SoakMemory memory = new SoakMemory();
        isTimeUp = false;
        List<Future<?>> threads = new ArrayList<>();
        try {
            for (Activity activity : activities) {
                for (int thread = 0; thread < activity.threads(); thread++) {
                    int number = thread;
                    threads.add(executor.submit(() -> {
                        while (activity.step(number, isTimeUp)) {
                            // the step checks its answers
                        }
                        return null;
                    }));
                }
            }
            long end = System.nanoTime() + duration().toNanos();
            long pause = Math.max(LEAST_MILLIS, duration().toMillis() / SAMPLES);
            // a thread that is done before its time has failed
            while (System.nanoTime() < end && threads.stream().noneMatch(Future::isDone)) {
                Thread.sleep(pause);
                memory.sample();
            }
            isTimeUp = true;
            for (Future<?> thread : threads) {
                thread.get();
            }
        } finally {
            executor.shutdownNow();
        }
        return memory;
    }
}
