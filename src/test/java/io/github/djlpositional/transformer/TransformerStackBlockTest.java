package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.decoderLayer;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallLayers;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A stack is its input embedding, its layers and a norm, one after the other; D = 8, two heads, in FLOAT64. */
class TransformerStackBlockTest extends OnEachEngine {

    private static final int SIZE = 8;

    /** FLOAT64: three layers of sums of 16 products of numbers below 100. */
    private static final double TOLERANCE = 1e-12;

    private static MultiHeadAttentionBlock.Builder attentionWith(RelativeEncoding encoding) {
        return attention().optRelativeEncoding(encoding);
    }

    private static TransformerLayerBlock.Builder layerWith(RelativeEncoding encoding) {
        return layer(attentionWith(encoding));
    }

    private static TransformerLayerBlock.Builder preNormLayer() {
        return layer().optNormPlacement(NormPlacement.BEFORE_PART);
    }

    private static TransformerLayerBlock.Builder rotaryLayer() {
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        return layer(causal().optRelativeEncoding(rotary))
                .optFeedForward(feedForward(Nonlinearity.SWIGLU).build())
                .optNorm(Norm.RMS)
                .optNormPlacement(NormPlacement.BEFORE_PART);
    }

    private static TransformerStackBlock.Builder encoder() {
        return TransformerStackBlock.builder().setLayers(3, SmallLayers::layer);
    }

    private static TransformerStackBlock.Builder decoder() {
        return TransformerStackBlock.builder()
                .setLayers(3, () -> decoderLayer().optNormPlacement(NormPlacement.BEFORE_PART));
    }

    private static TransformerStackBlock.Builder rotary() {
        return TransformerStackBlock.builder().setLayers(3, TransformerStackBlockTest::rotaryLayer);
    }

