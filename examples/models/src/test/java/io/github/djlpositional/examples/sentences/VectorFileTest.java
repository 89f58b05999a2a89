package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.support.TestEngine;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VectorFileTest {

    private static final float[][] VECTORS = {{1, 0}, {0, 1}, {0.6f, 0.8f}};

    @TempDir
    private Path folder;

    private VectorFile file(String checksum) {
        return new VectorFile(folder.resolve("vectors.safetensors"), checksum);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void onlyVectorsOfTheSameChecksumAreRead(String engine) throws Exception {
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            assertThat(file("a").read(manager)).isNull();
            file("a").write(manager.create(VECTORS));
            assertThat(file("a").read(manager)).isEqualTo(manager.create(VECTORS));
            assertThat(file("b").read(manager)).isNull();
        }
    }

    @Test
    void anotherProgramsFileIsRefused() throws Exception {
        try (NDManager manager = TestEngine.PYTORCH.newCpuManager()) {
            NDArray vectors = manager.create(VECTORS);
            Safetensors.write(file("a").path(), Map.of("weight", vectors));
            assertThatExceptionOfType(UserError.class)
                    .isThrownBy(() -> file("a").read(manager));
            for (NDArray other : List.of(vectors.mul(2), vectors.flatten(), vectors.mul(Float.NaN))) {
                file("a").write(other);
                assertThatExceptionOfType(UserError.class)
                        .isThrownBy(() -> file("a").read(manager));
            }
        }
    }
}
