package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.KerpleBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Rejected arguments and inputs of the attention package. */
class AttentionBadInputTest {

    private static MultiHeadAttentionBlock initialized(NDManager manager, MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        return block;
    }

    private static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    {headCount: 3}                                                       | embeddingSize 8;headCount 3
                    {headCount: 0}                                                       | headCount 0
                    {scale: 0}                                                           | scale 0.0
                    {keyValueHeadCount: 0}                                               | keyValueHeadCount 0
                    {headCount: 4, keyValueHeadCount: 3}                                 | headCount 4;keyValueHeadCount 3
                    {keyValueHeadCount: 4}                                               | headCount 2;keyValueHeadCount 4
                    {headSize: 0}                                                        | headSize 0
                    {headSize: -1}                                                       | headSize -1
                    {headCount: 1000000000, headSize: 4}                                 | headCount 1000000000;headSize 4
                    {headCount: 0, headSize: 4}                                          | headCount 0
                    {embeddingSize: 0, headSize: 4}                                      | embeddingSize 0
                    {window: 0}                                                          | window 0
                    {window: 536870913}                                                  | window 536870913
                    {chunkSize: 0}                                                       | chunkSize 0
                    {window: 3, chunkSize: 4}                                            | window 3;chunkSize 4
                    {scoreCap: 0}                                                        | scoreCap 0.0
                    {scoreCap: -50}                                                      | scoreCap -50.0
                    {scoreCap: Infinity}                                                 | scoreCap;Infinity
                    {queryScale: {type: LogN, trainedLength: 1}}                         | trainedLength 1
                    {queryScale: {type: FloorLogarithm, coefficient: -1, length: 2}}     | coefficient -1.0
                    {queryScale: {type: FloorLogarithm, coefficient: 1, length: 0}}      | length 0.0
                    {queryScale: {type: Other}}                                          | Other
                    {queryNorm: {type: RmsNormBlock}}                                    | embeddingSize
                    {queryNorm: {type: LayerNorm}}                                       | LayerNorm
                    {keyNorm: {type: RmsNormBlock, embeddingSize: 4, epsilon: 0}}        | epsilon 0.0
                    {relativeEncoding: {type: AlibiBiasBlock, headCount: 4}}             | headCount=4;setHeadCount(2)
                    {relativeEncoding: {type: ShawRelativePositionBlock, headSize: 8}}   | headSize=8;setHeadSize(4)
                    {relativeEncoding: {type: TransformerXlPositionBlock, embeddingSize: 16, headCount: 2}} \
                        | embeddingSize=16;setEmbeddingSize(8);setHeadCount(2)
                    """)
    void refusesSettings(String settings, String values) {
        Map<Object, Object> arguments = new HashMap<>(Map.of("embeddingSize", 8, "headCount", 2));
        Map<?, ?> given = JsonUtils.GSON.fromJson(settings, Map.class);
        arguments.putAll(given);
        refused(() -> MultiHeadAttentionBlock.fromArguments(arguments), values.split(";", -1));
    }

    /** Refuses an attention of two heads of size 4 whose encoding has other arguments; null leaves an argument out. */
    private static void requireRefused(EncodingType type, Map<?, ?> replaced, String... values) {
        Map<Object, Object> arguments = new HashMap<>(((HasArguments) type.block()).getArguments());
        arguments.put("type", type.block().getClass().getSimpleName());
        arguments.putAll(replaced);
        arguments.values().removeIf(Objects::isNull);
        refused(
                () -> attention()
                        .optRelativeEncoding(RelativeEncoding.fromArguments(arguments))
                        .build(),
                values);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void refusesArgumentsOfEncodings(EncodingType type) {
        type.forEachRefused((options, values) -> requireRefused(type, options, values));
        for (String size : List.of("headCount", "headSize", "embeddingSize")) {
            if (((HasArguments) type.block()).getArguments().get(size) instanceof Integer number) {
                requireRefused(type, Map.of(size, 2 * number), size, "" + 2 * number);
                requireRefused(type, Map.of(size, 0), size, "0");
                requireRefused(type, Map.of(size, -1), size, "-1");
                requireRefused(type, Collections.singletonMap(size, null), "'" + size + "'", "missing");
            }
        }
    }

    @Test
    void refusesFrequenciesThatDoNotFit() {
        Supplier<RotaryEmbeddingBlock.Builder> builder =
                () -> RotaryEmbeddingBlock.builder().setHeadSize(8).optFrequencies(Frequencies.of(1, 0.5));
        RotaryScaling twoFactors = RotaryScaling.longRope(new double[] {1, 1}, new double[] {2, 2}, 100, 200, 200);
        refused(() -> builder.get().optBase(500).build(), "frequencies", "base 500.0");
        refused(() -> builder.get().optScaling(RotaryScaling.linear(2)).build(), "frequencies", "factor=2.0");
        refused(() -> builder.get().optRotarySize(6).build(), "rotarySize 6", "2 frequencies");
        refused(() -> builder.get().setHeadSize(2).build(), "rotarySize 4", "headSize 2");
        refused(
                () -> RotaryEmbeddingBlock.builder()
                        .setHeadSize(8)
                        .optScaling(twoFactors)
                        .build(),
                "2 LongRoPE factors",
                "rotary size 8",
                "4");
    }

    /** An array of a shape such as 2x3x8, or 2x3x8:INT32, with the data type FLOAT32 by default. */
    private static NDArray array(NDManager manager, String description) {
        String[] parts = description.split(":", -1);
        long[] shape = Arrays.stream(parts[0].split("x", -1))
                .mapToLong(Long::parseLong)
                .toArray();
        return manager.create(new Shape(shape), parts.length == 1 ? DataType.FLOAT32 : DataType.valueOf(parts[1]));
    }

    /** Checks lines of the shapes of inputs and the values in the message that rejects them. */
    private static void refusedInputs(NDManager manager, Block block, String lines) {
        for (String line : lines.lines().toList()) {
            String[] columns = line.split(" *[|] *", -1);
            NDArray[] inputs = Arrays.stream(columns[0].split(" ", -1))
                    .map(input -> array(manager, input))
                    .toArray(NDArray[]::new);
            refused(() -> Forward.infer(manager, block, inputs), columns[1].split(";", -1));
        }
    }

    @EngineTest
    void refusesInputsAndMasksOfOtherShapesAndDataTypes(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention());
        refusedInputs(manager, block, """
                2x3x6                    | input of shape (2, 3, 6);(B, T, 8)
                3x8                      | input of shape (3, 8);(B, T, 8)
                2x3x8:INT32              | input (2, 3, 8);int32
                2x3x8:FLOAT64            | input (2, 3, 8);float64;float32
                2x3x8 2x3x8 2x3x6        | values of shape (2, 3, 6);(B, F, 8)
                2x3x8 2x3x8 2x3x8:FLOAT64| queries are float32;values float64
                2x3x8:FLOAT64 2x3x8 2x3x8| queries are float32;keys float64
                2x3x8 2x3x8:INT32 2x3x8  | queries (2, 3, 8);int32
                2x3x8 2x3x8 2x4x8        | keys (2, 3, 8), queries (2, 3, 8) and values (2, 4, 8)
                2x0x8 2x3x8 2x0x8        | keys of shape (2, 0, 8);1 or more
                2x3x8 3                  | mask of shape (3);2 sequences of 3 queries and 3 keys;(2, 3);(2, 3, 3);(2, 2, 3, 3)
                2x3x8 2x4                | mask of shape (2, 4)
                2x3x8 1x3                | mask of shape (1, 3)
                2x3x8 2x3x4              | mask of shape (2, 3, 4)
                2x3x8 2x3x3x3            | mask of shape (2, 3, 3, 3)
                2x3x8 1x1x1x1x1          | mask of shape (1, 1, 1, 1, 1)
                2x3x8 1x1x3x3:INT32      | mask (1, 1, 3, 3);int32;float32;mask.neq(0)
                2x3x8 1x1x3x3:INT64      | mask (1, 1, 3, 3);int64;float32;mask.neq(0)
                2x3x8 2x4x8 2x4x8        | keys (2, 3, 8), queries (2, 4, 8) and values (2, 4, 8);keys first
                """);
        refused(() -> block.forward(new ParameterStore(manager, false), new NDList(), false), "0 inputs", "[x, mask]");
    }

    @EngineTest
    void refusesPytorchsOrderIfTheKeysAreTheValues(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention());
        NDArray query = manager.ones(new Shape(2, 3, 8));
        for (int length : new int[] {3, 4}) {
            NDArray memory = manager.ones(new Shape(2, length, 8));
            refused(() -> Forward.infer(manager, block, query, memory, memory), "queries", "values", "keys first");
            Forward.infer(manager, block, memory, query, memory);
        }
    }

    @EngineTest
    void refusesNormsOfAnotherSize(NDManager manager) {
        Block norm = RmsNormBlock.builder().setEmbeddingSize(8).build();
        refused(() -> initialized(manager, attention().optQueryNorm(norm)), "8", "4");
        refused(() -> initialized(manager, attention().optKeyNorm(norm)), "8", "4");
        Block sum = LambdaBlock.singleton(x -> x.sum(new int[] {3}));
        MultiHeadAttentionBlock summed = initialized(manager, attention().optQueryNorm(sum));
        refusedInputs(manager, summed, "2x3x8 | LambdaBlock;(2, 3, 2);(2, 3, 2, 4)");
    }

    @EngineTest
    void refusesPositionsOfPackedSequencesThatAreNoBatch(NDManager manager) {
        for (String shape : new String[] {"3", "2x3x4", "2x0"}) {
            NDArray positions = array(manager, shape);
            refused(
                    () -> MultiHeadAttentionBlock.packedMask(positions),
                    positions.getShape().toString(),
                    "(B, T)");
        }
    }

    @EngineTest
    void refusesInputsOfAnEncodingThatDoNotFit(NDManager manager) {
        refusedInputs(manager, RotaryEmbeddingBlock.builder().setHeadSize(4).build(), """
                2x3x4           | shape (2, 3, 4);(B, N, T, 4)
                1x2x3x6         | shape (1, 2, 3, 6);(B, N, T, 4)
                1x2x3x4 1x2x5x4 | queries (1, 2, 3, 4) float32 on;keys (1, 2, 5, 4) float32 on
                """);
        refusedInputs(manager, AlibiBiasBlock.builder().setHeadCount(2).build(), """
                3         | queries of shape (3);rank 2
                2x3:INT32 | queries (2, 3);int32;float16, float32 or float64
                1x0x4     | 0 queries and 0 keys
                """);
        KerpleBiasBlock kerple = KerpleBiasBlock.builder().setHeadCount(2).build();
        kerple.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        refusedInputs(manager, kerple, """
                3             | (3)
                1x3x4:FLOAT64 | (1, 3, 4);float64;float32
                """);
        DisentangledPositionBlock disentangled = DisentangledPositionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .build();
        disentangled.initialize(manager, DataType.FLOAT32, new Shape(1, 2, -1, 4));
        refusedInputs(manager, disentangled, """
                1x3x8           | queries of shape (1, 3, 8);(B, 2, T, 4)
                1x2x3x4 1x3x4   | keys of shape (1, 3, 4);(B, N, T, 4)
                1x2x3x4 1x0x3x4 | keys of shape (1, 0, 3, 4);(1, 2, 3, 4);divides 2
                1x2x3x4 1x7x3x4 | keys of shape (1, 7, 3, 4);(1, 2, 3, 4);divides 2
                1x2x3x4 5x2x3x4 | keys of shape (5, 2, 3, 4);(1, 2, 3, 4);same batch size
                """);
        refused(
                () -> Forward.inferFrom(manager, 2, disentangled, array(manager, "1x2x3x4")),
                "keys of shape (1, 2, 3, 4)",
                "5 keys");
        refused(() -> Forward.inferFrom(manager, -1, kerple, array(manager, "1x3x4")), "-1");
    }

    @EngineTest(onCpu = true)
    void refusesPositionsOutsideAWindow(NDManager manager) {
        WindowBiasBlock biases =
                WindowBiasBlock.builder().setHeadCount(2).setWindow(2, 3).build();
        MultiHeadAttentionBlock block = initialized(manager, attention().optRelativeEncoding(biases));
        refusedInputs(manager, block, """
                2x7x8             | position 6;[2, 3];0 to 5
                2x7x8 2x6x8 2x7x8 | position 6;[2, 3];0 to 5
                """);
        PairList<String, Object> params =
                Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(new int[] {0, 6, 3}));
        refused(() -> Forward.infer(manager, block, params, array(manager, "2x3x8")), "position 6", "0 to 5");
    }

    @EngineTest(onCpu = true)
    void refusesPositionsBeyondTheTable(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optMaxSequenceLength(10)
                .build();
        NDArray x = manager.zeros(new Shape(1, 2, 3, 4));
        NDArray integers = manager.create(new int[] {0, 10, 1});
        NDArray reals = manager.create(new float[] {0, Float.NaN, 1});
        NDArray two = manager.create(new int[] {0, 1});
        MultiHeadAttentionBlock attention = initialized(manager, attention().optRelativeEncoding(block));
        refused(() -> Forward.inferFrom(manager, 8, block, x), "length 3 at start position 8", "10", "(11)");
        refused(() -> Forward.infer(manager, block, x, integers), "position 10 at index 1 of (3)", "0 to 9");
        refused(() -> Forward.infer(manager, block, x, reals), "position NaN at index 1 of (3)", "finite");
        refused(() -> Forward.infer(manager, block, x, two), "shape (2)", "input (1, 2, 3, 4)", "(3) or (1, 3)");
        refusedInputs(manager, attention, "1x11x8 | length 11 at start position 0;10;(11)");
    }

    private static PairList<String, Object> params(Object cache, Object startPosition) {
        PairList<String, Object> params = Forward.params(KeyValueCache.KEY, cache);
        params.add("startPosition", startPosition);
        return params;
    }

    @EngineTest
    void refusesStepsThatDoNotFitTheCacheAndLeavesItAsItWas(NDManager manager) {
        MultiHeadAttentionBlock block = initialized(manager, attention().optCausal(true));
        MultiHeadAttentionBlock another = initialized(manager, attention().optCausal(true));
        ParameterStore store = new ParameterStore(manager, false);
        NDList one = new NDList(manager.ones(new Shape(1, 1, 8)));
        NDArray x = manager.ones(new Shape(2, 1, 8));
        NDList step = new NDList(x);
        // a mask covers the step or all tokens
        NDList shortMask = new NDList(x, manager.ones(new Shape(2, 3)));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            Forward.infer(manager, block, cache.nextStep(), manager.ones(new Shape(2, 3, 8)));
            Map<String, ThrowingCallable> calls = Map.of(
                    "batch size 1, float32 on " + manager.getDevice() + ";the cache's 2, float32 on;clear()",
                    () -> block.forward(store, one, false, cache.nextStep()),
                    "mask of shape (2, 3);2 sequences;(2, 1);(2, 4)",
                    () -> block.forward(store, shortMask, false, cache.nextStep()),
                    "startPosition is 1;3 positions",
                    () -> block.forward(store, step, false, params(cache, 1)),
                    // an attention whose first step is refused is not added to the cache
                    "startPosition is 1;0 positions",
                    () -> another.forward(store, step, false, params(cache, 1)),
                    "startPosition;Double 3.7",
                    () -> block.forward(store, step, false, params(cache, 3.7)),
                    "training;inference",
                    () -> block.forward(store, step, true, cache.nextStep()),
                    KeyValueCache.KEY + ";String",
                    () -> block.forward(store, step, false, params("cache", 0)));
            calls.forEach((values, call) -> {
                refused(call, values.split(";", -1));
                assertThat(cache.getLength()).isEqualTo(3);
            });
            NDArray y = Forward.infer(manager, block, cache.nextStep(), x, manager.ones(new Shape(2, 4)));
            NDArray whole = Forward.infer(manager, block, manager.ones(new Shape(2, 4, 8)));
            assertThat(y.toFloatArray())
                    .usingComparatorWithPrecision(1e-6f)
                    .containsExactly(whole.get(":, 3:").toFloatArray());
        }
    }

    @EngineTest
    void aForwardThatFailedInTheSecondAttentionCanBeRepeated(NDManager manager) {
        List<Block> both = List.of(
                initialized(manager, attention().optCausal(true)),
                initialized(manager, attention().optCausal(true)));
        ParameterStore store = new ParameterStore(manager, false);
        NDList step = new NDList(manager.ones(new Shape(1, 1, 8)));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> first = cache.nextStep();
            both.forEach(block -> block.forward(store, step, false, first));
            assertThat(cache.getLength()).isEqualTo(1);
            // the second step reaches only the first attention
            both.get(0).forward(store, step, false, cache.nextStep());
            assertThat(cache.getLength()).isEqualTo(1);
            PairList<String, Object> again = cache.nextStep();
            both.forEach(block -> block.forward(store, step, false, again));
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }
}
