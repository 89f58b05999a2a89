package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** D = 8, two heads, three layers; in FLOAT64. */
class TransformerStackBlockTest {

    private static final int LAYERS = 3;
    private static final int SIZE = 8;
    private static final double TOLERANCE = 1e-12;

    private static MultiHeadAttentionBlock attention(boolean causal, RelativeEncoding encoding) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(2)
                .optCausal(causal);
        return (encoding == null ? builder : builder.optRelativeEncoding(encoding)).build();
    }

    private static TransformerLayerBlock.Builder layer(boolean causal, RelativeEncoding encoding) {
        return TransformerLayerBlock.builder()
                .setAttention(attention(causal, encoding))
                .setHiddenSize(16);
    }

    private static TransformerLayerBlock.Builder encoderLayer() {
        return layer(false, null);
    }

    /** Also with an encoder's output. */
    private static TransformerLayerBlock.Builder decoderLayer() {
        return layer(true, null).optCrossAttention(attention(false, null)).optPreNorm(true);
    }

    /** A decoder without one. */
    private static TransformerLayerBlock.Builder rotaryLayer() {
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).build();
        return layer(true, rotary)
                .optNonlinearity(Nonlinearity.SWIGLU)
                .optNorm(Norm.RMS)
                .optPreNorm(true);
    }

    private static TransformerStackBlock.Builder encoder() {
        return TransformerStackBlock.builder().setLayers(LAYERS, TransformerStackBlockTest::encoderLayer);
    }

    private static TransformerStackBlock.Builder decoder() {
        return TransformerStackBlock.builder().setLayers(LAYERS, TransformerStackBlockTest::decoderLayer);
    }

    private static TransformerStackBlock.Builder rotaryDecoder() {
        return TransformerStackBlock.builder().setLayers(LAYERS, TransformerStackBlockTest::rotaryLayer);
    }

    /** All layers have this encoding. */
    private static TransformerStackBlock.Builder sharing(RelativeEncoding encoding) {
        return TransformerStackBlock.builder().setLayers(LAYERS, () -> layer(false, encoding));
    }

    private static RelativePositionBiasBlock bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(2).build();
    }

    private static InputEmbeddingBlock.Builder input() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(10)
                .setEmbeddingSize(SIZE)
                .optPaddingIndex(0);
    }

    private static InputEmbeddingBlock inputWithoutPositions() {
        return input().optNoPositions().build();
    }

    /** Initializes a stack with weights that are large enough to make attention far from uniform. */
    private static TransformerStackBlock filled(
            NDManager manager, TransformerStackBlock.Builder builder, Shape... shapes) {
        return filled(manager, builder.build(), shapes);
    }

    private static TransformerStackBlock filled(NDManager manager, TransformerStackBlock stack, Shape... shapes) {
        stack.initialize(manager, DataType.FLOAT64, shapes);
        long seed = 1;
        for (Parameter parameter : stack.getParameters().values()) {
            NDArray array = parameter.getArray();
            NDArray values =
                    numbers(manager, seed++, DataType.FLOAT64, array.getShape().getShape());
            values.muli(0.5).copyTo(array);
        }
        return stack;
    }

    private static TransformerStackBlock filled(
            NDManager manager, TransformerStackBlock.Builder builder, long... shape) {
        return filled(manager, builder, new Shape(shape));
    }

    private static NDArray x(NDManager manager) {
        return numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
    }

    private static NDArray memory(NDManager manager) {
        return numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
    }

    private static NDArray isToken(NDManager manager) {
        return manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
    }

    private static NDArray isMemory(NDManager manager) {
        return manager.create(new int[][] {{1, 1, 1, 1}, {1, 1, 0, 0}});
    }

    private static NDArray none(NDManager manager) {
        return manager.create(new Shape(2, 0));
    }

    /** The layers one after the other, each with all inputs but the first, and the final norm. */
    private static NDArray chained(
            NDManager manager, TransformerStackBlock stack, PairList<String, Object> params, NDArray... inputs) {
        NDArray[] given = inputs.clone();
        for (Block layer : stack.getLayers()) {
            given[0] = Forward.infer(manager, layer, params, given);
        }
        return stack.getFinalNorm() == null ? given[0] : Forward.infer(manager, stack.getFinalNorm(), given[0]);
    }

    @EngineTest
    void masksReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = filled(manager, encoder(), 2, 5, SIZE);
        NDArray x = x(manager);
        NDArray mask = isToken(manager);
        NDArray y = Forward.infer(manager, stack, x, mask);
        requireSame(y, chained(manager, stack, null, x, mask));
        // hidden tokens change nothing that is visible
        NDArray other = x.duplicate();
        other.set(new NDIndex("1, 3:"), numbers(manager, 3, DataType.FLOAT64, 2, SIZE));
        NDArray ofOther = Forward.infer(manager, stack, other, mask);
        requireClose(ofOther.get("1, :3"), y.get("1, :3").toDoubleArray(), TOLERANCE);
        assertThat(stack.getOutputShapes(new Shape[] {x.getShape(), mask.getShape()}))
                .containsExactly(y.getShape());
    }

    /** The limit of DJL's container that docs/using.md describes. */
    @EngineTest
    void inASequentialBlockAMaskReachesOnlyTheFirstLayer(NDManager manager) throws Exception {
        TransformerStackBlock stack = filled(manager, encoder(), 2, 5, SIZE);
        SequentialBlock container = new SequentialBlock();
        stack.getLayers().forEach(container::add);
        NDArray first = Forward.infer(manager, stack.getLayers().get(0), x(manager), isToken(manager));
        NDArray contained = Forward.infer(manager, container, x(manager), isToken(manager));
        for (Block layer : stack.getLayers().subList(1, LAYERS)) {
            first = Forward.infer(manager, layer, first);
        }
        requireSame(contained, first);
        NDArray y = Forward.infer(manager, stack, x(manager), isToken(manager));
        assertThat(contained.sub(y).abs().max().toDoubleArray()[0]).isGreaterThan(0.01);
        // and a file of more layers loads
        container.initialize(manager, DataType.FLOAT64, new Shape(2, 5, SIZE));
        SequentialBlock shorter = new SequentialBlock();
        shorter.add(encoderLayer().build());
        BlockBytes.load(manager, shorter, BlockBytes.saved(container));
        assertThat(shorter.isInitialized()).isTrue();
    }

    @EngineTest
    void anEncodersOutputAndBothMasksReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = filled(manager, decoder(), new Shape(2, 5, SIZE), new Shape(2, 4, SIZE));
        assertThat(stack.getFinalNorm()).isNotNull();
        for (NDArray[] inputs : List.of(
                new NDArray[] {x(manager), memory(manager)},
                new NDArray[] {x(manager), memory(manager), none(manager), isMemory(manager)},
                new NDArray[] {x(manager), memory(manager), isToken(manager), none(manager)},
                new NDArray[] {x(manager), memory(manager), isToken(manager), isMemory(manager)})) {
            requireSame(Forward.infer(manager, stack, inputs), chained(manager, stack, null, inputs));
        }
    }

    @EngineTest
    void forwardParametersReachEveryLayer(NDManager manager) {
        TransformerStackBlock stack = filled(manager, rotaryDecoder(), 2, 5, SIZE);
        NDArray positions = manager.create(new int[][] {{0, 1, 5, 6, 40}, {3, 4, 5, 6, 7}});
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        NDArray y = Forward.infer(manager, stack, params, x(manager));
        requireSame(y, chained(manager, stack, params, x(manager)));
        assertThat(y).isNotEqualTo(Forward.infer(manager, stack, x(manager)));
    }

    @EngineTest
    void paddingIsHiddenInEveryLayer(NDManager manager) {
        TransformerStackBlock stack = filled(manager, encoder().optInput(input().build()), 2, 5);
        for (DataType type : List.of(DataType.INT64, DataType.INT32, DataType.UINT8)) {
            NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}})
                    .toType(type, true);
            NDArray x = Forward.infer(manager, stack.getInput(), ids);
            requireSame(Forward.infer(manager, stack, ids), chained(manager, stack, null, x, isToken(manager)));
            // the second sentence alone
            NDArray alone = Forward.infer(manager, stack, ids.get("1:, :3"));
            requireClose(Forward.infer(manager, stack, ids).get("1:, :3"), alone.toDoubleArray(), TOLERANCE);
            NDArray given = manager.create(new int[][] {{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}});
            requireSame(Forward.infer(manager, stack, ids, given), chained(manager, stack, null, x, given));
        }
    }

    @EngineTest
    void paddingIsHiddenInEveryLayerOfADecoder(NDManager manager) {
        TransformerStackBlock stack =
                filled(manager, decoder().optInput(input().build()), new Shape(2, 5), new Shape(2, 4, SIZE));
        NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
        NDArray x = Forward.infer(manager, stack.getInput(), ids);
        NDArray memory = memory(manager);
        requireSame(
                Forward.infer(manager, stack, ids, memory),
                chained(manager, stack, null, x, memory, isToken(manager), none(manager)));
        NDArray expected = chained(manager, stack, null, x, memory, isToken(manager), isMemory(manager));
        requireSame(Forward.infer(manager, stack, ids, memory, none(manager), isMemory(manager)), expected);
        requireSame(Forward.infer(manager, stack, ids, memory, isToken(manager), isMemory(manager)), expected);
    }

    /** Continues with steps of the given lengths, and compares them with a forward of the whole sequence. */
    private static void requireSteps(
            NDManager manager,
            TransformerStackBlock stack,
            KeyValueCache cache,
            NDArray ids,
            Function<NDArray, NDArray[]> inputs,
            int... lengths) {
        NDArray whole = Forward.infer(manager, stack, inputs.apply(ids));
        int from = cache.getLength();
        for (int length : lengths) {
            NDArray step = ids.get(":, {}:{}", from, from + length);
            NDArray y = Forward.infer(manager, stack, cache.nextStep(), inputs.apply(step));
            requireClose(y, whole.get(":, {}:{}", from, from + length).toDoubleArray(), TOLERANCE);
            from += length;
            assertThat(cache.getLength()).isEqualTo(from);
        }
    }

    /** Padding before, between and behind the tokens; the second row is finished for a step. */
    @EngineTest
    void paddingOfEarlierStepsStaysHidden(NDManager manager) {
        TransformerStackBlock stack = filled(manager, rotaryDecoder().optInput(inputWithoutPositions()), 2, 6);
        NDArray ids = manager.create(new int[][] {{0, 0, 3, 1, 4, 1}, {9, 2, 6, 5, 0, 3}});
        Function<NDArray, NDArray[]> alone = step -> new NDArray[] {step};
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            requireSteps(manager, stack, cache, ids, alone, 3, 1, 1, 1);
            cache.rewind(4);
            NDArray others = ids.duplicate();
            others.set(new NDIndex(":, 4"), manager.create(new int[] {0, 7}));
            try (KeyValueCache copy = cache.fork()) {
                requireSteps(manager, stack, cache, others, alone, 1, 1);
                requireSteps(manager, stack, copy, ids, alone, 2);
                NDArray rows = manager.create(new int[] {1, 0, 1});
                copy.rewind(5);
                copy.select(rows);
                requireSteps(manager, stack, copy, ids.get(rows), alone, 1);
            }
            cache.rewind(0);
            requireSteps(manager, stack, cache, ids.get("1:"), alone, 4, 1, 1);
            // the first sentence without its padding has the same results: rotary positions are relative
            cache.clear();
            NDArray padded = Forward.infer(manager, stack, cache.nextStep(), ids.get(":, :5"));
            NDArray unpadded = Forward.infer(manager, stack, ids.get(":1, 2:"));
            requireClose(padded.get(":1, 2:"), unpadded.get(":, :3").toDoubleArray(), TOLERANCE);
            NDArray next = Forward.infer(manager, stack, cache.nextStep(), ids.get(":, 5:"));
            requireClose(next.get(":1"), unpadded.get(":, 3:").toDoubleArray(), TOLERANCE);
        }
    }

    @EngineTest
    void masksOfStepsAndOfPaddingFollowEachOther(NDManager manager) {
        TransformerStackBlock stack = filled(manager, rotaryDecoder().optInput(inputWithoutPositions()), 1, 6);
        NDArray ids = manager.create(new int[][] {{0, 0, 3, 1, 4, 1}});
        NDArray whole = Forward.infer(manager, stack, ids);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            Forward.infer(manager, stack, cache.nextStep(), ids.get(":, :3"));
            NDArray mask = manager.create(new int[][] {{0, 0, 1, 1}});
            Forward.infer(manager, stack, cache.nextStep(), ids.get(":, 3:4"), mask);
            NDArray next = Forward.infer(manager, stack, cache.nextStep(), ids.get(":, 4:5"));
            requireClose(next, whole.get(":, 4:5").toDoubleArray(), TOLERANCE);
            NDArray two = ids.get(":, 3:4").repeat(0, 2);
            refused(() -> Forward.infer(manager, stack, cache.nextStep(), two), "batch size 2");
        }
    }

    /** T5 has one bias for all layers. */
    @EngineTest
    void aSharedEncodingIsSavedAndLoadedOnce(NDManager manager) throws Exception {
        RelativePositionBiasBlock shared = bias();
        TransformerStackBlock stack = filled(manager, sharing(shared).optInput(inputWithoutPositions()), 2, 5);
        assertThat(stack.getLayers()).allMatch(layer -> layer.getAttention().getRelativeEncoding() == shared);
        stack.freezeParameters(true);
        byte[] file = BlockBytes.saved(stack);
        TransformerStackBlock loaded =
                sharing(bias()).optInput(inputWithoutPositions()).build();
        BlockBytes.load(manager, loaded, file);
        NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
        requireSame(Forward.infer(manager, loaded, ids), Forward.infer(manager, stack, ids));
        assertThat(BlockBytes.saved(loaded)).isEqualTo(file);
    }

    @Test
    void argumentsCannotShareAnEncoding() {
        RelativeEncoding shared = bias();
        TransformerLayerBlock.Builder inOneLayer = layer(true, shared).optCrossAttention(attention(false, shared));
        for (HasArguments block : List.of(
                sharing(shared).build(),
                TransformerStackBlock.builder()
                        .setLayers(Stream.of(bias(), shared, bias(), shared)
                                .map(encoding -> layer(false, encoding).build())
                                .toList())
                        .build(),
                inOneLayer.build())) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(block::getArguments)
                    .withMessageContainingAll(shared.toString(), "BlockFactory");
        }
        TransformerStackBlock apart = TransformerStackBlock.builder()
                .setLayers(LAYERS, () -> layer(false, bias()))
                .build();
        assertThat(TransformerStackBlock.fromArguments(apart.getArguments()).getLayers().stream()
                        .map(layer -> layer.getAttention().getRelativeEncoding()))
                .doesNotHaveDuplicates();
    }

    /** The layers learn to sum up the tokens that are not padding, and the shared encoding is trained once. */
    @EngineTest
    void isTrained(NDManager given) throws Exception {
        Device device = given.getDevice();
        given.getEngine().setRandomSeed(1);
        TransformerStackBlock stack =
                sharing(bias()).optInput(inputWithoutPositions()).build();
        try (Model model = Model.newInstance("stack", device, given.getEngine().getEngineName())) {
            model.setBlock(stack);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .optDevices(new Device[] {device})
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(Tracker.fixed(0.01f))
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(2, 5));
                NDManager manager = trainer.getManager();
                NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
                NDArray target = numbers(manager, 1, DataType.FLOAT32, 2, 5, SIZE);
                Map<Parameter, float[]> before = new HashMap<>();
                stack.getParameters()
                        .values()
                        .forEach(parameter ->
                                before.put(parameter, parameter.getArray().toFloatArray()));
                float first = 0;
                float last = 0;
                for (int step = 0; step < 30; step++) {
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        NDArray loss = trainer.getLoss().evaluate(new NDList(target), trainer.forward(new NDList(ids)));
                        collector.backward(loss);
                        last = loss.getFloat();
                        first = step == 0 ? last : first;
                    }
                    trainer.step();
                }
                assertThat(last).isLessThan(0.5f * first);
                before.forEach(
                        (parameter, values) -> assertThat(parameter.getArray().toFloatArray())
                                .as(parameter.getName())
                                .isNotEqualTo(values));
            }
        }
    }

    @Test
    void isDescribedByItsLayersOnce() {
        assertThat(encoder().build().toString())
                .contains("3 × TransformerLayerBlock")
                .hasSizeLessThan(800);
    }

    @Test
    void acceptsExplicitPositionsBesideARelativeEncoding() {
        PositionalEncodingBlock sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        TransformerStackBlock stack = rotaryDecoder()
                .optInput(input().optPositionalEncoding(sinusoids).build())
                .build();
        assertThat(TransformerStackBlock.fromArguments(stack.getArguments()).getArguments())
                .isEqualTo(stack.getArguments());
    }

    @Test
    void acceptsDefaultPositionsBesideARelativeEncodingOfTheCrossAttention() {
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .optInput(input().build())
                .setLayers(2, () -> layer(true, null).optCrossAttention(attention(false, bias())))
                .build();
        assertThat(stack.getInput().hasDefaultPositions()).isTrue();
    }
}
