package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** An encoder that is trained in a moment, and knows next to nothing. */
final class SmallEncoder {

    private SmallEncoder() {}

    static void saveTo(Path folder, String engine, String... more) {
        Engines.assumeAvailable(engine);
        List<String> args = new ArrayList<>(List.of(
                "--engine",
                engine,
                "--encoding",
                "sinusoidal",
                "--glosses",
                "600",
                "--held-out",
                "50",
                "--epochs",
                "1",
                "--out",
                folder.toString()));
        args.addAll(List.of(more));
        assertThat(TrainEncoder.commandLine().execute(args.toArray(String[]::new)))
                .isZero();
    }

    /** Copies a saved encoder's files into a folder that is made. */
    static void copy(Path saved, Path to) throws IOException {
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(saved)) {
            for (Path each : files.toList()) {
                Files.copy(each, to.resolve(each.getFileName()));
            }
        }
    }
}
