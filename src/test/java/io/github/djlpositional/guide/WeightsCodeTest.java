package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.HuggingFaceModel.EncoderDecoder;
import io.github.djlpositional.huggingface.RandomFolder;
import io.github.djlpositional.huggingface.StoredModel;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.weights.HalfPrecision;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import io.github.djlpositional.weights.Weights;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of the guide's page on weights from other frameworks. */
class WeightsCodeTest extends OnEachEngine {

    private static final Map<String, Object> T5 = Map.of(
            "model_type",
            "t5",
            "architectures",
            List.of("T5ForConditionalGeneration"),
            "vocab_size",
            11,
            "d_model",
            8,
            "d_kv",
            4,
            "d_ff",
            16,
            "num_layers",
            2,
            "num_heads",
            2);

    private static final Map<String, Object> DINO = Map.of(
            "model_type",
            "dinov2",
            "hidden_size",
            8,
            "num_attention_heads",
            2,
            "num_hidden_layers",
            2,
            "image_size",
            16,
            "patch_size",
            4);

    private static Path file(String name) {
        return Path.of("src/test/resources/weights", name);
    }

    @Test
    void whatAFileHolds() throws Exception {
        Path path = file("bert.safetensors");
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
        // tag::listing[]
        WeightFile file = WeightFile.open(path); // "model.safetensors"
        file.getTensors().forEach((name, info) -> out.println(name + " " + info.type() + " " + info.shape()));
        // end::listing[]
        WeightFile bert = file;
        // tag::read[]
        try (NDArray positionIds = bert.read(manager, "bert.embeddings.position_ids")) { // I64: INT64
            out.println(positionIds.getShape());
        }
        // end::read[]
        assertThat(printed.toString(StandardCharsets.UTF_8).lines())
                .contains("bert.embeddings.word_embeddings.weight F32 (11, 6)")
                .endsWith("(1, 8)");
    }

