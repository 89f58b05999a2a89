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
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** D = 8, two heads, three layers; in FLOAT64. */
class TransformerStackBlockTest {

    private static final int SIZE = 8;
    private static final double TOLERANCE = 1e-12;

    private static final CaseFile CASES = CaseFile.read("cases/stacks.txt");

    static List<String> names() {
        return CASES.rows();
    }

    /** The stack of a definition of the case file, with weights that make attention far from uniform. */
    private static TransformerStackBlock stack(NDManager manager, String name, Shape... shapes) {
        return filled(manager, TransformerStackBlock.fromArguments(arguments(name)), shapes);
    }

    private static Map<?, ?> arguments(String name) {
        return JsonUtils.GSON.fromJson(CASES.expanded(name), Map.class);
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

    /** Three layers with this encoding, after token ids. */
    private static TransformerStackBlock sharing(RelativeEncoding encoding) {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(10)
                        .setEmbeddingSize(SIZE)
                        .optPaddingIndex(0)
                        .optNoPositions()
                        .build())
                .setLayers(3, () -> layer(encoding))
                .build();
    }

    private static TransformerLayerBlock.Builder layer(RelativeEncoding encoding) {
        return TransformerLayerBlock.builder().setAttention(attention(encoding)).setHiddenSize(16);
    }

    private static MultiHeadAttentionBlock attention(RelativeEncoding encoding) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(2)
                .optRelativeEncoding(encoding)
                .build();
    }

    private static RelativePositionBiasBlock bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(2).build();
    }

    private static NDArray x(NDManager manager) {
        return numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
    }

    private static NDArray ids(NDManager manager) {
        return manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
    }

    private static NDArray isToken(NDManager manager) {
        return manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
    }

    /** An array of the case file. */
    private static NDArray array(NDManager manager, String name) {
        return switch (name) {
            case "x" -> x(manager);
            case "ids" -> ids(manager);
            case "idsOfBytes" -> ids(manager).toType(DataType.UINT8, true);
            case "memory" -> numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
            case "isToken" -> isToken(manager);
            case "isMemory" -> manager.create(new int[][] {{1, 1, 1, 1}, {1, 1, 0, 0}});
            case "isFirst" -> manager.create(new int[][] {{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}});
            case "none" -> manager.create(new Shape(2, 0));
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** Inputs reach every layer, as if the layers were called one after the other with the arrays of a second list. */
    @EngineTest
    void isAChainOfItsLayers(NDManager manager, String row) {
        String[] columns = row.split(" +[|] ", -1);
        NDList inputs = arrays(manager, columns[1]);
        TransformerStackBlock stack = stack(manager, columns[0], inputs.getShapes());
        PairList<String, Object> params = new PairList<>();
        if (columns.length == 4) {
            NDArray positions = manager.create(new int[][] {{0, 1, 5, 6, 40}, {3, 4, 5, 6, 7}});
            params.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        NDArray y = Forward.infer(manager, stack, params, inputs.toArray(NDArray[]::new));
        NDList chained = arrays(manager, columns[2]);
        if (stack.getInput() != null) {
            chained.set(0, Forward.infer(manager, stack.getInput(), params, inputs.head()));
        }
        for (Block layer : stack.getLayers()) {
            chained.set(0, Forward.infer(manager, layer, params, chained.toArray(NDArray[]::new)));
        }
        Block norm = stack.getFinalNorm();
        requireSame(y, norm == null ? chained.head() : Forward.infer(manager, norm, chained.head()));
        assertThat(stack.getOutputShapes(inputs.getShapes())).containsExactly(y.getShape());
    }

    private static NDList arrays(NDManager manager, String names) {
        return Stream.of(names.split(" ", -1))
                .map(name -> array(manager, name))
                .collect(Collectors.toCollection(NDList::new));
    }

    /** The limit of DJL's container that docs/using.md describes. */
    @EngineTest
    void inASequentialBlockAMaskReachesOnlyTheFirstLayer(NDManager manager) throws Exception {
        TransformerStackBlock stack = stack(manager, "encoder", new Shape(2, 5, SIZE));
        SequentialBlock container = new SequentialBlock();
        stack.getLayers().forEach(container::add);
        NDArray first = Forward.infer(manager, stack.getLayers().get(0), x(manager), isToken(manager));
        NDArray contained = Forward.infer(manager, container, x(manager), isToken(manager));
        for (Block layer : stack.getLayers().subList(1, 3)) {
            first = Forward.infer(manager, layer, first);
        }
        requireSame(contained, first);
        NDArray y = Forward.infer(manager, stack, x(manager), isToken(manager));
        assertThat(contained.sub(y).abs().max().toDoubleArray()[0]).isGreaterThan(0.01);
        // and a file of more layers loads
        container.initialize(manager, DataType.FLOAT64, new Shape(2, 5, SIZE));
        SequentialBlock shorter = new SequentialBlock();
        shorter.add(TransformerLayerBlock.fromArguments(arguments("layer")));
        BlockBytes.load(manager, shorter, BlockBytes.saved(container));
        assertThat(shorter.isInitialized()).isTrue();
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
        TransformerStackBlock stack = stack(manager, "rotaryOfIds", new Shape(2, 6));
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
        TransformerStackBlock stack = stack(manager, "rotaryOfIds", new Shape(1, 6));
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
        TransformerStackBlock stack = filled(manager, sharing(shared), new Shape(2, 5));
        assertThat(stack.getLayers())
                .allMatch(layer -> layer.getAttention().getRelativeEncodings().get(0) == shared);
        stack.freezeParameters(true);
        byte[] file = BlockBytes.saved(stack);
        TransformerStackBlock loaded = sharing(bias());
        BlockBytes.load(manager, loaded, file);
        NDArray ids = manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
        requireSame(Forward.infer(manager, loaded, ids), Forward.infer(manager, stack, ids));
        assertThat(BlockBytes.saved(loaded)).isEqualTo(file);
    }

    @Test
    void argumentsCannotShareAnEncoding() {
        RelativeEncoding shared = bias();
        TransformerLayerBlock.Builder inOneLayer = layer(shared).optCrossAttention(attention(shared));
        for (HasArguments block : List.of(
                sharing(shared),
                TransformerStackBlock.builder()
                        .setLayers(Stream.of(bias(), shared, bias(), shared)
                                .map(encoding -> layer(encoding).build())
                                .toList())
                        .build(),
                inOneLayer.build())) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(block::getArguments)
                    .withMessageStartingWith("several attentions share ")
                    .withMessageContainingAll(": expected ", "BlockFactory")
                    .withMessageEndingWith(": " + shared);
        }
        TransformerStackBlock apart = TransformerStackBlock.builder()
                .setLayers(3, () -> layer(bias()))
                .build();
        assertThat(TransformerStackBlock.fromArguments(apart.getArguments()).getLayers().stream()
                        .map(layer ->
                                layer.getAttention().getRelativeEncodings().get(0)))
                .doesNotHaveDuplicates();
    }

    /** The layers learn to sum up the tokens that are not padding, and the shared encoding is trained once. */
    @EngineTest
    void isTrained(NDManager given) throws Exception {
        Device device = given.getDevice();
        given.getEngine().setRandomSeed(1);
        TransformerStackBlock stack = sharing(bias());
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
        assertThat(TransformerStackBlock.fromArguments(arguments("encoder")).toString())
                .contains("3 × TransformerLayerBlock")
                .hasSizeLessThan(800);
    }
}
