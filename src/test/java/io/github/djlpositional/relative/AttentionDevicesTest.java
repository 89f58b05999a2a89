package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.DevicesTest;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.options.Settings;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Attentions on a simulated GPU. */
@EnabledIf(
        value = "hasPyTorch",
        disabledReason = "the simulated GPUs compute with PyTorch, which is not on the class path")
class AttentionDevicesTest {

    static boolean hasPyTorch() {
        return DevicesTest.hasPyTorch();
    }

    private static final int HEADS = 2;
    private static final int BATCH = 2;

    private static final List<EncodingType> ENCODINGS = List.of(EncodingType.values());

    private final SimulatedGpuEngine engine = new SimulatedGpuEngine();

    private enum View {
        ALL,
        WINDOW,
        CHUNKS;

        MultiHeadAttentionBlock.Builder of(MultiHeadAttentionBlock.Builder builder) {
            return switch (this) {
                case ALL -> builder;
                case WINDOW -> builder.optWindow(3);
                case CHUNKS -> builder.optChunkSize(2);
            };
        }
    }

    private enum Scores {
        PLAIN,
        CAPPED,
        WITH_SINKS,
        WITH_DROPOUT;

        MultiHeadAttentionBlock.Builder of(MultiHeadAttentionBlock.Builder builder) {
            return switch (this) {
                case PLAIN -> builder;
                case CAPPED -> builder.optScoreCap(3);
                case WITH_SINKS -> builder.optSinks(true);
                case WITH_DROPOUT -> builder.optDropoutRate(0.5f);
            };
        }
    }

    private enum Mask {
        NONE,
        TOKENS,
        NUMBERS_OF_TOKENS,
        OF_QUERIES,
        NUMBERS_OF_QUERIES,
        OF_SCORES,
        ADDED,
        ADDED_TO_KEYS;

        /** Hides the first key from all queries. */
        NDArray array(NDManager manager, int queries, int keys, DataType type) {
            Shape shape = switch (this) {
                case NONE -> new Shape();
                case TOKENS, NUMBERS_OF_TOKENS -> new Shape(BATCH, keys);
                case OF_QUERIES, NUMBERS_OF_QUERIES -> new Shape(BATCH, queries, keys);
                case OF_SCORES, ADDED -> new Shape(BATCH, HEADS, queries, keys);
                case ADDED_TO_KEYS -> new Shape(1, 1, 1, keys);
            };
            NDArray tokens = manager.arange(0, keys, 1, DataType.INT32).neq(0).broadcast(shape);
            return switch (this) {
                case TOKENS, OF_QUERIES, OF_SCORES -> tokens;
                case ADDED, ADDED_TO_KEYS ->
                    tokens.toType(DataType.FLOAT32, true).log().toType(type, false);
                default -> tokens.toType(DataType.INT64, true);
            };
        }
    }

    /** What an attention is given. */
    private enum Inputs {
        SELF,
        CROSS,
        STEP,
        STEP_OF_ONE_TOKEN,
        LAYER
    }

