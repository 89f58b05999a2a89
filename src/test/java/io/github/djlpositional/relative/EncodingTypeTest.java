package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.ResidentMemory;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import org.junit.jupiter.api.Tag;

/** An attention with each relative encoding. */
class EncodingTypeTest {

    private static final double[] PADDING = {1, 0, 1, 1, 0, 1};

    private static MultiHeadAttentionBlock attention(
            NDManager manager, EncodingType type, boolean causal, DataType dataType) {
        return filled(manager, type.attention(HEADS).optCausal(causal).build(), dataType);
    }

    /** Queries of a length, and six keys and values, in the order of the inputs. */
    private static NDList cross(NDManager manager, int length) {
        return new NDList(
                numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE),
                numbers(manager, 1, DataType.FLOAT64, 1, length, SIZE),
                numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE));
    }

    @EngineTest
    void givesTheNumbersOfThePaper(NDManager manager, EncodingType type) {
        for (int length : new int[] {1, 9}) {
            for (boolean causal : new boolean[] {false, true}) {
                MultiHeadAttentionBlock block = attention(manager, type, causal, DataType.FLOAT64);
                NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, length, SIZE);
                NDArray y = Forward.infer(manager, block, x);
                assertThat(y.getShape()).isEqualTo(x.getShape());
                double[] expected = new NaiveAttention(type, block).forward(0, x, x, x, (i, j) -> !causal || j <= i);
                requireClose(y, expected, 1e-12);
            }
        }
    }

    @EngineTest
    void masksPaddingAndAcceptsKeysOfAnotherLengthAndQueriesBeyondThem(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, false, DataType.FLOAT64);
        for (int[] queries : new int[][] {{1, 0}, {4, 0}, {8, 0}, {3, 1}, {3, 5}, {3, 60}}) {
            try (NDManager own = manager.newSubManager()) {
                NDList given = cross(own, queries[0]);
                int first = queries[1];
                double[] expected = new NaiveAttention(type, block)
                        .forward(first, given.get(1), given.get(0), given.get(2), (i, j) -> PADDING[j] == 1);
                given.add(own.create(PADDING, new Shape(1, 6)));
                int before = own.getManagedArrays().size();
                NDArray y = Forward.inferFrom(own, first, block, given.toArray(NDArray[]::new));
                assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
                requireClose(y, expected, 1e-12);
            }
        }
    }

    @EngineTest
    void returnsTheProbabilitiesOfAForwardAndLeavesNoOtherArrayOpen(NDManager manager, EncodingType type) {
        NDArray mask = manager.create(PADDING, new Shape(1, 6));
        for (boolean causal : new boolean[] {false, true}) {
            MultiHeadAttentionBlock block = attention(manager, type, causal, DataType.FLOAT64);
            NDList given = cross(manager, 4);
            double[] expected = new NaiveAttention(type, block)
                    .probabilities(given.get(1), given.get(0), (i, j) -> PADDING[j] == 1 && (!causal || j <= i));
            given.add(mask);
            ParameterStore store = new ParameterStore(manager, false);
            block.probabilities(store, given).close();
            int before = manager.getManagedArrays().size();
            NDArray actual = block.probabilities(store, given);
            assertThat(manager.getManagedArrays()).hasSize(before + 1);
            assertThat(actual.getShape()).isEqualTo(new Shape(1, HEADS, 4, 6));
            requireClose(actual, expected, 1e-12);
        }
    }

    @EngineTest
    void aCrossAttentionTakesThePositionsOfItsQueries(NDManager manager, EncodingType type) {
        // it counts tokens
        assumeTrue(type != EncodingType.FORGETTING);
        MultiHeadAttentionBlock block = attention(manager, type, false, DataType.FLOAT64);
        NDArray keys = numbers(manager, 2, DataType.FLOAT64, 2, 6, SIZE);
        NDArray values = numbers(manager, 3, DataType.FLOAT64, 2, 6, SIZE);
        NDArray queries = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        // below 6, so that the length is 6 for an encoding that depends on it
        int[][] positions = {{3, 4, 5}, {1, 5, 2}};
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(positions));
        NDArray y = Forward.infer(manager, block, params, keys, queries, values);
        for (int row = 0; row < 2; row++) {
            NDArray k = keys.get("{}:{}", row, row + 1);
            NDArray v = values.get("{}:{}", row, row + 1);
            for (int i = 0; i < 3; i++) {
                NDArray q = queries.get("{}:{}, {}:{}", row, row + 1, i, i + 1);
                NDArray expected = Forward.inferFrom(manager, positions[row][i], block, k, q, v);
                requireClose(y.get("{}, {}", row, i), expected.toDoubleArray(), 1e-13);
            }
        }
    }

    @EngineTest(Selection.EACH)
    void aForwardWithPositionsLeavesOnlyItsResultOpen(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, true, DataType.FLOAT64);
        NDManager own = manager.newSubManager();
        NDArray x = numbers(own, 7, DataType.FLOAT64, 2, 6, SIZE);
        NDArray positions = own.create(new int[] {0, 2, 3, 0, 1, 4});
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        MultiHeadAttentionBlock cross = attention(manager, type, false, DataType.FLOAT64);
        NDArray keys = numbers(own, 8, DataType.FLOAT64, 2, 6, SIZE);
        int before = own.getManagedArrays().size();
        Forward.infer(own, block, params, x);
        Forward.infer(own, cross, params, keys, x, keys);
        assertThat(own.getManagedArrays()).hasSize(before + 2);
    }

    /** StoredAttentionTest has the numbers of times. */
    @EngineTest
    void takesRealPositionsOrNamesTheEncodingsThatDo(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, false, DataType.FLOAT64);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
        // T5's buckets begin at 2, at about 3.5 and at 6
        NDArray positions = manager.create(new float[] {0, 2, 3, 4, 6, 9});
        PairList<String, Object> real = Forward.params(PositionalEncodingBlock.POSITIONS, positions);
        PairList<String, Object> whole =
                Forward.params(PositionalEncodingBlock.POSITIONS, positions.toType(DataType.INT32, true));
        if (type.takesRealPositions()) {
            double[] expected = Forward.infer(manager, block, whole, x).toDoubleArray();
            requireClose(Forward.infer(manager, block, real, x), expected, 1e-13);
        } else {
            assertThatThrownBy(() -> Forward.infer(manager, block, real, x))
                    .isInstanceOf(IllegalArgumentException.class)
                    .message()
                    .contains("(1, 6", "floating-point")
                    .satisfies(message -> assertThat(message.substring(message.lastIndexOf(':') + 2)
                                    .split(", | or "))
                            .containsExactlyElementsOf(EncodingType.namesWithRealPositions()));
        }
    }

    /** More steps than a run of rows of a table and the first room of a cache have. */
    @EngineTest(Selection.EACH)
    void aDecoderOf300TokensGivesTheWholeForward(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, true, DataType.FLOAT64);
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 300, SIZE);
        NDArray whole = Forward.infer(manager, block, x);
        try (NDManager own = manager.newSubManager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            // at night from the first token
            int prompt = EngineTestExtension.IS_NIGHTLY ? 1 : 250;
            NDList steps = new NDList(Forward.infer(own, block, cache.nextStep(), x.get(":, :{}", prompt)));
            for (NDArray token : x.get(":, {}:", prompt).split(300 - prompt, 1)) {
                steps.add(Forward.infer(own, block, cache.nextStep(), token));
            }
            requireClose(NDArrays.concat(steps, 1), whole.toDoubleArray(), 1e-12);
        }
    }

    @EngineTest
    void positionsFarApartNeedMemoryForTheTokensOnly(NDManager manager, EncodingType type) {
        // a rotary table has a greatest position
        assumeTrue(type.isOfDistances() && !(type.encoding(HEADS) instanceof RotaryEmbeddingBlock));
        int[] positions = {5_000_000, 0, 5_000_003, 100_000_000, (1 << 29) - 2};
        MultiHeadAttentionBlock block = attention(manager, type, false, DataType.FLOAT64);
        NDArray x = numbers(manager, 12, DataType.FLOAT64, 1, positions.length, SIZE);
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, manager.create(positions));
        NDArray y = Forward.infer(manager, block, params, x);
        // angles of 2^29 are rounded by 2^-24
        requireClose(y, new NaiveAttention(type, block).at(positions).forward(0, x, x, x, (i, j) -> true), 1e-6);
    }

    /** LongSequenceTest has the parts of windows. */
    @EngineTest
    void computesLongSequencesInParts(NDManager manager) {
        // 4 · 2 · 800 · 800 scores are more than one part
        MultiHeadAttentionBlock block = attention(manager, EncodingType.SHAW, true, DataType.FLOAT32);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 4, 800, SIZE);
        NDArray mask = manager.randomUniform(-1, 1, new Shape(4, 800, 800)).gt(0);
        mask = mask.toType(DataType.FLOAT32, false).maximum(manager.eye(800).expandDims(0));
        NDArray whole = Forward.infer(manager, block, x, mask);
        NDArray one = Forward.infer(manager, block, x.get("2:3"), mask.get("2:3"));
        assertThat(whole.get("2:3").toFloatArray()).containsExactly(one.toFloatArray(), within(2e-5f));
    }

    /** StoredAttentionTest has those of attentions with masks and positions. */
    @EngineTest(Selection.EACH)
    void gradientsAreThoseOfFiniteDifferences(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, true, DataType.FLOAT64);
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 1, 5, SIZE);
        FiniteDifferences.requireGradients(manager, block, null, x);
    }

    @EngineTest
    @Tag("slow")
    void fourThousandPositionsNeedLessMemoryThanTheirScores(NDManager manager, EncodingType type) throws Exception {
        assumeTrue(ResidentMemory.bytes() > 0, "the system does not report resident memory");
        int length = 4096;
        MultiHeadAttentionBlock block = attention(manager, type, false, DataType.FLOAT32);
        // as in a loaded model: parameters that require gradients keep the softmax of every part
        block.freezeParameters(true);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 2, length, SIZE);
        // a few parts of 8 MB at a time, at most 107 MB measured; one part would need three times the limit
        long before = ResidentMemory.resetPeak();
        Forward.infer(manager, block, x).close();
        long scores = 2 * 4L * HEADS * length * length;
        assertThat(ResidentMemory.peak() - before)
                .as("growth of the peak, with %d bytes of scores", scores)
                .isLessThan(scores);
    }
}
