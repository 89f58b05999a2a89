package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;

/** An encoder that is trained in a moment, and knows next to nothing. */
final class SmallEncoder {

    private SmallEncoder() {}

    static void saveTo(Path folder, String engine) {
        Engines.assumeAvailable(engine);
        assertThat(TrainEncoder.commandLine()
                        .execute(
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
                                folder.toString()))
                .isZero();
    }
}
