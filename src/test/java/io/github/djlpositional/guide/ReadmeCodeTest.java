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
import io.github.djlpositional.huggingface.RandomFolder;
import io.github.djlpositional.huggingface.StoredModel;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
                .endsWith("(2, 100, 512)", "(2, 100, 512)");
        assertThat(Files.readString(Path.of("README.md")))
                .contains("```text\n"
                        + String.join("\n", printed.subList(0, printed.size() - 2))
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
        // tag::smallest[]
        Block encoder = new SequentialBlock()
                .add(PositionalEncodingBlock.builder().setEmbeddingSize(512).build()); // (B, T, 512) -> (B, T, 512)
        // end::smallest[]
        System.out.println(encoder.getOutputShapes(new Shape[] {new Shape(2, 100, 512)})[0]);
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

    private long[] generated(Path folder, long... prompt) throws Exception {
        // tag::model[]
        TransformerStackBlock model = HuggingFaceModel.load(folder, manager); // config.json and *.safetensors
        TokenGenerator generator = TokenGenerator.builder().setDecoder(model).build();
        long[] next = generator.generate(prompt, 12); // ids of 12 tokens, after those of the prompt
        // end::model[]
        return next;
    }

    /** The tokens are those of {@code make_llama.py}. */
    @Test
    void generatesTheTokensOfTransformers() throws Exception {
        StoredModel stored = StoredModel.of("llama_3");
        assertThat(generated(StoredModel.folder("llama_3"), stored.prompt()))
                .containsExactly(
                        stored.continuation().stream().mapToLong(id -> id).toArray());
    }

    /** Each token is the most likely one after those before it, in a forward of all of them without a cache. */
    @Test
    void loadsARandomModel(@TempDir Path temporary) throws Exception {
        Path folder = RandomFolder.write(
                temporary,
                Map.of(
                        "model_type", "llama",
                        "vocab_size", 50,
                        "hidden_size", 8,
                        "intermediate_size", 16,
                        "num_hidden_layers", 2,
                        "num_attention_heads", 2),
                manager);
        long[] next = generated(folder, 3, 1, 4);
        assertThat(next).hasSize(12);
        Block model = HuggingFaceModel.load(folder, manager);
        long[] all =
                LongStream.concat(LongStream.of(3, 1, 4), LongStream.of(next)).toArray();
        NDArray scores = Forward.infer(manager, model, manager.create(new long[][] {all}));
        assertThat(scores.argMax(2).get("0, 2:-1").toType(DataType.INT64, false).toLongArray())
                .containsExactly(next);
    }
}
