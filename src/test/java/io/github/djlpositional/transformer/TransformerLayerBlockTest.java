package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.decoderLayer;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.StoredLayer;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with the formula and with layers of torch; D = 8, two heads, B = 2, T = 5, and S = 4. */
class TransformerLayerBlockTest extends OnEachEngine {

    private static final int SIZE = 8;

    /**
     * FLOAT32: outputs are up to 18, whose rounding is 1.1e-6, and a layer rounds some 20 times. FLOAT64: DJL rounds
     * the epsilon of a layer normalization to a float, by up to 2^-25 of it.
     */
    private static final Map<DataType, Double> TOLERANCES = Map.of(DataType.FLOAT64, 1e-10, DataType.FLOAT32, 3e-5);

    private NDArray x() {
        return numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
    }

    private NDArray memory() {
        return numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
    }

    /** An array that stands for a mask that is not needed. */
    private NDArray none() {
        return manager.create(new Shape(2, 0));
    }

    /**
     * n₂(h + feedForward(h)), where h = n₁(x + attention(x)): Vaswani et al., <em>Attention Is All You Need</em>
     * (2017), section 3.1.
     */
    @Test
    void normalizesTheSumsWithAnAttentionAndWithAFeedForwardNetwork() {
        NDArray x = x();
        TransformerLayerBlock layer = filled(manager, layer().build(), DataType.FLOAT64, x.getShape());
        NDArray h = infer(manager, layer.getAttentionNorm(), x.add(infer(manager, layer.getAttention(), x)));
        NDArray sum = h.add(infer(manager, layer.getFeedForward(), h));
        NDArray expected = infer(manager, layer.getFeedForwardNorm(), sum);
        requireClose(infer(manager, layer, x), doubles(expected), 1e-12);
    }

