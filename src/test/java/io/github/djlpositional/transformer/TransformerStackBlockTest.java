package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
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
        return filled(manager, TransformerStackBlock.fromArguments(arguments(name)), DataType.FLOAT64, shapes);
    }

    private static Map<?, ?> arguments(String name) {
        return JsonUtils.GSON.fromJson(CASES.expanded(name), Map.class);
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

    /**
     * By all layers of a stack, as in T5, by the attentions of a layer, or by the layers in a container of the user.
     */
    @EngineTest
    void aSharedEncodingIsSavedAndLoaded(NDManager manager) throws Exception {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        requireSavedAndLoaded(manager, encoding -> sharing(encoding), array(manager, "ids"));
        requireSavedAndLoaded(manager, encoding -> sharingInALayer(encoding), x, x);
        requireSavedAndLoaded(
                manager,
                encoding -> new SequentialBlock()
                        .add(layer(encoding).build())
                        .add(layer(encoding).build()),
                x);
    }

    private static TransformerLayerBlock sharingInALayer(RelativeEncoding encoding) {
        return layer(encoding).optCrossAttention(attention(encoding)).build();
    }

    private static void requireSavedAndLoaded(
            NDManager manager, Function<RelativeEncoding, Block> sharing, NDArray... inputs) throws Exception {
        Block block = filled(manager, sharing.apply(bias()), DataType.FLOAT64, new NDList(inputs).getShapes());
        block.freezeParameters(true);
        byte[] file = BlockBytes.saved(block);
        Block loaded = sharing.apply(bias());
        BlockBytes.load(manager, loaded, file);
        requireSame(Forward.infer(manager, loaded, inputs), Forward.infer(manager, block, inputs));
        assertThat(BlockBytes.saved(loaded)).isEqualTo(file);
    }

    @EngineTest
    void aSharedEncodingMovesByItsGradientOnce(Engine engine, NDManager manager) {
        RelativePositionBiasBlock shared = bias();
        Device device = manager.getDevice();
        try (Model model = Model.newInstance("stack", device, engine.getEngineName())) {
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
                    NDArray ids = array(trainer.getManager(), "ids");
                    NDArray y = trainer.forward(new NDList(ids)).head();
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
    void argumentsCannotShareAnEncoding() {
        RelativeEncoding shared = bias();
        for (HasArguments block : List.of(
                sharing(shared),
                TransformerStackBlock.builder()
                        .setLayers(Stream.of(bias(), shared, bias(), shared)
                                .map(encoding -> layer(encoding).build())
                                .toList())
                        .build(),
                sharingInALayer(shared))) {
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

    @Test
    void isDescribedByItsLayersOnce() {
        assertThat(TransformerStackBlock.fromArguments(arguments("encoder")).toString())
                .contains("3 × TransformerLayerBlock")
                .hasSizeLessThan(800);
    }
}
