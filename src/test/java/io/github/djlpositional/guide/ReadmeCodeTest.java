package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.StoredModel;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The README's code, in a process of its own, because it uses DJL's default engine, which a JVM chooses once. */
class ReadmeCodeTest extends OnEachEngine {

    @Test
    void printsWhatTheReadmeShows() throws Exception {
        String defaultEngine = "-Dai.djl.default_engine=" + engine.engineName();
        List<String> printed = JavaProgram.run(List.of(defaultEngine), ReadmeCodeTest.class)
                .lines()
                .map(String::stripTrailing)
                .toList();
        // sine and cosine of the position and of a hundredth of it, from Python's math
        assertThat(printed)
                .contains(
                        "[[[ 0.    ,  1.    ,  0.    ,  1.    ],",
                        "  [ 0.8415,  0.5403,  0.01  ,  0.9999],",
                        "  [ 0.9093, -0.4161,  0.02  ,  0.9998],")
                .endsWith("(2, 100, 512)");
        assertThat(Files.readString(Path.of("README.md")))
                .contains("```text\n"
                        + String.join("\n", printed.subList(0, printed.size() - 1))
                                .stripTrailing() + "\n```\n")
                .contains("// " + printed.get(printed.size() - 1));
    }

    public static void main(String[] args) throws IOException {
        // tag::sequential[]
        try (NDManager manager = NDManager.newBaseManager()) {
            Block model = new SequentialBlock()
                    .add(PositionalEncodingBlock.builder().setEmbeddingSize(4).build()); // (B, T, 4) -> (B, T, 4)
            model.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
            NDArray x = manager.zeros(new Shape(1, 3, 4)); // usually vectors of tokens
            NDList y = model.forward(new ParameterStore(manager, false), new NDList(x), false);
            System.out.println(y.get(0));
        }
        // end::sequential[]
        // tag::layer[]
        Block layer = TransformerLayerBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optCausal(true)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build(); // (B, T, 512) -> (B, T, 512)
        System.out.println(layer.getOutputShapes(new Shape[] {new Shape(2, 100, 512)})[0]); // (2, 100, 512)
        // end::layer[]
    }

    /** The tokens are those of {@code make_llama.py}. */
    @Test
    void loadsAModelFromItsFolder() throws Exception {
        StoredModel stored = StoredModel.of("llama_3");
        Path folder = StoredModel.folder("llama_3");
        long[] prompt = stored.prompt();
        // tag::model[]
        TransformerStackBlock model = HuggingFaceModel.load(folder, manager); // config.json and *.safetensors
        TokenGenerator generator = TokenGenerator.builder().setDecoder(model).build();
        long[] next = generator.generate(prompt, 12); // ids of 12 tokens, after those of the prompt
        // end::model[]
        assertThat(next)
                .containsExactly(
                        stored.continuation().stream().mapToLong(id -> id).toArray());
    }
}