    @Test
    void bert() throws Exception {
        Path path = Path.of("src/test/resources/layers/stack_bert.safetensors");
        // tag::bert[]
        LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(8) // 768; the sizes of a small example
                .optMaxSequenceLength(8) // 512
                .build();
        TransformerStackBlock encoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(11) // 30,522
                        .setEmbeddingSize(8)
                        .optTokenTypes(2) // RoBERTa: 1; DistilBERT: none
                        .optPositionalEncoding(positions)
                        .optNorm(LayerNormBlock.builder()
                                .setEmbeddingSize(8)
                                .optEpsilon(1e-12)
                                .build())
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder() // 12
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(2) // 12
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHiddenSize(16) // 3072
                                        .optNonlinearity(Nonlinearity.GELU)
                                        .build())
                                .optEpsilon(1e-12))
                .build();
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));

        WeightLoader.of(WeightFile.open(path))
                .module("bert.", encoder, TensorNames.of("BERT"))
                .allowUnused("bert.pooler.*", "cls.*")
                .load(encoder);
        // end::bert[]
        WeightFile outputs = WeightFile.open(path.resolveSibling("stack_outputs.safetensors"));
        NDArray ids = outputs.read(manager, "ids"); // (2, 6)
        NDArray output = Forward.infer(manager, encoder, ids);
        requireClose(output, doubles(outputs.read(manager, "bert")), 1e-5);
        ParameterStore store = new ParameterStore(manager, false);
        // tag::types[]
        NDArray types = manager.create(new int[] {0, 0, 0, 1, 1, 1}); // (T) or (B, T): two texts
        PairList<String, Object> params = new PairList<>();
        params.add(InputEmbeddingBlock.TOKEN_TYPES, types);
        NDArray y = encoder.forward(store, new NDList(ids), false, params).singletonOrThrow();
        // end::types[]
        NDArray zeros = types.sub(types);
        zeros.setName(InputEmbeddingBlock.TOKEN_TYPES);
        requireClose(Forward.infer(manager, encoder, ids, zeros), doubles(output), 1e-6);
        zeros.addi(types);
        requireClose(Forward.infer(manager, encoder, ids, zeros), doubles(y), 1e-6);
        assertThat(y.sub(output).abs().max().getFloat()).isGreaterThan(0.01f);
    }

    @Test
    void halfPrecision() throws Exception {
        assumeEngine(TestEngine.PYTORCH);
        Path path = Path.of("src/test/resources/layers/stack_gpt2.safetensors");
        NDArray x = manager.ones(new Shape(1, 3, 8));
        TransformerStackBlock decoder = gpt2(DataType.FLOAT16);
        WeightLoader.of(WeightFile.open(path)) // of F32 or BF16
                .module("", decoder, TensorNames.of("GPT2"))
                .allowRounding()
                .allowUnused("wte.weight", "wpe.weight")
                .load(decoder);
        TransformerStackBlock model = gpt2(DataType.FLOAT32);
        WeightLoader.of(WeightFile.open(path))
                .module("", model, TensorNames.of("GPT2"))
                .allowUnused("wte.weight", "wpe.weight")
                .load(model);
        double[] expected = doubles(Forward.infer(manager, model, x));
        HalfPrecision.round(model); // now in FLOAT16
        for (Block half : List.of(decoder, model)) {
            NDArray output = Forward.infer(manager, half, x.toType(DataType.FLOAT16, false));
            assertThat(output.getDataType()).isEqualTo(DataType.FLOAT16);
            // 2^-11 for each operation of two layers, of numbers below 4
            requireClose(output, expected, 0.05);
        }
    }

    private TransformerStackBlock gpt2(DataType type) {
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .setLayers(2, () -> layer().optNormPlacement(NormPlacement.BEFORE_PART))
                .build();
        decoder.initialize(manager, type, new Shape(1, 1, 8));
        return decoder;
    }

    @Test
    void rowsOfATable() throws Exception {
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
        NDArray table = opt.read(manager, "model.decoder.embed_positions.weight"); // in FLOAT16
        requireSame(positions.getTable().getArray(), table.get("2:"));
    }

    @Test
    void reversedTables(@TempDir Path folder) throws Exception {
        String tensor = "encoder.layer.0.attention.self.distance_embedding.weight";
        String header = "{\"" + tensor + "\": {\"dtype\": \"F32\", \"shape\": [5, 4], \"data_offsets\": [0, 80]}}";
        byte[] bytes = Weights.safetensors(header, 80);
        for (int i = 0; i < 20; i++) {
            Weights.littleEndian(bytes).putFloat(bytes.length - 80 + 4 * i, i);
        }
        Shape heads = new Shape(1, 2, 3, 4);
        ShawRelativePositionBlock shaw = ShawRelativePositionBlock.builder()
                .setHeadSize(4)
                .optMaxDistance(2)
                .optValues(false)
                .build();
        shaw.initialize(manager, DataType.FLOAT32, heads);
        WeightFile bert = WeightFile.open(Files.write(folder.resolve("bert.safetensors"), bytes));
        // tag::reversed[]
        WeightLoader.of(bert)
                .table(
                        "encoder.layer.0.attention.self.distance_embedding.weight",
                        shaw.getParameters().get("keys"))
                .reverseRows("*.distance_embedding.weight")
                .allowUnused("*")
                .load(shaw);
        // end::reversed[]
        NDArray keys = shaw.getParameters().get("keys").getArray();
        requireSame(keys, bert.read(manager, tensor).flip(0));
    }

    @Test
    void llama() throws Exception {
        Path path = Path.of("src/test/resources/layers/stack_llama.safetensors");
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(11)
                        .setEmbeddingSize(8)
                        .optNoPositions()
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(2)
                                        .optKeyValueHeadCount(1)
                                        .optCausal(true)
                                        .optBias(false)
                                        .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                                .setHeadSize(4)
                                                .optLayout(PairLayout.CONCATENATED)
                                                .build())
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHiddenSize(16)
                                        .optNonlinearity(Nonlinearity.SWIGLU)
                                        .optBias(false)
                                        .build())
                                .optNorm(Norm.RMS)
                                .optNormPlacement(NormPlacement.BEFORE_PART))
                .build();
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        // tag::llama[]
        WeightLoader.of(WeightFile.open(path))
                .module("model.", decoder, TensorNames.of("LLAMA"))
                .allowUnused("lm_head.weight") // or module("lm_head.", decoder.getOutput())
                .load(decoder);
        // end::llama[]
        WeightFile outputs = WeightFile.open(path.resolveSibling("stack_outputs.safetensors"));
        NDArray output = Forward.infer(manager, decoder, outputs.read(manager, "ids"));
        requireClose(output, doubles(outputs.read(manager, "llama")), 1e-5);
        Linear head = Linear.builder().setUnits(11).optBias(false).build();
        head.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        WeightFile file = WeightFile.open(path);
        // tag::tied[]
        WeightLoader.of(file)
                .tied("model.embed_tokens.weight", "lm_head.weight") // the file has one of them, or both
                .module("model.", decoder, TensorNames.of("LLAMA"))
                .table("lm_head.weight", head.getParameters().get("weight")) // without this line if it is shared
                .load(decoder, head);
        // end::tied[]
        requireSame(
                head.getParameters().get("weight").getArray(),
                decoder.getInput().getTokenTable().getArray());
        FeedForwardBlock feedForward = decoder.getLayers().get(0).getFeedForward();
        feedForward.getGateProjection().getParameters().get("weight").getArray().subi(1);
        // tag::blocks[]
        WeightLoader.of(WeightFile.open(path))
                .module("model.layers.0.mlp.gate_proj.", feedForward.getGateProjection())
                .module("model.layers.0.mlp.up_proj.", feedForward.getHiddenProjection())
                .allowUnused("*")
                .load(feedForward.getGateProjection(), feedForward.getHiddenProjection());
        // end::blocks[]
        requireClose(Forward.infer(manager, decoder, outputs.read(manager, "ids")), doubles(output), 1e-5);
    }

    @Test
    void layers() throws Exception {
        WeightFile model = WeightFile.open(file("attention.safetensors"));
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2) // as in the model: the file does not have this number
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
        WeightLoader.of(model)
                .module("self_attn.", attention) // in_proj_weight, out_proj.weight and their biases
                .allowUnused("*")
                .load(attention);
        NDArray[] inputs = new NDArray[3];
        for (int i = 0; i < 3; i++) {
            double[] numbers = Weights.expected(
                    "attention " + List.of("keys", "queries", "values").get(i));
            inputs[i] = manager.create(numbers).reshape(2, -1, 8).toType(DataType.FLOAT32, false);
        }
        requireClose(Forward.infer(manager, attention, inputs), Weights.expected("attention self_attn"), 1e-5);
    }

    @Test
    void modules() throws Exception {
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
        LayerNorm norm = LayerNorm.builder().axis(2).optEpsilon(1e-12f).build(); // BERT's; the default is 1e-5
        norm.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8));
        WeightLoader.of(transformer)
                .module("encoder.norm.", norm) // weight is "gamma", bias is "beta"
                .allowUnused("*")
                .load(norm);
        for (String name : List.of("gamma", "beta")) {
            requireSame(
                    norm.getParameters().get(name).getArray(),
                    encoder.getFinalNorm().getParameters().get(name).getArray());
        }
        NDArray stored = transformer.read(manager, "decoder.layers.1.linear2.weight");
        requireSame(
                decoder.getLayers()
                        .get(1)
                        .getFeedForward()
                        .getOutputProjection()
                        .getParameters()
                        .get("weight")
                        .getArray(),
                stored);
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder()
                .setAttention(attention())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(8)
                        .setHiddenSize(16)
                        .build());
    }

    private static MultiHeadAttentionBlock attention() {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .build();
    }

    @Test
    void configurations() throws Exception {
        Path folder = StoredModel.folder("llama_3");
        // tag::config[]
        HuggingFaceConfig config = HuggingFaceConfig.read(folder); // its config.json
        RotaryEmbeddingBlock rotary = config.rotary().build();
        MultiHeadAttentionBlock attention =
                config.attention(0).optDropoutRate(0.1f).build(); // of layer 0, with its rotary encoding
        TransformerLayerBlock layer = config.layer(0).build();
        TransformerStackBlock model =
                config.withHead(config.stack()).build(); // ids to scores of tokens, no weights yet
        // end::config[]
        assertThat(rotary.getArguments()).containsEntry("base", 100.0);
        assertThat(attention.getHeadSize()).isEqualTo(8);
        assertThat(layer.getArguments()).containsEntry("normPlacement", "BEFORE_PART");
        assertThat(model.getLayers()).hasSize(2);
    }

    @Test
    void encoderAndDecoder(@TempDir Path temporary) throws Exception {
        Path folder = RandomFolder.write(temporary, T5, manager);
        ParameterStore store = new ParameterStore(manager, false);
        NDArray ids = manager.create(new long[][] {{3, 4, 5}});
        NDArray target = manager.create(new long[][] {{0, 7}});
        // tag::t5[]
        EncoderDecoder t5 = HuggingFaceModel.loadEncoderDecoder(folder, manager);
        NDArray memory = t5.encoder().forward(store, new NDList(ids), false).singletonOrThrow(); // (B, S, D)
        NDArray scores =
                t5.decoder().forward(store, new NDList(target, memory), false).singletonOrThrow(); // (B, T, V)
        // end::t5[]
        assertThat(memory.getShape()).isEqualTo(new Shape(1, 3, 8));
        assertThat(scores.getShape()).isEqualTo(new Shape(1, 2, 11));
        assertThat(t5.encoder().getInput()).isSameAs(t5.decoder().getInput());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HuggingFaceModel.load(folder, manager))
                .withMessageContaining("call loadEncoderDecoder");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HuggingFaceModel.loadEncoderDecoder(StoredModel.folder("llama_3"), manager))
                .withMessageContainingAll("\"llama\"", "[t5]", "use read");
    }

    @Test
    void pictures(@TempDir Path temporary) throws Exception {
        Path folder = RandomFolder.write(temporary, DINO, manager);
        ParameterStore store = new ParameterStore(manager, false);
        NDArray pictures = manager.ones(new Shape(2, 3, 8, 12));
        // tag::pictures[]
        VisionTransformerBlock encoder = HuggingFaceModel.loadVision(folder, manager);
        NDArray vectors =
                encoder.forward(store, new NDList(pictures), false).singletonOrThrow(); // (B, 3, H, W) -> (B, T, D)
        NDArray ofPictures = vectors.get(":, 0"); // of the class token, (B, D)
        // end::pictures[]
        assertThat(vectors.getShape()).isEqualTo(new Shape(2, 7, 8));
        assertThat(ofPictures.getShape()).isEqualTo(new Shape(2, 8));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HuggingFaceModel.load(folder, manager))
                .withMessageContaining("call loadVision");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HuggingFaceModel.loadVision(StoredModel.folder("llama_3"), manager))
                .withMessageContaining("expected a vision model");
    }
}
