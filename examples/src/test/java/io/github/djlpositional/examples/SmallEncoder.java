package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** An encoder that is trained in a moment, and knows next to nothing. */
public final class SmallEncoder {

    private static final String ENCODING = "--encoding";

    private SmallEncoder() {}

    /**
     * Trains and saves one.
     *
     * @param folder where it goes
     * @param engine what computes; the test is skipped where there is none
     * @param more further options of {@code train-encoder}, of which {@code --encoding} is sinusoidal without
     */
    public static void saveTo(Path folder, String engine, String... more) {
        Engines.assumeAvailable(engine);
        List<String> args = new ArrayList<>(List.of(
                "--engine",
                engine,
                "--glosses",
                "600",
                "--held-out",
                "50",
                "--epochs",
                "1",
                "--out",
                folder.toString()));
        args.addAll(List.of(more));
        if (!args.contains(ENCODING)) {
            args.addAll(List.of(ENCODING, "sinusoidal"));
        }
        assertThat(TrainEncoder.commandLine().execute(args.toArray(String[]::new)))
                .isZero();
    }

    /**
     * Copies a saved encoder's files.
     *
     * @param saved where they are
     * @param to a folder, which is made
     * @throws IOException if that fails
     */
    public static void copy(Path saved, Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(saved)) {
            for (Path each : files.toList()) {
                Files.copy(each, to.resolve(each.getFileName()));
            }
        }
    }
}
