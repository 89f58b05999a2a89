package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceRope;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The code of the guide's page on weights from other frameworks. */
class WeightsCodeTest {

    private static Path file(String name) {
        return Path.of("src/test/resources/weights", name);
    }

    @EngineTest
    void whatAFileHolds(NDManager manager) throws Exception {
        Path path = file("bert.safetensors");
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        // tag::listing[]
        WeightFile file = WeightFile.open(path); // "model.safetensors", for example
        file.getTensors().forEach((name, info) -> out.println(name + " " + info.type() + " " + info.shape()));
        // end::listing[]
        WeightFile bert = file;
        // tag::read[]
        try (NDArray positionIds = bert.read(manager, "bert.embeddings.position_ids")) { // I64: INT64
            out.println(positionIds.getShape());
        }
        // end::read[]
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .contains("bert.embeddings.word_embeddings.weight F32 (11, 6)\n")
                .endsWith("(1, 8)\n");
    }

    /** Row i of 15 lies at i / 2 of 8: every other one is the mean of two. */
    @EngineTest
    void stretching(NDManager manager) throws Exception {
        Path path = file("bert.safetensors");
        // tag::stretch[]
        LearnedPositionalEncodingBlock stretched;
        try (NDArray table = WeightFile.open(path).read(manager, "bert.embeddings.position_embeddings.weight")) {
            stretched = LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(6) // 384 in all-MiniLM-L6-v2
                    .optInitialEncodings(table) // of 8 positions; 512
                    .optMaxSequenceLength(15) // 1024
                    .optResampling(GridResampling.BILINEAR_ALIGNED) // the first and the last keep their vectors
                    .build();
        }
        // end::stretch[]
        stretched.initialize(manager, DataType.FLOAT32, new Shape(1, 15, 6));
        NDArray table = WeightFile.open(path).read(manager, "bert.embeddings.position_embeddings.weight");
        for (int row = 0; row < 15; row++) {
            NDArray mean = table.get(row / 2).add(table.get((row + 1) / 2)).div(2);
            assertThat(stretched.getTable().getArray().get(row).toFloatArray())
                    .containsExactly(mean.toFloatArray(), within(1e-6f));
        }
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
                .allowUnused("*.token_type_embeddings.*", "*.LayerNorm.*", "*.position_ids") // not parts of this model
                .load(input); // loads everything or nothing
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
                .allowUnused("*") // only this table
                .load(positions);
        // end::offset[]
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        WeightFile layer = WeightFile.open(file("linear.safetensors"));
        // tag::any[]
        WeightLoader.of(layer)
                .table("weight", linear.getParameters().get("weight")) // (out, in), as in PyTorch
                .table("bias", linear.getParameters().get("bias"))
                .load(linear);
        // end::any[]
        assertThat(linear.getParameters().get("bias").getArray().getShape()).isEqualTo(new Shape(3));
    }

    @EngineTest
    void layers(NDManager manager) throws Exception {
        WeightFile model = WeightFile.open(file("attention.safetensors"));
        // tag::attention[]
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2) // as in the model: the file does not have this number
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
        WeightLoader.of(model)
                .module("self_attn.", attention) // in_proj_weight, out_proj.weight and their biases
                .allowUnused("*")
                .load(attention);
        // end::attention[]
        Linear units = Linear.builder().setUnits(32).build();
        units.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        ParameterList query = attention.getQueryProjection().getParameters();
        ParameterList feedForward = units.getParameters();
        // tag::conv1d[]
        WeightLoader.of(model)
                .columnsAsRows("h.0.attn.c_attn.weight", 0, 8, query.get("weight")) // (D, 3D): queries, keys, values
                .rows("h.0.attn.c_attn.bias", 0, 8, query.get("bias")) // (3D)
                .columnsAsRows("h.0.mlp.c_fc.weight", 0, 32, feedForward.get("weight")) // (D, 4D), all columns
                .table("h.0.mlp.c_fc.bias", feedForward.get("bias"))
                .allowUnused("*")
                .load();
        // end::conv1d[]
        assertThat(feedForward.get("weight").getArray().getShape()).isEqualTo(new Shape(32, 8));
    }

    @EngineTest
    void modules(NDManager manager) throws Exception {
        Path path = Path.of("src/test/resources/layers/transformer_pre_norm.safetensors");
        // tag::modules[]
        TransformerStackBlock encoder = TransformerStackBlock.builder()
                .setLayers(2, () -> layer())
                .optFinalNorm(true)
                .build();
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .setLayers(2, () -> layer().optCrossAttention(attention()))
                .optFinalNorm(true)
                .build();
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8), new Shape(1, 1, 8));
        WeightFile transformer = WeightFile.open(path); // the state_dict of an nn.Transformer
        WeightLoader.of(transformer)
                .module("encoder.", encoder)
                .module("decoder.", decoder)
                .load(encoder, decoder);
        // end::modules[]
        // tag::norm[]
        LayerNorm norm = LayerNorm.builder().axis(2).optEpsilon(1e-12f).build(); // BERT's; the default is 1e-5
        norm.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
        WeightLoader.of(transformer)
                .module("encoder.norm.", norm) // weight is "gamma", bias is "beta"
                .allowUnused("*")
                .load(norm);
        // end::norm[]
        assertThat(norm.getParameters().get("beta").getArray())
                .isEqualTo(encoder.getFinalNorm().getParameters().get("beta").getArray());
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder().setAttention(attention()).setHiddenSize(16);
    }

    private static MultiHeadAttentionBlock attention() {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .build();
    }

    @EngineTest
    void configurations() throws Exception {
        Path path = Path.of("src/test/resources/configurations/gemma-3-1b-pt.json");
        // tag::config[]
        HuggingFaceRope config = HuggingFaceRope.read(path); // the model's config.json
        RotaryEmbeddingBlock full = config.rotary("full_attention").build(); // layers that see all tokens may share it
        RotaryEmbeddingBlock sliding = config.rotary("sliding_attention").build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(1152) // hidden_size
                .setHeadCount(4) // num_attention_heads
                .optKeyValueHeadCount(1) // num_key_value_heads
                .optHeadSize(sliding.getHeadSize())
                .optScale(config.getScale())
                .optCausal(true)
                .optBias(false)
                .optWindow(512) // sliding_window
                .optQueryNorm(norm()) // of Gemma 3 and Qwen 3
                .optKeyNorm(norm())
                .optRelativeEncoding(sliding)
                .build();
        // end::config[]
        assertThat(attention.getHeadSize()).isEqualTo(256);
        assertThat(full.getArguments()).containsEntry("base", 1_000_000.0);
    }

    private static RmsNormBlock norm() {
        return RmsNormBlock.builder().setEmbeddingSize(256).build();
    }
}
