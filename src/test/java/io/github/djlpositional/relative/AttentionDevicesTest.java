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
import io.github.djlpositional.Documents;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.conformance.DevicesTest;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Nightly;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.FeedForwardBlockTest;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Attentions on a simulated GPU. */
@EnabledIf(
        value = "io.github.djlpositional.simulated.SimulatedGpuEngine#isAvailable",
        disabledReason = "the simulated GPUs compute with PyTorch, which is not available")
class AttentionDevicesTest {

    private static final int HEADS = 2;
    private static final int BATCH = 2;

    private final SimulatedGpuEngine engine = new SimulatedGpuEngine();

    /** Options of an attention beside its encoding. */
    @SuppressWarnings("ImmutableEnumChecker") // the functions have no state
    private enum Option {
        WINDOW(builder -> builder.optWindow(3)),
        CHUNKS(builder -> builder.optChunkSize(2)),
        SCORE_CAP(builder -> builder.optScoreCap(3)),
        SINKS(builder -> builder.optSinks(true)),
        DROPOUT(builder -> builder.optDropoutRate(0.5f)),
        COSINE(builder -> builder.optCosine(true)),
        CAUSAL(builder -> builder.optCausal(true)),
        ONE_KEY_HEAD(builder -> builder.optKeyValueHeadCount(1)),
        WITHOUT_KERNEL(builder -> builder.optFusedKernel(false));

        private final Consumer<MultiHeadAttentionBlock.Builder> setter;

        Option(Consumer<MultiHeadAttentionBlock.Builder> setter) {
            this.setter = setter;
        }

        /** None, or one of several. */
        static Stream<Option> optional(SplittableRandom random, Option... several) {
            int index = random.nextInt(several.length + 1);
            return index == 0 ? Stream.of() : Stream.of(several[index - 1]);
        }
    }

