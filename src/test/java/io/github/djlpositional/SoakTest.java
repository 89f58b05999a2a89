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
 * The life of a server in a short time: forwards of many threads that share a block, models saved and loaded,
 * predictors opened and closed, all at once. No value is wrong, no array stays open, and memory stays flat.
 *
 * <p>{@code mvn test -Dtest=SoakTest -Dsoak.duration=10m} soaks each engine for ten minutes; {@code s}, {@code m} and
 * {@code h} are understood. Without it, {@value #USUAL}.
 */
class SoakTest {

    private static final String USUAL = "25s";

    /** The line through them is of all pairs. */
    private static final int SAMPLES = 400;

    private static final int LEAST_MILLIS = 250;

    /**
     * MB that memory may rise over the second half without it being a leak, as long as it scatters less: the
     * allocator's and the JVM's own, of which up to 4 were seen in a short soak. An array that is left open takes 256
     * bytes or more, its head included, so that this is 65,536 of them, as many as the forwards of a few seconds would
     * leave.
     */
    private static final double UNSEEN_RISE = 16;

    /** How often memory that rises is watched for as long again, to see whether it goes on. */
    private static final int MORE_TIMES = 2;

    private volatile boolean isTimeUp;

    private static Duration duration() {
        return Duration.parse("PT" + System.getProperty("soak.duration", USUAL));
    }

    @EngineTest
    void memoryIsFlatNoArrayStaysOpenAndNoValueIsWrong(Engine engine, @TempDir Path folder) throws Exception {
        try (SoakActivity sharing = new SoakSharing(engine);
                SoakActivity saving = SoakEachModel.saving(engine, folder);
                SoakActivity predicting = SoakEachModel.predicting(engine)) {
            List<SoakActivity> activities = List.of(sharing, saving, predicting);
            int before = openArrays(activities);
            SoakMemory memory = soak(engine, activities);
            // a JVM that still compiles, or a machine that is busy with something else, settles; a leak does not
            for (int more = 0; more < MORE_TIMES && memory.rise() >= mayRise(memory); more++) {
                memory = soak(engine, activities);
            }
            assertThat(openArrays(activities)).isEqualTo(before);
            assertThat(memory.rise()).isLessThan(mayRise(memory));
        }
    }

    private static double mayRise(SoakMemory memory) {
        return Math.max(UNSEEN_RISE, memory.scatter());
    }

    private SoakMemory soak(Engine engine, List<SoakActivity> activities) throws Exception {
        int before = openArrays(activities);
        SoakMemory memory = soak(activities);
        System.out.printf(
                Locale.ROOT,
                "%s, %s: %s; open arrays: %d before, %d after; resident: %.0f MB, %+.2f MB per minute (%+.2f MB"
                        + " over the second half, scatter %.2f MB)%n",
                engine.getEngineName(),
                duration().toString().substring(2).toLowerCase(Locale.ROOT),
                activities.stream().map(SoakActivity::done).collect(Collectors.joining(", ")),
                before,
                openArrays(activities),
                memory.latest(),
                memory.slope(),
                memory.rise(),
                memory.scatter());
        return memory;
    }

    private static int openArrays(List<SoakActivity> activities) {
        return activities.stream().mapToInt(SoakActivity::openArrays).sum();
    }

    private SoakMemory soak(List<SoakActivity> activities) throws Exception {
        ExecutorService executor = Executors.newCachedThreadPool();
        SoakMemory memory = new SoakMemory();
        isTimeUp = false;
        List<Future<?>> threads = new ArrayList<>();
        try {
            for (SoakActivity activity : activities) {
                for (int thread = 0; thread < activity.threads(); thread++) {
                    int number = thread;
                    threads.add(executor.submit(() -> {
                        boolean goesOn = true;
                        while (goesOn) {
                            goesOn = activity.step(number, isTimeUp);
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
