package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.JavaProgram;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The README's code. */
class ReadmeCodeTest {

    /** The program runs in its own process, because it uses DJL's default engine, which a JVM chooses once. */
    @EngineTest
    void quickstartPrintsWhatTheReadmeShows(Engine engine) throws Exception {
        String defaultEngine = "-Dai.djl.default_engine=" + engine.getEngineName();
        String printed = JavaProgram.run(List.of(defaultEngine), Quickstart.class);
        // sine and cosine of the position and of a hundredth of it, from Python's math, rounded to float
        assertThat(printed.lines())
                .containsExactly(
                        "(1, 3, 4)",
                        "[0.0, 1.0, 0.0, 1.0]",
                        "[0.84147096, 0.5403023, 0.009999833, 0.99995]",
                        "[0.9092974, -0.41614684, 0.019998666, 0.9998]");
        assertThat(Files.readString(Path.of("README.md")))
                .contains("```text\n" + String.join("\n", printed.lines().toList()) + "\n```\n");
    }

    @EngineTest
    void inputWithoutSinusoidsAndRotaryAttention(NDManager manager) {
        // tag::pairing[]
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(10_000)
                .setEmbeddingSize(512)
                .optNoPositions() // the attention encodes them
                .build(); // token ids (B, T) -> vectors (B, T, 512)
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build(); // (B, T, 512) -> (B, T, 512)
        // end::pairing[]
        // tag::sequential[]
        Block encoder = new SequentialBlock().add(input).add(attention);
        // end::sequential[]
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 5));
        NDArray equalTokens = manager.ones(new Shape(1, 5), DataType.INT32);
        // values of equal tokens are equal, and rotary encodings do not change values: no position may differ
        NDArray y = Forward.infer(manager, encoder, equalTokens);
        assertThat(y.get("0, 4").toFloatArray()).containsExactly(y.get("0, 0").toFloatArray(), within(1e-5f));
    }
}