    /** One combination of options. */
    private record Case(
            EncodingType encoding,
            View view,
            Scores scores,
            Mask mask,
            Inputs inputs,
            DataType type,
            boolean causal,
            boolean grouped,
            boolean fused,
            boolean training,
            boolean positions) {

        static Case of(SplittableRandom random) {
            EncodingType encoding = RandomCases.one(random, ENCODINGS);
            Inputs inputs = RandomCases.one(random, List.of(Inputs.values()));
            return new Case(
                    encoding,
                    RandomCases.one(random, List.of(View.values())),
                    RandomCases.one(random, List.of(Scores.values())),
                    RandomCases.one(random, List.of(Mask.values())),
                    inputs,
                    RandomCases.one(random, List.of(DataType.FLOAT16, DataType.FLOAT32)),
                    // without causality, several tokens need a mask of their own
                    random.nextBoolean() || inputs == Inputs.STEP || inputs == Inputs.STEP_OF_ONE_TOKEN,
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean() && inputs != Inputs.STEP && inputs != Inputs.STEP_OF_ONE_TOKEN,
                    // the sinusoids of distances between positions are computed in Java
                    random.nextBoolean() && !(encoding.encoding(HEADS) instanceof TransformerXlPositionBlock));
        }

        Block block() {
            MultiHeadAttentionBlock.Builder builder = encoding.attention(HEADS)
                    .optCausal(causal)
                    .optKeyValueHeadCount(grouped ? 1 : HEADS)
                    .optFusedKernel(fused);
            MultiHeadAttentionBlock attention = scores.of(view.of(builder)).build();
            return inputs == Inputs.LAYER
                    ? TransformerLayerBlock.builder()
                            .setAttention(attention)
                            .setHiddenSize(12)
                            .build()
                    : attention;
        }

        /** Two forwards of tokens, of which the first creates tables. */
        NDArray forward(NDManager manager, Runnable beforeLast) {
            Block block = filled(manager, block(), type);
            if (inputs != Inputs.STEP && inputs != Inputs.STEP_OF_ONE_TOKEN) {
                NDList given = inputs(manager, 5, inputs == Inputs.CROSS ? 6 : 5);
                forward(manager, block, given, params(manager, new PairList<>(), 0, 5));
                PairList<String, Object> params = params(manager, new PairList<>(), 0, 5);
                beforeLast.run();
                return forward(manager, block, given, params);
            }
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                forward(manager, block, inputs(manager, 4, 4), params(manager, cache.nextStep(), 0, 4));
                forward(manager, block, inputs(manager, 2, 6), params(manager, cache.nextStep(), 4, 6));
                int end = inputs == Inputs.STEP ? 8 : 7;
                NDList given = inputs(manager, end - 6, end);
                PairList<String, Object> params = params(manager, cache.nextStep(), 6, end);
                beforeLast.run();
                return forward(manager, block, given, params);
            }
        }

        private NDArray forward(NDManager manager, Block block, NDList given, PairList<String, Object> params) {
            return block.forward(new ParameterStore(manager, false), given, training, params)
                    .singletonOrThrow();
        }

        private NDList inputs(NDManager manager, int queries, int keys) {
            NDList given = new NDList(numbers(manager, 3, type, BATCH, queries, SIZE));
            if (inputs == Inputs.CROSS) {
                NDArray others = numbers(manager, 4, type, BATCH, keys, SIZE);
                given = new NDList(others, given.head(), others);
            }
            if (mask != Mask.NONE) {
                given.add(mask.array(manager, queries, keys, type));
            }
            return given;
        }