    /**
     * One combination of options.
     *
     * @param mask 0 for none, 1 for (1, 1, 1, F), otherwise the rank of the mask
     * @param isConverted whether the mask is whole numbers or is added to scores, rather than a condition
     * @param ends the tokens that the steps of a decoder end with; empty without a cache
     * @param isCross whether the keys are of another sequence
     */
    private record Case(
            EncodingType encoding,
            Set<Option> options,
            int mask,
            boolean isConverted,
            List<Integer> ends,
            boolean isCross,
            boolean isLayer,
            DataType type,
            boolean training,
            boolean positions) {

        static Case of(SplittableRandom random) {
            EncodingType encoding = RandomCases.one(random, List.of(EncodingType.values()));
            List<Integer> ends = RandomCases.one(random, List.of(List.of(), List.of(4, 6, 8), List.of(4, 6, 7)));
            boolean isWhole = ends.isEmpty();
            int inputs = random.nextInt(3);
            // without causality, several tokens of a step need a mask of their own
            Stream<Option> causal = isWhole ? Option.optional(random, Option.CAUSAL) : Stream.of(Option.CAUSAL);
            Set<Option> options = Stream.of(
                            causal,
                            Option.optional(random, Option.WINDOW, Option.CHUNKS),
                            Option.optional(random, Option.SCORE_CAP, Option.SINKS, Option.DROPOUT, Option.COSINE),
                            Option.optional(random, Option.ONE_KEY_HEAD),
                            Option.optional(random, Option.WITHOUT_KERNEL))
                    .flatMap(each -> each)
                    .collect(Collectors.toCollection(() -> EnumSet.noneOf(Option.class)));
            if (encoding.encoding(HEADS) instanceof LearnedRotaryEmbeddingBlock) {
                // two heads of keys have learned frequencies of their own
                options.remove(Option.ONE_KEY_HEAD);
            }
            return new Case(
                    encoding,
                    options,
                    random.nextInt(5),
                    random.nextBoolean(),
                    ends,
                    isWhole && inputs == 0,
                    isWhole && inputs == 1,
                    RandomCases.one(random, List.of(DataType.FLOAT16, DataType.FLOAT32)),
                    isWhole && random.nextBoolean(),
                    // the sinusoids of distances between positions are computed in Java
                    random.nextBoolean() && !(encoding.encoding(HEADS) instanceof TransformerXlPositionBlock));
        }

        Block block() {
            MultiHeadAttentionBlock.Builder builder = encoding.attention(HEADS);
            options.forEach(option -> option.setter.accept(builder));
            MultiHeadAttentionBlock attention = builder.build();
            return isLayer
                    ? TransformerLayerBlock.builder()
                            .setAttention(attention)
                            .optFeedForward(FeedForwardBlock.builder()
                                    .setEmbeddingSize(SIZE)
                                    .setHiddenSize(12)
                                    .build())
                            .optNormPlacement(RandomCases.one(
                                    new SplittableRandom(options.hashCode()),
                                    List.of(TransformerLayerBlock.NormPlacement.values())))
                            .optDropPathRate(options.contains(Option.DROPOUT) ? 0.5f : 0)
                            .optResidualScale(0.5f)
                            .build()
                    : attention;
        }

        /** Several forwards, of which the first creates tables. */
        NDArray forward(NDManager manager, Runnable beforeLast) {
            Block block = filled(manager, block(), type);
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                int first = 0;
                NDArray y = null;
                for (int end : ends.isEmpty() ? List.of(5, 5) : ends) {
                    NDList inputs = inputs(manager, end - first, isCross ? end + 1 : end);
                    PairList<String, Object> params = ends.isEmpty() ? new PairList<>() : cache.nextStep();
                    if (positions) {
                        int[] numbers = IntStream.range(first, end).toArray();
                        params.add(PositionalEncodingBlock.POSITIONS, manager.create(numbers));
                        if (isCross) {
                            int[] ofKeys = IntStream.rangeClosed(0, end)
                                    .map(i -> end - i)
                                    .toArray();
                            params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, manager.create(ofKeys));
                        }
                    }
                    beforeLast.run();
                    y = block.forward(new ParameterStore(manager, false), inputs, training, params)
                            .singletonOrThrow();
                    first = ends.isEmpty() ? 0 : end;
                }
                return y;
            }
        }

        private NDList inputs(NDManager manager, int queries, int keys) {
            NDList inputs = new NDList(numbers(manager, 3, type, BATCH, queries, SIZE));
            if (isCross) {
                NDArray others = numbers(manager, 4, type, BATCH, keys, SIZE);
                inputs = new NDList(others, inputs.head(), others);
            }
            if (mask > 0) {
                Shape[] shapes = {
                    new Shape(1, 1, 1, keys),
                    new Shape(BATCH, keys),
                    new Shape(BATCH, queries, keys),
                    new Shape(BATCH, HEADS, queries, keys)
                };
                Shape shape = shapes[mask - 1];
                // hides the first key from all queries
                NDArray tokens =
                        manager.arange(0, keys, 1, DataType.INT32).neq(0).broadcast(shape);
                NDArray converted = shape.dimension() < 4
                        ? tokens.toType(DataType.INT64, true)
                        : tokens.toType(DataType.FLOAT32, true).log().toType(type, false);
                inputs.add(isConverted ? converted : tokens);
            }
            return inputs;
        }
    }

    @Test
    void noForwardWaitsForAGpu() {
        RandomCases.check(Nightly.RUNS ? 400 : 80, random -> {
            Case options = Case.of(random);
            try (NDManager gpu = engine.newBaseManager(Device.gpu(0));
                    NDManager cpu = engine.newBaseManager(Device.cpu())) {
                NDArray y = options.forward(gpu, engine::takeWaits);
                assertThat(engine.takeWaits()).as("waits of %s", options).isZero();
                assertThat(y.getDevice()).isEqualTo(Device.gpu(0));
                if (!(options.training && options.options.contains(Option.DROPOUT))) {
                    // with biases in FLOAT16, a GPU has the fused kernel, which rounds scores below 4 and their weights
                    double tolerance = options.type == DataType.FLOAT16 ? 1e-2 : 1e-5;
                    assertThat(doubles(y))
                            .as("%s", options)
                            .containsExactly(doubles(options.forward(cpu, () -> {})), within(tolerance));
                }
            }
        });
    }

    /** To check them; rotary and Sandwich also compute their sinusoids in Java. */
    @ParameterizedTest
    @EnumSource(names = {"ALIBI", "T5", "KERPLE", "GAUSSIAN", "DISTANCE_NETWORK", "FIRE", "LEARNED_ROTARY"})
    void realPositionsAreReadOnceOnAGpu(EncodingType encoding) {
        try (NDManager gpu = engine.newBaseManager(Device.gpu(0))) {
            Block block = filled(gpu, encoding.attention(HEADS).build(), DataType.FLOAT32);
            NDArray x = numbers(gpu, 3, DataType.FLOAT32, BATCH, 4, SIZE);
            NDArray times = gpu.create(new float[] {0, 0.5f, 2.25f, 9});
            for (int i = 0; i < 2; i++) {
                engine.takeWaits();
                Forward.inferAt(gpu, times, block, x);
            }
            assertThat(engine.takeWaits()).isEqualTo(1);
        }
    }

    /** Each call of a function takes 12 µs on a CPU, as long as ten operations on one token. */
    @ParameterizedTest
    @EnumSource(names = {"NONE", "ROTARY", "ALIBI", "T5", "KERPLE", "SANDWICH"})
    void aStepIsOneCall(EncodingType encoding) {
        assertThat(callsOfAStep(encoding.attention(HEADS).optCausal(true).build()))
                .isEqualTo(1);
    }

    /** Four projections, four reshapes, and the kernel; two rotations; and a limit of queries, keys and values. */
    @Test
    void aStepOfOtherAttentionsTakesFewCalls() {
        MultiHeadAttentionBlock.Builder limited =
                EncodingType.ROTARY.attention(HEADS).optCausal(true).optProjectionLimit(2);
        assertThat(callsOfAStep(limited.build())).isEqualTo(11 + 3 * 4);
    }

    /** A norm, the attention, a sum, and the feed-forward part, or the norm after the sum. */
    @ParameterizedTest
    @CsvSource({"LAYER, BEFORE_PART", "LAYER, AFTER_SUM", "RMS, BEFORE_PART", "RMS, AFTER_SUM"})
    void aStepOfALayerTakesFourCalls(TransformerLayerBlock.Norm norm, TransformerLayerBlock.NormPlacement placement) {
        for (Nonlinearity nonlinearity : FeedForwardBlockTest.nonlinearities()) {
            TransformerLayerBlock layer = TransformerLayerBlock.builder()
                    .setAttention(
                            EncodingType.ROTARY.attention(HEADS).optCausal(true).build())
                    .optFeedForward(FeedForwardBlock.builder()
                            .setEmbeddingSize(SIZE)
                            .setHiddenSize(6)
                            .optNonlinearity(nonlinearity)
                            .build())
                    .optNorm(norm)
                    .optNormPlacement(placement)
                    .build();
            assertThat(callsOfAStep(layer)).as("%s", nonlinearity).isEqualTo(4);
        }
    }

    private int callsOfAStep(Block built) {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0));
                KeyValueCache cache = new KeyValueCache(manager)) {
            Block block = filled(manager, built, DataType.FLOAT32);
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
            return engine.takeCalls();
        }
    }

    /** Beside the kernel, its method reads the mask once, for the largest number of each row. */
    @Test
    void aMaskThatIsAddedIsReadByTheMethodOfTheKernelOnly() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            Block block = filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT32);
            NDArray x = numbers(manager, 3, DataType.FLOAT32, BATCH, 17, SIZE);
            NDArray mask = numbers(manager, 4, DataType.FLOAT32, BATCH, HEADS, 17, 17);
            engine.takeCalls();
            Forward.infer(manager, block, x);
            int without = engine.takeCalls();
            Forward.infer(manager, block, x, mask);
            assertThat(engine.takeCalls()).isLessThanOrEqualTo(without);
        }
    }

    @Test
    void aMaskOfPackedSequencesIsCreatedWithoutWaiting() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            NDArray positions = manager.create(new int[][] {{0, 1, 0, 1, 2}});
            engine.takeWaits();
            int before = manager.getManagedArrays().size();
            NDArray mask = MultiHeadAttentionBlock.packedMask(positions);
            assertThat(manager.getManagedArrays()).as("only the mask").hasSize(before + 1);
            assertThat(engine.takeWaits()).isZero();
            assertThat(mask.getDevice()).isEqualTo(Device.gpu(0));
        }
    }

    @Test
    void packedDocumentsAreComputedWithoutWaiting() {
        try (NDManager manager = engine.newBaseManager(Device.gpu(0))) {
            Block block = filled(manager, EncodingType.ALIBI.attention(HEADS).build(), DataType.FLOAT32);
            NDArray x = numbers(manager, 3, DataType.FLOAT32, 2, 6, SIZE);
            NDArray mask = manager.ones(new Shape(2, 6));
            PairList<String, Object> packed =
                    Forward.params(PositionalEncodingBlock.DOCUMENTS, Documents.ofLengths(2, 1, 3));
            Forward.infer(manager, block, packed, x, mask);
            engine.takeWaits();
            NDArray y = Forward.infer(manager, block, packed, x, mask);
            assertThat(engine.takeWaits()).isZero();
            assertThat(y.getDevice()).isEqualTo(Device.gpu(0));
        }
    }

    /** Biases, which are computed for all parts once, that record how many queries the first part has. */
    private static final class RecordedBias extends ScoreTermBlock {

        private static final int HEADS = 16;

        private final List<Integer> queryCounts = new ArrayList<>();

        record Settings() {}

        RecordedBias() {
            super(new Settings(), HEADS);
        }

        @Override
        public List<Term> terms() {
            return List.of(Term.bias(this::biases));
        }

        private NDArray biases(AttentionCall call, Distances distances) {
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
        assertThat(results.get(1)).containsExactly(results.get(0), within(1e-5));
    }
}
