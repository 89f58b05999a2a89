package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The code of the guide's page on weights from other frameworks. */
class WeightsCodeTest {

    private static Path file(String name) throws Exception {
        return Path.of(WeightsCodeTest.class.getResource("/weights/" + name).toURI());
    }

    @EngineTest
    void whatAFileHolds() throws Exception {
        Path path = file("bert.safetensors");
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        // tag::listing[]
        WeightFile file = WeightFile.open(path); // "model.safetensors" or "weights.npz", for example
        file.getTensors().forEach((name, info) -> out.println(name + " " + info.type() + " " + info.shape()));
        // end::listing[]
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .contains("bert.embeddings.word_embeddings.weight F32 (11, 6)\n");
    }

    @EngineTest
    void bert(NDManager manager) throws Exception {
        Path path = file("bert.safetensors");
        // tag::bert[]
        LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(6) // 768 in BERT; these are the sizes of a small example
                .optMaxSequenceLength(8) // 512
                .build();
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(11) // 30,522
                .setEmbeddingSize(6)
                .optPositionalEncoding(positions)
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(1, 8)); // or initialize or load the whole model

        WeightLoader.of(WeightFile.open(path))
                .table("bert.embeddings.word_embeddings.weight", input.getTokenTable())
                .table("bert.embeddings.position_embeddings.weight", positions.getTable())
                .load(); // loads everything or nothing
        // end::bert[]
        assertThat(Forward.infer(manager, input, manager.create(new int[][] {{3, 1, 4}}))
                        .getShape())
                .isEqualTo(new Shape(1, 3, 6));
    }

    @EngineTest
    void others(NDManager manager) throws Exception {
        LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(6)
                .optMaxSequenceLength(8)
                .build();
        positions.initialize(manager, DataType.FLOAT32, new Shape(1, 8, 6));
        WeightFile opt = WeightFile.open(file("opt.safetensors"));
        // tag::offset[]
        WeightLoader.of(opt)
                .rows("model.decoder.embed_positions.weight", 2, 2 + 8, positions.getTable())
                .load();
        // end::offset[]
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        WeightFile tutorial = WeightFile.open(file("tutorial.npz"));
        // tag::encodings[]
        WeightLoader.of(tutorial)
                .encodings("pos_encoder.pe", sinusoids.getEncoding()) // compares the table, does not load it
                .load();
        // end::encodings[]
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        WeightFile layer = WeightFile.open(file("linear.safetensors"));
        // tag::any[]
        WeightLoader.of(layer)
                .table("weight", linear.getParameters().get("weight")) // (out, in), as in PyTorch
                .table("bias", linear.getParameters().get("bias"))
                .load();
        // end::any[]
        assertThat(linear.getParameters().get("bias").getArray().getShape()).isEqualTo(new Shape(3));
    }
}
