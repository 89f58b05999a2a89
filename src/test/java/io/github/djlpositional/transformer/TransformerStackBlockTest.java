package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
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

    /** An array of the case file. */
    private static NDArray array(NDManager manager, String name) {
        return switch (name) {
            case "x" -> numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
            case "ids" -> manager.create(new int[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
            case "idsOfBytes" -> array(manager, "ids").toType(DataType.UINT8, true);
            case "memory" -> numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
            case "isToken" -> manager.create(new int[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
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
    void inASequentialBlockAMaskReachesOnlyTheFirstLayer(NDManager manager) {
        TransformerStackBlock stack = stack(manager, "encoder", new Shape(2, 5, SIZE));
        SequentialBlock container = new SequentialBlock();
        stack.getLayers().forEach(container::add);
        NDArray x = array(manager, "x");
        NDArray mask = array(manager, "isToken");
        NDArray chained = Forward.infer(manager, stack.getLayers().get(0), x, mask);
        for (Block layer : stack.getLayers().subList(1, 3)) {
            chained = Forward.infer(manager, layer, chained);
        }
        NDArray contained = Forward.infer(manager, container, x, mask);
        requireSame(contained, chained);
        assertThat(contained
                        .sub(Forward.infer(manager, stack, x, mask))
                        .abs()
                        .max()
                        .getDouble())
                .isGreaterThan(0.01);
    }

    @EngineTest
    void masksOfStepsAndOfPaddingFollowEachOther(NDManager manager) {
        TransformerStackBlock stack = stack(manager, "rotaryOfIds", new Shape(1, 6));
        NDArray ids = manager.create(new int[][] {{0, 0, 3, 1, 4, 1}});
        NDArray whole = Forward.infer(manager, stack, ids);
        // rotary positions are relative: the result is that of the sentence without its padding
        requireClose(whole.get(":, 2:"), doubles(Forward.infer(manager, stack, ids.get(":, 2:"))), TOLERANCE);
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
        requireSame(
                Forward.infer(manager, loaded, array(manager, "ids")),
                Forward.infer(manager, stack, array(manager, "ids")));
        assertThat(BlockBytes.saved(loaded)).isEqualTo(file);
    }

    /** A layer whose attentions share an encoding, or a container of the user with such layers. */
    private static Block sharing(RelativeEncoding encoding, boolean isLayer) {
        return isLayer
                ? layer(encoding).optCrossAttention(attention(encoding)).build()
                : new SequentialBlock()
                        .add(layer(encoding).build())
                        .add(layer(encoding).build());
    }

    @EngineTest
    void aSharedEncodingIsSavedAndLoadedWithEachAttention(NDManager manager, boolean isLayer) throws Exception {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 5, SIZE);
        NDArray[] inputs = isLayer ? new NDArray[] {x, x} : new NDArray[] {x};
        Block block = sharing(bias(), isLayer);
        block.initialize(manager, DataType.FLOAT32, new NDList(inputs).getShapes());
        block.freezeParameters(true);
        Block loaded = sharing(bias(), isLayer);
        BlockBytes.load(manager, loaded, BlockBytes.saved(block));
        requireSame(Forward.infer(manager, loaded, inputs), Forward.infer(manager, block, inputs));
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

    /** Each parameter moves by its gradient, that of the shared encoding once. */
    @EngineTest
    void isTrained(NDManager given) throws Exception {
        float rate = 0.5f;
        Device device = given.getDevice();
        RelativePositionBiasBlock shared = bias();
        TransformerStackBlock stack = sharing(shared);
        try (Model model = Model.newInstance("stack", device, given.getEngine().getEngineName())) {
            model.setBlock(stack);
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .optDevices(new Device[] {device})
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(rate))
                            .build());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(2, 5));
                NDManager manager = trainer.getManager();
                NDArray weights = numbers(manager, 1, DataType.FLOAT32, 2, 5, SIZE);
                Map<Parameter, NDArray> expected = new HashMap<>();
                try (GradientCollector collector = trainer.newGradientCollector()) {
                    NDArray y =
                            trainer.forward(new NDList(array(manager, "ids"))).head();
                    collector.backward(y.mul(weights).sum());
                    for (Parameter parameter : stack.getParameters().values()) {
                        NDArray gradient = parameter.getArray().getGradient();
                        expected.put(parameter, parameter.getArray().sub(gradient.mul(rate)));
                    }
                }
                assertThat(expected.get(shared.getBiases()))
                        .isNotEqualTo(shared.getBiases().getArray());
                trainer.step();
                // one rounding of the product and one of the difference from a number below 1
                expected.forEach((parameter, array) -> requireClose(
                        parameter.getArray(),
                        doubles(array),
                        0x1p-22 * (2 + array.abs().max().getFloat())));
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