    /** Token ids below 10, of which 0 is padding. */
    private static InputEmbeddingBlock.Builder ids() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(10)
                .setEmbeddingSize(SIZE)
                .optPaddingIndex(0);
    }

    private static RelativePositionBiasBlock bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(2).build();
    }

    private static AlibiBiasBlock alibi() {
        return AlibiBiasBlock.builder().setHeadCount(2).build();
    }

    private NDArray x() {
        return numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
    }

    private NDArray memory() {
        return numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
    }

    private static NDArray paddedIds(NDManager manager) {
        return manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
    }

    private NDArray isToken() {
        return manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
    }

    private NDArray isMemory() {
        return manager.create(new int[][] {{1, 1, 1, 1}, {1, 1, 0, 0}});
    }

    /** An array that stands for a mask that is not needed. */
    private NDArray none() {
        return manager.create(new Shape(2, 0));
    }

    /** Compares with the layers, called one after the other with the same inputs. */
    private void requireChain(TransformerStackBlock.Builder builder, NDArray... inputs) {
        requireChain(builder, null, inputs, inputs);
    }

    /**
     * Compares the output with a chain of the input embedding, the layers and the final norm.
     *
     * @param params forward parameters that all blocks get; null for none
     * @param inputs the inputs of the stack
     * @param ofLayers the inputs of each layer; the first is x, which is replaced if there is an input embedding
     */
    private void requireChain(
            TransformerStackBlock.Builder builder,
            PairList<String, Object> params,
            NDArray[] inputs,
            NDArray[] ofLayers) {
        Shape[] shapes = new NDList(inputs).getShapes();
        TransformerStackBlock stack = filled(manager, builder.build(), DataType.FLOAT64, shapes);
        NDArray y = infer(manager, stack, params, inputs);
        NDArray[] chained = ofLayers.clone();
        if (stack.getInput() != null) {
            chained[0] = infer(manager, stack.getInput(), params, inputs[0]);
        }
        for (Block layer : stack.getLayers()) {
            chained[0] = infer(manager, layer, params, chained);
        }
        Block norm = stack.getFinalNorm();
        NDArray expected = norm == null ? chained[0] : infer(manager, norm, chained[0]);
        requireClose(y, doubles(expected), TOLERANCE);
        assertThat(stack.getOutputShapes(shapes)).containsExactly(y.getShape());
    }

    private static NDArray[] arrays(NDArray... arrays) {
        return arrays;
    }

    @Test
    void callsItsLayersOneAfterTheOther() {
        requireChain(encoder(), x());
        requireChain(rotary(), x());
        requireChain(decoder(), x(), memory());
    }

    /** ALBERT's order: each layer so often as it is repeated, then the next one. */
    @Test
    void repeatsEachLayer() {
        TransformerStackBlock stack = filled(
                manager,
                TransformerStackBlock.builder()
                        .setLayers(2, TransformerStackBlockTest::preNormLayer)
                        .optRepetitions(3)
                        .build(),
                DataType.FLOAT64,
                x().getShape());
        NDArray expected = x();
        for (Block layer : stack.getLayers()) {
            for (int i = 0; i < 3; i++) {
                expected = infer(manager, layer, expected, isToken());
            }
        }
        expected = infer(manager, stack.getFinalNorm(), expected);
        requireClose(infer(manager, stack, x(), isToken()), doubles(expected), TOLERANCE);
    }

    @Test
    void repeatedLayersHaveNoCache() throws Throwable {
        TransformerStackBlock stack =
                filled(manager, encoder().optRepetitions(3).build(), DataType.FLOAT64, x().getShape());
        try (KeyValueCache cache = new KeyValueCache(manager, 8)) {
            rejected(() -> infer(manager, stack, cache.nextStep(), x()), "3 repetitions", "keyValueCache")
                    .execute();
        }
    }

    @Test
    void passesMasksToEachLayer() {
        requireChain(encoder(), x(), isToken());
        requireChain(decoder(), x(), memory(), none(), isMemory());
        requireChain(decoder(), x(), memory(), isToken(), none());
        requireChain(decoder(), x(), memory(), isToken(), isMemory());
    }

    @Test
    void passesForwardParametersToEachBlock() {
        NDArray positions = manager.create(new int[][] {{0, 1, 5, 6, 40}, {3, 4, 5, 6, 7}});
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        requireChain(rotary(), params, arrays(x()), arrays(x()));
        requireChain(rotary(), params, arrays(x(), isToken()), arrays(x(), isToken()));
        requireChain(encoder().optInput(ids().build()), params, arrays(paddedIds(manager)), arrays(x(), isToken()));
    }

    @ParameterizedTest
    @EnumSource(names = {"UINT8", "INT32", "INT64"})
    void hidesPaddingOfIdsInEachLayer(DataType type) {
        NDArray ids = paddedIds(manager).toType(type, true);
        requireChain(encoder().optInput(ids().build()), null, arrays(ids), arrays(x(), isToken()));
        requireChain(
                decoder().optInput(ids().build()),
                null,
                arrays(ids, memory()),
                arrays(x(), memory(), isToken(), none()));
        requireChain(
                decoder().optInput(ids().build()),
                null,
                arrays(ids, memory(), none(), isMemory()),
                arrays(x(), memory(), isToken(), isMemory()));
    }

    @Test
    void aMaskReplacesTheMaskOfPadding() {
        NDArray ids = paddedIds(manager);
        NDArray isFirst = manager.create(new int[][] {{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}});
        requireChain(encoder().optInput(ids().build()), null, arrays(ids, isFirst), arrays(x(), isFirst));
        requireChain(
                decoder().optInput(ids().build()),
                null,
                arrays(ids, memory(), isFirst, isMemory()),
                arrays(x(), memory(), isFirst, isMemory()));
    }

    @Test
    void masksOfStepsAndOfPaddingFollowEachOther() {
        InputEmbeddingBlock input = ids().optNoPositions().build();
        TransformerStackBlock stack =
                filled(manager, rotary().optInput(input).build(), DataType.FLOAT64, new Shape(1, 6));
        NDArray ids = manager.create(new int[][] {{0, 0, 3, 1, 4, 1}});
        NDArray whole = infer(manager, stack, ids);
        // rotary positions are relative: the result is that of the sentence without its padding
        requireClose(whole.get(":, 2:"), doubles(infer(manager, stack, ids.get(":, 2:"))), TOLERANCE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, stack, cache.nextStep(), ids.get(":, :3"));
            NDArray mask = manager.create(new int[][] {{0, 0, 1, 1}});
            infer(manager, stack, cache.nextStep(), ids.get(":, 3:4"), mask);
            NDArray next = infer(manager, stack, cache.nextStep(), ids.get(":, 4:5"));
            requireClose(next, doubles(whole.get(":, 4:5")), TOLERANCE);
        }
    }

    // options

    @Test
    void hasAFinalNormUnlessTheLastLayerNormalizesItsSum() {
        assertThat(encoder().build().getFinalNorm()).isNull();
        assertThat(encoder().optFinalNorm(true).build().getFinalNorm())
                .hasToString("LayerNormBlock(embeddingSize=8, epsilon=1.0E-5)");
        assertThat(rotary().build().getFinalNorm()).hasToString("RmsNormBlock(embeddingSize=8, epsilon=1.0E-6)");
        assertThat(rotary().optFinalNorm(false).build().getFinalNorm()).isNull();
        assertThat(TransformerStackBlock.builder()
                        .setLayers(List.of(preNormLayer().build(), layer().build()))
                        .build()
                        .getFinalNorm())
                .isNull();
    }

    @Test
    void hasTheLayersThatWereSetLast() {
        TransformerLayerBlock last = layer().build();
        assertThat(encoder().setLayers(List.of(last)).build().getLayers()).containsExactly(last);
    }

    /** Explicit positions of the input, and default ones if only the cross-attention has a relative encoding. */
    @Test
    void acceptsPositionsOfItsInputBesideARelativeEncoding() {
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        InputEmbeddingBlock explicit = ids().optPositionalEncoding(sinusoids).build();
        TransformerLayerBlock crossing =
                layer().optCrossAttention(attentionWith(alibi()).build()).build();
        assertThat(of(layerWith(alibi()).build())
                        .optInput(explicit)
                        .build()
                        .getInput()
                        .hasDefaultPositions())
                .isFalse();
        assertThat(of(crossing).optInput(ids().build()).build().getInput().hasDefaultPositions())
                .isTrue();
    }

    @Test
    void isDescribedByItsLayersOnce() {
        assertThat(encoder().build().toString())
                .contains("3 × TransformerLayerBlock")
                .hasSizeLessThan(800);
    }

    @Test
    void rejectsLayersThatAreMissing() {
        TransformerStackBlock.Builder stack = TransformerStackBlock.builder();
        assertAll(
                rejected(stack::build, "layers", "setLayers"),
                rejected(() -> stack.setLayers(List.of()).build(), "layers", "setLayers"),
                rejected(() -> stack.setLayers(0, SmallLayers::layer), "layerCount 0"),
                rejected(
                        NullPointerException.class,
                        () -> stack.setLayers(Collections.singletonList(null)),
                        "layers",
                        "TransformerLayerBlock"),
                rejected(
                        NullPointerException.class,
                        () -> stack.setLayers(2, () -> null).build(),
                        "layers",
                        "builder"));
    }

    private static TransformerStackBlock.Builder of(TransformerLayerBlock... layers) {
        return TransformerStackBlock.builder().setLayers(Arrays.asList(layers));
    }

    @Test
    void rejectsLayersThatDoNotFitTogether() {
        TransformerLayerBlock layer = layer().build();
        MultiHeadAttentionBlock shared = attention().build();
        FeedForwardBlock network = feedForward(Nonlinearity.RELU).build();
        TransformerLayerBlock wider = layer(attention().setEmbeddingSize(16))
                .optFeedForward(
                        feedForward(Nonlinearity.RELU).setEmbeddingSize(16).build())
                .build();
        assertAll(
                rejected(of(layer, layer)::build, "layer 1 is layer 0 again", "attention"),
                rejected(of(layer, layer().build(), layer)::build, "layer 2 is layer 0 again"),
                rejected(
                        of(
                                layer().setAttention(shared).build(),
                                layer().setAttention(shared).build())::build,
                        "layer 1",
                        "attention"),
                rejected(
                        of(
                                layer().optFeedForward(network).build(),
                                layer().optFeedForward(network).build())::build,
                        "layer 1",
                        "feed-forward"),
                rejected(of(layer, decoderLayer().build())::build, "layer 1", "cross-attention"),
                rejected(of(layer, wider)::build, "layer 1", "embeddingSize 16", "embeddingSize 8", wider));
    }

    @Test
    void rejectsAnInputThatDoesNotFit() {
        InputEmbeddingBlock narrow = ids().setEmbeddingSize(4).build();
        InputEmbeddingBlock input = ids().build();
        InputEmbeddingBlock shorter = ids().optMaxSequenceLength(20).build();
        RelativeEncoding encoding = alibi();
        assertAll(
                rejected(encoder().optInput(narrow)::build, "size 4", SIZE, "optOutputSize"),
                rejected(
                        of(layerWith(encoding).build()).optInput(input)::build,
                        "layer 0",
                        encoding,
                        "optNoPositions()"),
                rejected(
                        of(layer().build(), layerWith(encoding).build()).optInput(shorter)::build,
                        "layer 1",
                        "optNoPositions()"));
    }

    @Test
    void rejectsInputsThatDoNotFit() {
        TransformerStackBlock ofIds = encoder().optInput(ids().build()).build();
        ofIds.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        TransformerStackBlock ofVectors = encoder().build();
        ofVectors.initialize(manager, DataType.FLOAT32, new Shape(2, 5, SIZE));
        NDArray ids = zeros(manager, DataType.INT32, 2, 5);
        NDArray x = zeros(manager, 2, 5, SIZE);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, ofIds), "0 inputs"),
                rejectedWithoutLeak(manager, () -> infer(manager, ofIds, ids, ids, ids), "3 inputs"),
                rejectedWithoutLeak(manager, () -> infer(manager, ofIds, x), "ids", "(2, 5, 8)"),
                rejectedWithoutLeak(manager, () -> infer(manager, ofVectors, ids), "(2, 5)"));
    }

    /** Distances stay the same; the cache keeps the positions of the memory. */
    @Test
    void positionsOfTheMemoryReachEveryLayerAndStayInACache() {
        TransformerStackBlock stack = filled(
                manager,
                TransformerStackBlock.builder()
                        .setLayers(
                                3,
                                () -> layer(causal().optRelativeEncoding(alibi()))
                                        .optCrossAttention(attentionWith(RotaryEmbeddingBlock.builder()
                                                        .setHeadSize(4)
                                                        .build())
                                                .build()))
                        .build(),
                DataType.FLOAT64,
                x().getShape(),
                memory().getShape());
        stack.freezeParameters(true);
        NDArray x = x();
        NDArray memory = memory();
        PairList<String, Object> moved = new PairList<>();
        moved.add(PositionalEncodingBlock.POSITIONS, manager.arange(9, 14));
        moved.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, manager.arange(9, 13));
        NDArray expected = infer(manager, stack, x, memory);
        requireClose(infer(manager, stack, moved, x, memory), doubles(expected), TOLERANCE);
        NDArray positions = manager.create(new double[][] {{3, 1.5, 0, 8}, {2, 2, 7, 0.25}});
        PairList<String, Object> ofMemory = Forward.params(MultiHeadAttentionBlock.MEMORY_POSITIONS, positions);
        NDArray whole = infer(manager, stack, ofMemory, x, memory);
        assertThat(whole.sub(expected).abs().max().getDouble()).isGreaterThan(0.01);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> params = cache.nextStep();
            params.addAll(ofMemory);
            NDArray y = infer(manager, stack, params, x.get(":, :3"), memory);
            for (int i = 3; i < 5; i++) {
                NDArray next = x.get(":, {}:{}", i, i + 1);
                y = y.concat(infer(manager, stack, cache.nextStep(), next, memory), 1);
            }
            requireClose(y, doubles(whole), TOLERANCE);
        }
    }

    // encodings that are shared, as in T5

    private static TransformerStackBlock sharing(RelativeEncoding encoding) {
        return TransformerStackBlock.builder()
                .optInput(ids().optNoPositions().build())
                .setLayers(3, () -> layerWith(encoding))
                .build();
    }

    private static TransformerLayerBlock sharingInALayer(RelativeEncoding encoding) {
        return layerWith(encoding)
                .optCrossAttention(attentionWith(encoding).build())
                .build();
    }

    @Test
    void isSavedAndLoadedWithASharedEncoding() throws Exception {
        requireSavedAndLoaded(TransformerStackBlockTest::sharing, paddedIds(manager));
    }

    @Test
    void aLayerIsSavedAndLoadedWithASharedEncoding() throws Exception {
        requireSavedAndLoaded(TransformerStackBlockTest::sharingInALayer, x(), x());
    }

    @Test
    void aSequentialBlockIsSavedAndLoadedWithASharedEncoding() throws Exception {
        requireSavedAndLoaded(
                encoding -> new SequentialBlock()
                        .add(layerWith(encoding).build())
                        .add(layerWith(encoding).build()),
                x());
    }

    private void requireSavedAndLoaded(Function<RelativeEncoding, Block> sharing, NDArray... inputs) throws Exception {
        Block block = filled(manager, sharing.apply(bias()), DataType.FLOAT64, new NDList(inputs).getShapes());
        block.freezeParameters(true);
        byte[] file = BlockBytes.saved(block);
        Block loaded = sharing.apply(bias());
        BlockBytes.load(manager, loaded, file);
        requireClose(infer(manager, loaded, inputs), doubles(infer(manager, block, inputs)), TOLERANCE);
        assertThat(BlockBytes.saved(loaded)).isEqualTo(file);
    }

    @Test
    void aSharedEncodingMovesByItsGradientOnce() {
        RelativePositionBiasBlock shared = bias();
        Device device = manager.getDevice();
        try (Model model = Model.newInstance("stack", device, engine.engineName())) {
            model.setBlock(sharing(shared));
            Tracker rate = Tracker.fixed(0.5f);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .optDevices(new Device[] {device})
                    .optOptimizer(Optimizer.sgd().setLearningRateTracker(rate).build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(2, 5));
                NDArray biases = shared.getBiases().getArray();
                NDArray moved;
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    NDArray y = trainer.forward(new NDList(paddedIds(trainer.getManager())))
                            .head();
                    collector.backward(y.mul(numbers(manager, 1, DataType.FLOAT32, 2, 5, SIZE))
                            .sum());
                    moved = biases.sub(biases.getGradient().mul(0.5f));
                }
                assertThat(moved).isNotEqualTo(biases);
                trainer.step();
                // one rounding of the product and one of the difference from a number below 1
                requireClose(
                        biases, doubles(moved), 0x1p-22 * (2 + moved.abs().max().getFloat()));
            }
        }
    }

    @Test
    void hasNoArgumentsThatShareAnEncoding() {
        RelativeEncoding shared = bias();
        Stream<HasArguments> blocks = Stream.of(
                sharing(shared),
                of(Stream.of(bias(), shared, bias(), shared)
                                .map(encoding -> layerWith(encoding).build())
                                .toArray(TransformerLayerBlock[]::new))
                        .build(),
                sharingInALayer(shared));
        assertAll(blocks.map(
                block -> rejected(UnsupportedOperationException.class, block::getArguments, "BlockFactory", shared)));
    }

    @Test
    void isCreatedFromItsArgumentsWithAnEncodingForEachLayer() {
        TransformerStackBlock apart = TransformerStackBlock.builder()
                .setLayers(3, () -> layerWith(bias()))
                .build();
        TransformerStackBlock created = TransformerStackBlock.fromArguments(apart.getArguments());
        assertThat(created.getArguments()).isEqualTo(apart.getArguments());
        assertThat(created.getLayers().stream()
                        .map(layer ->
                                layer.getAttention().getRelativeEncodings().get(0)))
                .hasSize(3)
                .doesNotHaveDuplicates();
    }

    // pooling and output

    private TransformerStackBlock.Builder ofIds() {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(SIZE)
                        .optPaddingIndex(0)
                        .build())
                .setLayers(2, SmallLayers::layer);
    }

    private <B extends Block> B ofIds(B block) {
        return filled(manager, block, DataType.FLOAT64, new Shape(1, 4));
    }

    @ParameterizedTest
    @EnumSource
    void poolsAndClassifiesTokensThatAreNotPadding(Pooling pooling) {
        TransformerStackBlock stack =
                ofIds(ofIds().optPooling(pooling).optOutputSize(3).build());
        NDArray alone = infer(manager, stack, manager.create(new long[][] {{5, 6, 2}}));
        assertThat(alone.getShape()).isEqualTo(new Shape(1, 3));
        NDArray padded = infer(manager, stack, manager.create(new long[][] {{5, 6, 2, 0}, {1, 2, 3, 4}}));
        requireClose(padded.get(0), doubles(alone), 1e-6); // the weights of the mean are FLOAT32
        NDArray mask = manager.create(new int[][] {{1, 1, 1, 0}});
        NDArray masked = infer(manager, stack, manager.create(new long[][] {{5, 6, 2, 3}}), mask);
        requireClose(masked, doubles(alone), 1e-6);
        assertThat(stack.getOutputShapes(new Shape[] {new Shape(2, 4)})[0]).isEqualTo(new Shape(2, 3));
    }

    @Test
    void scoresTokensWithTheTableOfTheInput() {
        TransformerStackBlock stack = ofIds(ofIds().optTiedOutput(true).build());
        TransformerStackBlock vectors = ofIds(ofIds().build());
        NDArray ids = manager.create(new long[][] {{5, 6, 2}});
        NDArray table = stack.getInput().getTokenTable().getArray();
        double[] expected = doubles(infer(manager, vectors, ids).matMul(table.transpose()));
        NDArray scores = infer(manager, stack, ids);
        assertThat(scores.getShape()).isEqualTo(new Shape(1, 3, 7));
        requireClose(scores, expected, TOLERANCE);
        assertThat(stack.getOutputShapes(new Shape[] {ids.getShape()})[0]).isEqualTo(scores.getShape());
    }

    /** As BERT's language model: the table times n(f(W x + b)), plus a bias for each token. */
    @Test
    void scoresTransformedVectorsWithABias() {
        ProjectionBlock transform = transform(SIZE);
        TransformerStackBlock stack = ofIds(ofIds().optOutputTransform(transform)
                .optTiedOutput(true)
                .optOutputBias(true)
                .build());
        NDArray bias = stack.getOutputBias().getArray();
        NDArray ids = manager.create(new long[][] {{5, 6, 2}});
        NDArray x = infer(manager, stack.getInput(), ids);
        for (TransformerLayerBlock layer : stack.getLayers()) {
            x = infer(manager, layer, x);
        }
        NDArray transformed = infer(manager, transform, x);
        NDArray table = stack.getInput().getTokenTable().getArray();
        double[] expected = doubles(transformed.matMul(table.transpose()).add(bias));
        NDArray scores = infer(manager, stack, ids);
        assertThat(scores.getShape()).isEqualTo(new Shape(1, 3, 7));
        requireClose(scores, expected, TOLERANCE);
    }

    @Test
    void scalesAndLimitsScores() {
        TransformerStackBlock.Builder scored = encoder().optOutputSize(3);
        NDArray plain = infer(manager, filled(manager, scored.build(), DataType.FLOAT64, x().getShape()), x());
        TransformerStackBlock.Builder limited =
                encoder().optOutputSize(3).optScoreScale(0.25).optScoreCap(1.5);
        NDArray y = infer(manager, filled(manager, limited.build(), DataType.FLOAT64, x().getShape()), x());
        double[] expected = doubles(plain);
        Arrays.setAll(expected, i -> 1.5 * Math.tanh(0.25 * expected[i] / 1.5));
        requireClose(y, expected, TOLERANCE);
        assertAll(
                rejected(encoder().optScoreScale(2)::build, "scoreScale 2.0", "output layer"),
                rejected(encoder().optScoreCap(2)::build, "scoreCap 2.0", "output layer"));
    }

    @Test
    void pooledScoresAreThoseOfArguments() {
        TransformerStackBlock stack = ofIds().optPooling(Pooling.LAST)
                .optOutputSize(3)
                .optOutputBias(false)
                .build();
        assertThat(TransformerStackBlock.fromArguments(stack.getArguments()).getArguments())
                .isEqualTo(stack.getArguments())
                .containsEntry("pooling", "LAST")
                .containsEntry("outputSize", 3)
                .containsEntry("outputBias", false);
    }

    @Test
    void rejectsOutputsThatDoNotFit() {
        assertAll(
                rejected(() -> ofIds().optTiedOutput(true).optOutputSize(3).build(), "tiedOutput", "outputSize 3"),
                rejected(() -> ofIds().optOutputBias(true).build(), "outputBias", "optOutputSize"),
                rejected(() -> ofIds().optOutputTransform(transform(SIZE)).build(), "outputTransform", "optTiedOutput"),
                rejected(
                        () -> ofIds().optOutputTransform(transform(SIZE + 1))
                                .optTiedOutput(true)
                                .build(),
                        "(7, " + SIZE + ")",
                        "size " + (SIZE + 1)),
                rejected(
                        () -> TransformerStackBlock.builder()
                                .setLayers(1, SmallLayers::layer)
                                .optTiedOutput(true)
                                .build(),
                        "tiedOutput",
                        "optInput"));
    }

    private static ProjectionBlock transform(int outputSize) {
        return ProjectionBlock.builder()
                .setInputSize(SIZE)
                .setOutputSize(outputSize)
                .build();
    }

    // packed documents

    /** A model of ids, whose padding is hidden, with sinusoids and with rotary embeddings. */
    @Test
    void eachOfThePackedDocumentsIsAsAlone() {
        for (TransformerStackBlock.Builder layers : List.of(encoder(), rotary())) {
            PositionalEncodingBlock sinusoids =
                    PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
            TransformerStackBlock model = layers.optInput(
                            ids().optPositionalEncoding(sinusoids).build())
                    .optTiedOutput(true)
                    .build();
            filled(manager, model, DataType.FLOAT64, new Shape(2, 5));
            NDArray ids = paddedIds(manager);
            Documents documents = Documents.ofRows(Documents.ofLengths(2, 3), Documents.ofLengths(3, 1, 1));
            NDArray scores = infer(manager, model, params(PositionalEncodingBlock.DOCUMENTS, documents), ids);
            for (String document : new String[] {":1, :2", ":1, 2:", "1:, :3"}) {
                NDArray alone = infer(manager, model, ids.get(document));
                requireClose(scores.get(document), doubles(alone), TOLERANCE);
            }
        }
    }

    @Test
    void rejectsDocumentsWithPoolingOrAMemory() {
        Documents documents = Documents.ofLengths(2, 3);
        PairList<String, Object> packed = params(PositionalEncodingBlock.DOCUMENTS, documents);
        TransformerStackBlock pooled = filled(
                manager,
                encoder().optInput(ids().build()).optPooling(Pooling.MEAN).build(),
                DataType.FLOAT64,
                new Shape(2, 5));
        TransformerStackBlock decoder =
                filled(manager, decoder().build(), DataType.FLOAT64, new Shape(2, 5, SIZE), new Shape(2, 4, SIZE));
        NDArray ids = paddedIds(manager);
        NDArray x = x();
        NDArray memory = memory();
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, pooled, packed, ids), "[2, 3]", "MEAN"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, decoder, packed, x, memory), "[2, 3]", "cross-attention"));
    }
}
