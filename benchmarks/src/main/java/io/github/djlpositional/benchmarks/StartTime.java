package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** Prints the time from the start of a Java process to its first result, in three processes for each result. */
public final class StartTime {

    private static final int PROCESSES = 3;

    /** What a process computes first. */
    private enum First {
        /** The sum of two arrays, by DJL alone. */
        ADDITION {
            @Override
            void compute(NDManager manager) {
                manager.ones(INPUT).add(manager.ones(INPUT)).toFloatArray();
            }
        },
        /** The sinusoids of this library, added to an input. */
        ENCODING {
            @Override
            void compute(NDManager manager) {
                Block encoding = AdditionBenchmark.block((int) INPUT.get(2), (int) INPUT.get(1));
                encoding.initialize(manager, DataType.FLOAT32, INPUT);
                NDArray x = manager.ones(INPUT);
                encoding.forward(new ParameterStore(manager, false), new NDList(x), false)
                        .head()
                        .toFloatArray();
            }
        },
        /** The vector of a text by MiniLM. */
        SENTENCE {
            @Override
            void compute(NDManager manager) throws IOException {
                try (SentenceEncoder encoder = SentenceEncoder.load(manager.getEngine(), manager.getDevice())) {
                    encoder.encode(List.of("a large cat"));
                }
            }
        };

        private static final Shape INPUT = new Shape(1, 128, 512);

        abstract void compute(NDManager manager) throws IOException;
    }

    private StartTime() {}

    /**
     * Starts the processes.
     *
     * @param args nothing; or, in a process that is measured, what to compute
     */
    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager(Device.cpu())) {
                First.valueOf(args[0]).compute(manager);
                System.out.println(System.currentTimeMillis());
            }
            return;
        }
        Map<First, SortedSet<Long>> times = new EnumMap<>(First.class);
        for (int process = 0; process < PROCESSES; process++) {
            for (First first : First.values()) {
                times.computeIfAbsent(first, none -> new TreeSet<>()).add(measure(first));
            }
        }
        times.forEach((first, sorted) ->
                System.out.printf(Locale.ROOT, "%-9s %s ms%n", first.name().toLowerCase(Locale.ROOT), sorted));
        long own = times.get(First.ENCODING).first() - times.get(First.ADDITION).first();
        System.out.printf("the library's part of the encoding, by the fastest processes: %d ms%n", own);
    }

    private static long measure(First first) throws IOException, InterruptedException {
        ProcessBuilder java = new ProcessBuilder(
                        System.getProperty("java.home") + "/bin/java",
                        "-DOPT_OUT_TRACKING=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        StartTime.class.getName(),
                        first.name())
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        long start = System.currentTimeMillis();
        Process process = java.start();
        String end = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (process.waitFor() != 0) {
            throw new IllegalStateException("the process of " + first + " failed");
        }
        return Long.parseLong(end) - start;
    }
}