        private PairList<String, Object> params(
                NDManager manager, PairList<String, Object> params, int first, int end) {
            if (positions) {
                int[] numbers = IntStream.range(first, end).toArray();
                params.add(PositionalEncodingBlock.POSITIONS, manager.create(numbers));
            }
            return params;
        }
    }

    @Test
    void noForwardWaitsForAGpu() {
        RandomCases.check(EngineTestExtension.IS_NIGHTLY ? 400 : 200, random -> {
            Case options = Case.of(random);
            try (NDManager gpu = engine.newBaseManager(Device.gpu(0));
                    NDManager cpu = engine.newBaseManager(Device.cpu())) {
                NDArray y = options.forward(gpu, engine::takeWaits);
                assertThat(engine.takeWaits()).as("waits of %s", options).isZero();
                assertThat(y.getDevice()).isEqualTo(Device.gpu(0));
                if (!(options.training && options.scores == Scores.WITH_DROPOUT)) {
                    // with biases in FLOAT16, a GPU has the fused kernel, which rounds scores below 4 and their weights
                    double tolerance = options.type == DataType.FLOAT16 ? 1e-2 : 1e-5;
                    assertThat(doubles(y))
                            .as("%s", options)
                            .containsExactly(doubles(options.forward(cpu, () -> {})), within(tolerance));
                }
            }
        });
    }

    /** Each call takes 3 to 5 µs on a CPU and 10 to 20 µs on a GPU, more than what a step of one token computes. */
    @ParameterizedTest
    @EnumSource(names = {"NONE", "ROTARY", "ALIBI", "T5", "KERPLE", "SANDWICH"})
    void aStepTakesOneCall(EncodingType encoding) {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0));
                KeyValueCache cache = new KeyValueCache(manager)) {
            MultiHeadAttentionBlock block =
                    filled(manager, encoding.attention(HEADS).optCausal(true).build(), DataType.FLOAT32);
            block.freezeParameters(true); // as if it was loaded
            NDArray prompt = numbers(manager, 3, DataType.FLOAT32, BATCH, 4, SIZE);
            NDArray token = numbers(manager, 4, DataType.FLOAT32, BATCH, 1, SIZE);
            ParameterStore store = new ParameterStore(manager, false);
            block.forward(store, new NDList(prompt), false, cache.nextStep());
            block.forward(store, new NDList(token), false, cache.nextStep());
            // later steps find the arrays of a row of tables and of its index
            cache.rewind(4);
            engine.takeCalls();
            block.forward(store, new NDList(token), false, cache.nextStep());
            assertThat(engine.takeCalls()).isEqualTo(1);
        }
    }

    @Test
    void aMaskOfPackedSequencesIsCreatedWithoutWaiting() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            NDArray positions = manager.create(new int[][] {{0, 1, 0, 1, 2}});
            engine.takeWaits();
            NDArray mask = MultiHeadAttentionBlock.packedMask(positions);
            assertThat(engine.takeWaits()).isZero();
            assertThat(mask.getDevice()).isEqualTo(Device.gpu(0));
        }
    }

    @Test
    void aStackMasksPaddingWithoutWaiting() {
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(10)
                        .setEmbeddingSize(8)
                        .optPaddingIndex(0)
                        .optNoPositions()
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(2)
                                        .optCausal(true)
                                        .build())
                                .setHiddenSize(8))
                .build();
        try (NDManager manager = engine.newBaseManager(Device.gpu(0));
                KeyValueCache cache = new KeyValueCache(manager)) {
            stack.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
            ParameterStore store = new ParameterStore(manager, false);
            NDArray ids = manager.create(new int[][] {{0, 3, 1, 4}, {1, 5, 9, 2}});
            NDArray whole = stack.forward(store, new NDList(ids), false).singletonOrThrow();
            engine.takeWaits();
            NDArray prompt = ids.get(":, :3");
            NDArray next = ids.get(":, 3:");
            stack.forward(store, new NDList(prompt), false, cache.nextStep());
            NDArray y = stack.forward(store, new NDList(next), false, cache.nextStep())
                    .singletonOrThrow();
            assertThat(engine.takeWaits()).isZero();
            assertThat(doubles(y)).containsExactly(doubles(whole.get(":, 3:")), within(1e-5));
        }
    }

    /** Biases, which are computed for all parts once, that record how many queries the first part has. */
    private static final class RecordedBias extends DistanceBiasBlock {

        private static final int HEADS = 16;

        private final List<Integer> queryCounts = new ArrayList<>();

        record Settings() {}

        RecordedBias() {
            super(new Settings(), HEADS);
        }

        @Override
        NDArray biases(AttentionCall call, Distances distances) {
            queryCounts.add(call.queries().count());
            return distances.toArray().abs().neg().broadcast(new Shape(HEADS, distances.size()));
        }
    }

    /** PyTorch copies a mask of overlapping rows: 2^26 numbers of 16 heads and 2304 keys are those of 1820 queries. */
    @Test
    void aLongSequenceWithBiasesTakesBoundedMemoryOnAGpu() {
        int length = 2304;
        List<List<Integer>> queryCounts = new ArrayList<>();
        List<double[]> results = new ArrayList<>();
        for (Device device : List.of(Device.cpu(), Device.gpu(0))) {
            RecordedBias bias = new RecordedBias();
            MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(RecordedBias.HEADS)
                    .setHeadCount(RecordedBias.HEADS)
                    .optRelativeEncoding(bias)
                    .optCausal(true)
                    .build();
            try (NDManager manager = engine.newBaseManager(device)) {
                block.setInitializer(DevicesTest.weights(), parameter -> true);
                block.initialize(manager, DataType.FLOAT32, new Shape(1, length, RecordedBias.HEADS));
                block.freezeParameters(true);
                NDArray x = numbers(manager, 3, DataType.FLOAT32, 1, length, RecordedBias.HEADS);
                results.add(doubles(Forward.infer(manager, block, x)));
                queryCounts.add(bias.queryCounts);
            }
        }
        assertThat(queryCounts).containsExactly(List.of(length), List.of(1820));
        double greatest = IntStream.range(0, results.get(0).length)
                .mapToDouble(i -> Math.abs(results.get(0)[i] - results.get(1)[i]))
                .max()
                .orElseThrow();
        assertThat(greatest).isLessThan(1e-5);
    }
}