    /** They are for the cross-attention; those of x are for both attentions. */
    @Test
    void givesThePositionsOfTheMemoryToTheCrossAttention() {
        NDArray x = x();
        NDArray memory = memory();
        TransformerLayerBlock layer = filled(
                manager,
                layer(attention().optRelativeEncoding(rotary()))
                        .optCrossAttention(
                                attention().optRelativeEncoding(rotary()).build())
                        .build(),
                DataType.FLOAT64,
                x.getShape(),
                memory.getShape());
        PairList<String, Object> positions =
                Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(new double[] {0.5, 1, 4, 2, 7}));
        NDArray h = infer(manager, layer.getAttentionNorm(), x.add(infer(manager, layer.getAttention(), positions, x)));
        PairList<String, Object> both = new PairList<>();
        both.addAll(positions);
        both.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, manager.create(new double[] {3, 0.25, 9, 1}));
        NDArray crossed = infer(manager, layer.getCrossAttention(), both, memory, h, memory);
        NDArray second = infer(manager, layer.getCrossAttentionNorm(), h.add(crossed));
        NDArray sum = second.add(infer(manager, layer.getFeedForward(), second));
        NDArray expected = infer(manager, layer.getFeedForwardNorm(), sum);
        requireClose(infer(manager, layer, both, x, memory), doubles(expected), 1e-12);
        TransformerLayerBlock encoder = filled(manager, layer().build(), DataType.FLOAT64, x.getShape());
        assertAll(rejectedWithoutLeak(
                manager, () -> infer(manager, encoder, both, x), "memoryPositions", "optCrossAttention"));
    }

    private static RotaryEmbeddingBlock rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(4).build();
    }

    /** x + f(n(x)) with and without n. */
    @ParameterizedTest
    @EnumSource
    void aPartMayHaveNoNorm(NormPlacement placement) {
        NDArray x = x();
        TransformerLayerBlock layer = filled(
                manager,
                layer().optNormPlacement(placement).optAttentionNorm(false).build(),
                DataType.FLOAT64,
                x.getShape());
        assertThat(layer.getAttentionNorm()).isNull();
        NDArray h = x.add(infer(manager, layer.getAttention(), x));
        Block norm = layer.getFeedForwardNorm();
        NDArray expected = switch (placement) {
            case AFTER_SUM -> infer(manager, norm, h.add(infer(manager, layer.getFeedForward(), h)));
            case BEFORE_PART -> h.add(infer(manager, layer.getFeedForward(), infer(manager, norm, h)));
            case AFTER_PART -> h.add(infer(manager, norm, infer(manager, layer.getFeedForward(), h)));
            case AROUND_PART -> {
                NDArray fed = infer(manager, layer.getFeedForward(), infer(manager, norm, h));
                yield h.add(infer(
                        manager, layer.getChildren().valueAt(layer.getChildren().size() - 1), fed));
            }
        };
        requireClose(infer(manager, layer, x), doubles(expected), 1e-12);
    }

    /** x + 0.25 · f(n(x)). */
    @Test
    void multipliesTheResultOfEachPart() {
        NDArray x = x();
        TransformerLayerBlock.Builder builder =
                layer().optNormPlacement(NormPlacement.BEFORE_PART).optResidualFactor(0.25);
        TransformerLayerBlock layer = filled(manager, builder.build(), DataType.FLOAT64, x.getShape());
        NDArray attended = infer(manager, layer.getAttention(), infer(manager, layer.getAttentionNorm(), x));
        NDArray h = x.add(attended.mul(0.25));
        NDArray fed = infer(manager, layer.getFeedForward(), infer(manager, layer.getFeedForwardNorm(), h));
        requireClose(infer(manager, layer, x), doubles(h.add(fed.mul(0.25))), 1e-12);
    }

    @ParameterizedTest
    @EnumSource(names = {"SEQUENTIAL", "PARALLEL"})
    void aFeedForwardNetworkMayHaveNoNorm(Arrangement arrangement) {
        NDArray x = x();
        TransformerLayerBlock.Builder builder =
                layer().optNormPlacement(NormPlacement.BEFORE_PART).optArrangement(arrangement);
        TransformerLayerBlock layer =
                filled(manager, builder.optFeedForwardNorm(false).build(), DataType.FLOAT64, x.getShape());
        assertThat(layer.getFeedForwardNorm()).isNull();
        NDArray h = x.add(infer(manager, layer.getAttention(), infer(manager, layer.getAttentionNorm(), x)));
        NDArray fed = infer(manager, layer.getFeedForward(), arrangement == Arrangement.PARALLEL ? x : h);
        requireClose(infer(manager, layer, x), doubles(h.add(fed)), 1e-12);
    }

    /** The layer of a file that {@code src/test/python/make_layers.py} wrote. */
    private static TransformerLayerBlock.Builder layerOf(String file, MultiHeadAttentionBlock.Builder attention) {
        TransformerLayerBlock.Builder layer = layer(attention);
        if (file.startsWith("decoder")) {
            layer.optCrossAttention(attention().build());
        }
        return switch (file) {
            case "encoder_post_norm", "decoder_post_norm" -> layer;
            case "encoder_pre_norm", "decoder_pre_norm" ->
                with(layer, Nonlinearity.GELU).optNormPlacement(NormPlacement.BEFORE_PART);
            case "decoder_gelu_tanh" -> with(layer, Nonlinearity.GELU_TANH);
            case "decoder_silu" -> with(layer, Nonlinearity.SILU);
            case "llama" -> gated(layer, Nonlinearity.SWIGLU);
            case "geglu" -> gated(layer, Nonlinearity.GEGLU);
            case "geglu_tanh" -> gated(layer, Nonlinearity.GEGLU_TANH);
            default -> throw new IllegalArgumentException(file);
        };
    }

    private static TransformerLayerBlock.Builder with(TransformerLayerBlock.Builder layer, Nonlinearity nonlinearity) {
        return layer.optFeedForward(feedForward(nonlinearity).build());
    }

    private static TransformerLayerBlock.Builder gated(TransformerLayerBlock.Builder layer, Nonlinearity nonlinearity) {
        return layer.optFeedForward(feedForward(nonlinearity).optBias(false).build());
    }

    private static TransformerLayerBlock.Builder decoderOf(String file) {
        return layerOf(file, causal());
    }

    /** The layers of Llama 2 and, with another nonlinearity, of Gemma. */
    private static TransformerLayerBlock.Builder gatedLayerOf(String file) {
        return layerOf(file, causal().optBias(false))
                .optNorm(Norm.RMS)
                .optEpsilon(1e-5)
                .optNormPlacement(NormPlacement.BEFORE_PART);
    }

    /** Compares the output of the layer with the stored weights. Masks keep their data type. */
    private void requireOutput(
            StoredLayer stored, Supplier<TransformerLayerBlock.Builder> layer, String output, NDArray... inputs)
            throws Exception {
        requireOutput(stored, layer, doubles(stored.get(output)), inputs);
    }

    private void requireOutput(
            StoredLayer stored, Supplier<TransformerLayerBlock.Builder> layer, double[] expected, NDArray... inputs)
            throws Exception {
        TransformerLayerBlock weights = stored.load(layer.get().build());
        TOLERANCES.forEach((type, tolerance) -> {
            TransformerLayerBlock block = layer.get().build();
            block.initialize(manager, type, weights.getInputShapes());
            copyWeights(weights, block);
            NDArray[] converted = Stream.of(inputs)
                    .map(each -> each.getDataType() == DataType.FLOAT64 ? each.toType(type, false) : each)
                    .toArray(NDArray[]::new);
            // as initialized, and as for inference, when PyTorch computes the feed-forward network in one call
            for (boolean isFrozen : new boolean[] {false, true}) {
                block.freezeParameters(isFrozen);
                requireClose(infer(manager, block, converted), expected, tolerance);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"encoder_post_norm", "encoder_pre_norm"})
    void equalsAnEncoderLayerOfTorch(String file) throws Exception {
        StoredLayer stored = new StoredLayer(manager, file);
        NDArray x = stored.get("input");
        NDArray isToken = stored.get("padding").logicalNot();
        requireOutput(stored, () -> layerOf(file, attention()), "output", x);
        requireOutput(stored, () -> layerOf(file, attention()), "output_padded", x, isToken);
        requireOutput(stored, () -> layerOf(file, causal()), "output_causal", x);
        requireOutput(stored, () -> layerOf(file, causal()), "output_causal_padded", x, isToken);
    }

    @ParameterizedTest
    @ValueSource(strings = {"decoder_post_norm", "decoder_pre_norm", "decoder_gelu_tanh", "decoder_silu"})
    void equalsADecoderLayerOfTorch(String file) throws Exception {
        StoredLayer stored = new StoredLayer(manager, file);
        NDArray x = stored.get("input");
        NDArray memory = stored.get("memory");
        NDArray isToken = stored.get("padding").logicalNot();
        NDArray isMemory = stored.get("memory_padding").logicalNot();
        requireOutput(stored, () -> decoderOf(file), "output", x, memory);
        requireOutput(stored, () -> decoderOf(file), "output_memory_padded", x, memory, none(), isMemory);
        requireOutput(stored, () -> decoderOf(file), "output_padded", x, memory, isToken, isMemory);
        // torch's file has no output without the second mask
        NDArray isAll = isMemory.onesLike();
        NDArray expected = infer(manager, stored.load(decoderOf(file).build()), x, memory, isToken, isAll);
        requireOutput(stored, () -> decoderOf(file), doubles(expected), x, memory, isToken, none());
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama", "geglu", "geglu_tanh"})
    void equalsALayerOfTorchWithAGate(String file) throws Exception {
        StoredLayer stored = new StoredLayer(manager, file);
        requireOutput(stored, () -> gatedLayerOf(file), "output", stored.get("input"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"decoder_post_norm", "decoder_pre_norm", "decoder_gelu_tanh", "decoder_silu"})
    void hasTheGradientsOfADecoderLayerOfTorch(String file) throws Exception {
        StoredLayer stored = new StoredLayer(manager, file);
        requireGradients(
                stored,
                decoderOf(file).build(),
                file.equals("decoder_pre_norm") ? 1e-7 : 1e-10,
                stored.get("input"),
                stored.get("memory"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama", "geglu", "geglu_tanh"})
    void hasTheGradientsOfALayerOfTorchWithAGate(String file) throws Exception {
        StoredLayer stored = new StoredLayer(manager, file);
        // the gradients, up to 41, are almost all made of that of GELU
        requireGradients(
                stored, gatedLayerOf(file).build(), file.equals("geglu") ? 41 * 5e-8 : 1e-10, stored.get("input"));
    }

    /**
     * Compares with the stored gradients.
     *
     * @param ofMxnet the tolerance on MXNet, whose gradient of erf, for GELU, has the factor 2 / √π in FLOAT32: it is
     *     too large by 5e-8 of the gradient
     */
    private void requireGradients(StoredLayer stored, TransformerLayerBlock layer, double ofMxnet, NDArray... inputs)
            throws Exception {
        TransformerLayerBlock block = stored.load(layer);
        double tolerance = engine == TestEngine.MXNET ? ofMxnet : 1e-10;
        stored.requireGradients(block, () -> Forward.train(manager, block, inputs), tolerance, inputs);
    }

    // dropout

    @Test
    void dropsHiddenFeaturesAndTheResultOfEachPartInTrainingOnly() {
        // 0 or 2 of the attention, and 0 or 4 of the feed-forward network, whose features are dropped twice
        Map<Float, Double> shares = Map.of(0f, 3 / 8.0, 2f, 3 / 8.0, 4f, 1 / 8.0, 6f, 1 / 8.0);
        requireShares(trainedOnes(layer().optDropoutRate(0.5f), 0.5f, 1), shares);
    }

    @Test
    void skipsPartsOfWholeSequencesInTrainingOnly() {
        NDArray y = trainedOnes(layer().optDropPathRate(0.75f).optResidualScale(0.5f), 0, 0.5f);
        // 0 or 4 of each part, multiplied by the residual scale
        NDArray firsts = y.get(":, :1, :1");
        requireShares(firsts, Map.of(0f, 9 / 16.0, 2f, 6 / 16.0, 4f, 1 / 16.0));
        requireSame(y, firsts.broadcast(y.getShape()));
    }

    /** The output in training, for zeros, of a layer whose parts return 1 times a scale. */
    private NDArray trainedOnes(TransformerLayerBlock.Builder builder, float hiddenDropoutRate, float scale) {
        FeedForwardBlock feedForward = feedForward(Nonlinearity.RELU)
                .setHiddenSize(SIZE)
                .optDropoutRate(hiddenDropoutRate)
                .build();
        TransformerLayerBlock block = builder.optNormPlacement(NormPlacement.BEFORE_PART)
                .optFeedForward(feedForward)
                .build();
        NDArray x = zeros(manager, 1000, 5, SIZE);
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        NDArray ones = manager.ones(new Shape(SIZE));
        set(block.getAttention().getResultProjection(), zeros(manager, SIZE, SIZE), ones);
        set(feedForward.getHiddenProjection(), zeros(manager, SIZE, SIZE), ones);
        set(feedForward.getOutputProjection(), manager.eye(SIZE), zeros(manager, SIZE));
        assertThat(infer(manager, block, x).toFloatArray()).containsOnly(2 * scale);
        return Forward.trainRecorded(manager, block, x);
    }

    private static void set(Block linear, NDArray weight, NDArray bias) {
        weight.copyTo(linear.getDirectParameters().get("weight").getArray());
        bias.copyTo(linear.getDirectParameters().get("bias").getArray());
    }

    /** Within five standard deviations. */
    private static void requireShares(NDArray y, Map<Float, Double> shares) {
        shares.forEach((value, share) -> {
            double found =
                    y.eq(value).countNonzero().toType(DataType.INT64, false).getLong() / (double) y.size();
            double deviation = Math.sqrt(share * (1 - share) / y.size());
            assertThat(found).as("share of %s", value).isCloseTo(share, within(5 * deviation));
        });
    }

    // options

    @Test
    void isALayerOfTheOriginalTransformerByDefault() {
        assertThat(layer().build().getArguments())
                .containsEntry("norm", "LAYER")
                .containsEntry("normPlacement", "AFTER_SUM")
                .containsEntry("arrangement", "SEQUENTIAL")
                .containsEntry("dropoutRate", 0f)
                .containsEntry("dropPathRate", 0f)
                .doesNotContainKeys("crossAttention", "residualScale");
    }

    @Test
    void hasTheEpsilonOfItsNormUnlessAnotherIsSet() {
        TransformerLayerBlock rms = layer().optNorm(Norm.RMS).build();
        assertThat(layer().build().getArguments()).containsEntry("epsilon", 1e-5);
        assertThat(layer().build().getAttentionNorm()).hasToString("LayerNormBlock(embeddingSize=8, epsilon=1.0E-5)");
        assertThat(rms.getArguments()).containsEntry("epsilon", 1e-6);
        assertThat(rms.getAttentionNorm()).hasToString("RmsNormBlock(embeddingSize=8, epsilon=1.0E-6)");
        assertThat(layer().optNorm(Norm.RMS).optEpsilon(0.25).build().getFeedForwardNorm())
                .hasToString("RmsNormBlock(embeddingSize=8, epsilon=0.25)");
    }

    @Test
    void isCreatedFromItsArgumentsAndItsFile() throws Exception {
        TransformerLayerBlock layer = filled(
                manager,
                decoderLayer()
                        .optFeedForward(feedForward(Nonlinearity.SWIGLU).build())
                        .optNormPlacement(NormPlacement.AROUND_PART)
                        .optResidualScale(0.1f)
                        .build(),
                DataType.FLOAT64,
                x().getShape(),
                memory().getShape());
        TransformerLayerBlock loaded = TransformerLayerBlock.fromArguments(layer.getArguments());
        BlockBytes.load(manager, loaded, BlockBytes.saved(layer));
        // the same products, from arrays at other addresses
        requireClose(infer(manager, loaded, x(), memory()), doubles(infer(manager, layer, x(), memory())), 1e-12);
    }

    @Test
    void rejectsOptionsThatAreMissingOrOutOfRange() {
        assertAll(
                rejected(
                        TransformerLayerBlock.builder()
                                .optFeedForward(feedForward(Nonlinearity.RELU).build())::build,
                        "attention"),
                rejected(layer().optEpsilon(0)::build, "epsilon 0.0"),
                rejected(layer().optDropoutRate(1)::build, "dropoutRate 1.0"),
                rejected(layer().optDropPathRate(-0.5f)::build, "dropPathRate -0.5"),
                rejected(layer().optDropPathRate(1)::build, "dropPathRate 1.0"),
                rejected(layer().optResidualScale(Float.NaN)::build, "residualScale NaN"),
                rejected(layer().optResidualScale(Float.POSITIVE_INFINITY)::build, "residualScale Infinity"));
    }

    @Test
    void rejectsACrossAttentionThatDoesNotFit() {
        MultiHeadAttentionBlock wider = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(12)
                .setHeadCount(2)
                .build();
        MultiHeadAttentionBlock same = attention().build();
        assertAll(
                rejected(layer().optCrossAttention(wider)::build, "embeddingSize 12", SIZE),
                rejected(layer().setAttention(same).optCrossAttention(same)::build, "cross-attention", "two"));
    }

    @Test
    void rejectsAFeedForwardNetworkOfAnotherSize() {
        FeedForwardBlock wider =
                feedForward(Nonlinearity.RELU).setEmbeddingSize(12).build();
        assertAll(rejected(layer().optFeedForward(wider)::build, "feed-forward", "embeddingSize 12", SIZE));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BEFORE_PART")
    void rejectsParallelPartsWithOtherNormsThanBeforeThem(NormPlacement placement) {
        assertAll(rejected(
                layer().optNormPlacement(placement).optArrangement(Arrangement.PARALLEL)::build,
                "PARALLEL",
                placement,
                "BEFORE_PART"));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "SEQUENTIAL")
    void rejectsParallelPartsWithACrossAttention(Arrangement arrangement) {
        assertAll(rejected(
                decoderLayer().optNormPlacement(NormPlacement.BEFORE_PART).optArrangement(arrangement)::build,
                arrangement,
                "cross-attention"));
    }

    // inputs

    @ParameterizedTest
    @EnumSource
    void rejectsInputsOfOtherShapesAndTypes(NormPlacement placement) {
        requireRejectedInputs(manager, placement);
        requireRejectedInputsOfADecoder(manager, placement);
    }

    /** They do not depend on the values of an array, which are not read on a GPU. */
    @ParameterizedTest
    @EnumSource
    void rejectsTheSameInputsOnAGpu(NormPlacement placement) {
        onASimulatedGpu(gpu -> {
            requireRejectedInputs(gpu, placement);
            requireRejectedInputsOfADecoder(gpu, placement);
        });
    }

    private static void requireRejectedInputs(NDManager manager, NormPlacement placement) {
        TransformerLayerBlock layer =
                layer(causal()).optNormPlacement(placement).build();
        layer.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, SIZE));
        NDArray x = zeros(manager, 2, 5, SIZE);
        NDArray mask = zeros(manager, 2, 5);
        NDArray doubles = zeros(manager, DataType.FLOAT64, 2, 5, SIZE);
        NDArray narrow = zeros(manager, 2, 5, 1);
        NDArray oneSequence = zeros(manager, 5, SIZE);
        NDArray shortMask = zeros(manager, 2, 4);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, layer), "0 inputs", "[x, mask]"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, x, mask, mask), "3 inputs", "[x, mask]"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, oneSequence), "(5, 8)", "expandDims(0)"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, narrow), "(2, 5, 1)", "(B, T, 8)"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, x, shortMask), "(2, 4)", "(2, 5)"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, doubles), "float64", "float32"));
    }

    private static void requireRejectedInputsOfADecoder(NDManager manager, NormPlacement placement) {
        TransformerLayerBlock layer = decoderLayer().optNormPlacement(placement).build();
        layer.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, SIZE), new Shape(-1, -1, SIZE));
        NDArray x = zeros(manager, 2, 5, SIZE);
        NDArray mask = zeros(manager, 2, 5);
        NDArray memory = zeros(manager, 2, 4, SIZE);
        NDArray memoryMask = zeros(manager, 2, 4);
        NDArray otherBatch = zeros(manager, 1, 4, SIZE);
        NDArray doubles = zeros(manager, DataType.FLOAT64, 2, 4, SIZE);
        String inputs = "[x, memory, mask, memoryMask]";
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, layer, x), "1 inputs", inputs),
                // a single mask may be that of x or of the memory
                rejectedWithoutLeak(
                        manager, () -> infer(manager, layer, x, memory, mask), "3 inputs", inputs, "(B, 0)"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, layer, x, mask, memory, mask), "(2, 5)", "(B, S, 8)", inputs),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, x, otherBatch), "(1, 4, 8)", "(2, 5, 8)"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, layer, x, memory, memoryMask, mask), "(2, 4)", "(2, 5)"),
                rejectedWithoutLeak(manager, () -> infer(manager, layer, x, doubles), "float64", "float32"));
    }

    @Test
    void rejectsAForwardBeforeItIsInitialized() {
        NDArray x = zeros(manager, 2, 5, SIZE);
        assertAll(rejected(
                UninitializedParameterException.class,
                () -> infer(manager, layer().build(), x),
                "TransformerLayerBlock",
                "initialize"));
    }

    // a plain attention, and the mask

    @Test
    void hasAPlainAttentionAndTheUsualHiddenSize() {
        TransformerLayerBlock plain = TransformerLayerBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(true)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build())
                .build();
        TransformerLayerBlock full = TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(8)
                        .setHeadCount(2)
                        .optCausal(true)
                        .optRelativeEncoding(
                                RotaryEmbeddingBlock.builder().setHeadSize(4).build())
                        .build())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(8)
                        .setHiddenSize(32)
                        .build())
                .build();
        assertThat(plain.getArguments()).isEqualTo(full.getArguments());
    }

    @Test
    void eachLayerOfABuilderHasItsOwnPlainAttention() {
        TransformerLayerBlock.Builder builder =
                TransformerLayerBlock.builder().setEmbeddingSize(8).setHeadCount(2);
        assertThat(builder.build().getAttention()).isNotSameAs(builder.build().getAttention());
    }

    @Test
    void rejectsTwoAttentions() {
        assertAll(
                rejected(
                        () -> TransformerLayerBlock.builder()
                                .setAttention(attention().build())
                                .setHeadCount(2),
                        "an attention"),
                rejected(
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(8)
                                .setAttention(attention().build()),
                        "an attention"));
    }

    @Test
    void passesTheMaskOn() {
        TransformerLayerBlock block =
                filled(manager, layer().optReturnMask(true).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 3, 8);
        NDArray mask = manager.create(new int[][] {{1, 1, 0}, {1, 1, 1}});
        NDList outputs = block.forward(new ParameterStore(manager, false), new NDList(x, mask), false);
        assertThat(outputs).hasSize(2);
        assertThat(outputs.get(1)).isSameAs(mask);
        assertThat(block.getOutputShapes(new Shape[] {x.getShape(), mask.getShape()}))
                .containsExactly(x.getShape(), mask.getShape());
        assertThat(block.forward(new ParameterStore(manager, false), new NDList(x), false))
                .hasSize(1);
    }
}
