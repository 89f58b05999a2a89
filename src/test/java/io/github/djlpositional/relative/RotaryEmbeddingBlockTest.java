package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.TestCalls;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

class RotaryEmbeddingBlockTest {

    private static RotaryEmbeddingBlock.Builder builder() {
        return RotaryEmbeddingBlock.builder().setHeadSize(16);
    }

    private static NDArray heads(NDManager manager, long... shape) {
        return TestNumbers.numbers(manager, 5, DataType.FLOAT32, shape);
    }

    @EngineTest
    void rotatesEachPairByItsAngle(NDManager manager) {
        // reference: goldens/rotary_rows.csv, written by src/test/python/reference_values.py with mpmath
        Frequencies sameAsDefault = Frequencies.geometric(8, 10_000, 8);
        for (PairLayout layout : PairLayout.values()) {
            // 1 in the first dimension of each pair and 0 in the second: rotated, it is the cosines and sines
            float[] ones = new float[16];
            IntStream.range(0, 8).forEach(pair -> ones[layout.firstIndex(pair, 8)] = 1);
            NDArray x = manager.create(ones, new Shape(1, 1, 1, 16));
            for (RotaryEmbeddingBlock.Builder builder :
                    List.of(builder(), builder().optFrequencies(sameAsDefault))) {
                RotaryEmbeddingBlock block =
                        builder.optLayout(layout).optMaxSequenceLength(140_000).build();
                for (String[] row : Goldens.rows("rotary_rows.csv")) {
                    if (row[2].equals("1")) {
                        int pair = Integer.parseInt(row[4]);
                        NDArray y = Forward.inferFrom(manager, Integer.parseInt(row[3]), block, x);
                        float cosine = y.getFloat(0, 0, 0, layout.firstIndex(pair, 8));
                        float sine = y.getFloat(0, 0, 0, layout.secondIndex(pair, 8));
                        assertThat(Goldens.floatUlps(cosine, new BigDecimal(row[5])))
                                .isLessThanOrEqualTo(0.501);
                        assertThat(Goldens.floatUlps(sine, new BigDecimal(row[6])))
                                .isLessThanOrEqualTo(0.501);
                    }
                }
            }
        }
    }

    @EngineTest
    void rotatesQueriesAndKeysTogetherAsOneByOne(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray keys = heads(manager, 2, 1, 5, 16);
        NDArray positions = manager.create(new int[] {4, 3, 2, 1, 0});
        // four heads of queries, or none
        for (NDArray queries : List.of(heads(manager, 2, 4, 5, 16), manager.create(new Shape(2, 0, 5, 16)))) {
            NDList both = rotated(manager, block, queries, keys);
            requireSame(both.get(0), Forward.infer(manager, block, queries));
            requireSame(both.get(1), Forward.infer(manager, block, keys));
            NDList positioned = rotated(manager, block, queries, keys, positions);
            requireSame(positioned.get(0), Forward.infer(manager, block, queries, positions));
            requireSame(positioned.get(1), Forward.infer(manager, block, keys, positions));
        }
    }

    /** LongRoPE factors as in goldens/rotary_scalings.csv. */
    private static double[] factors(double step) {
        return IntStream.range(0, 8).mapToDouble(k -> 1 + step * k / 4.0).toArray();
    }

    /** One side of the original length each. */
    @EngineTest
    void frequenciesAreThoseOfTheLengthToServe(NDManager manager) {
        // reference: goldens/rotary_frequencies.csv and goldens/rotary_scalings.csv, with 50-digit arithmetic
        for (int length : new int[] {4096, 4097}) {
            RotaryScaling longRope = RotaryScaling.longRope(factors(1), factors(3), 4096, 131_072, length);
            requireFrequencies(manager, 16, longRope, "rotary_scalings.csv", "16 10000 4096 131072 " + length);
        }
        RotaryScaling upTo = RotaryScaling.dynamicNtk(2, 2048, 2048);
        requireFrequencies(manager, 64, upTo, "rotary_frequencies.csv", "64 10000");
        RotaryScaling beyond = RotaryScaling.dynamicNtk(2, 2048, 8192);
        requireFrequencies(manager, 64, beyond, "rotary_frequencies.csv", "64 10000 2 2048 8192");
    }

    private static void requireFrequencies(
            NDManager manager, int headSize, RotaryScaling scaling, String file, String parameters) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize)
                .optScaling(scaling)
                .build();
        NDArray x = manager.ones(new Shape(1, 1, 1, headSize), DataType.FLOAT64);
        // the angles of position 3 are small enough for Math.cos
        double[] y = HostData.doubles(Forward.inferFrom(manager, 3, block, x));
        double[] expected = Goldens.rows(file).stream()
                .filter(row -> row[1].equals(parameters))
                .flatMapToDouble(row -> rotatedOnes(3 * Double.parseDouble(row[3]), Double.parseDouble(row[4])))
                .toArray();
        assertThat(y).containsExactly(expected, within(1e-14));
    }

    private static DoubleStream rotatedOnes(double angle, double factor) {
        return DoubleStream.of(
                factor * (Math.cos(angle) - Math.sin(angle)), factor * (Math.cos(angle) + Math.sin(angle)));
    }

    @EngineTest
    void initializationCreatesTheTableThatForwardsUse(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        try (NDManager own = manager.newSubManager()) {
            block.initialize(own, DataType.FLOAT32, new Shape(1, 1, -1, 16));
            assertThat(own.getManagedArrays()).hasSize(1);
            Forward.infer(manager, block, heads(manager, 1, 1, 3, 16));
            assertThat(own.getManagedArrays()).hasSize(1);
        }
    }

    private static NDArray stored(NDManager manager, String name) {
        return RotaryPresetsTest.stored(manager, name);
    }

    /** The last dimensions, or a share of them; the reference is src/test/python/make_rotary.py. */
    @EngineTest
    void rotatesAPartOfAHeadAsPublishedCode(NDManager manager) {
        Map.of(
                        "deepseek",
                        builder().setHeadSize(192).optRotaryStart(128),
                        "proportional",
                        builder()
                                .setHeadSize(32)
                                .optFrequencies(Frequencies.proportional(32, 0.25, 1e6, 8))
                                .optLayout(PairLayout.CONCATENATED))
                .forEach((name, builder) -> {
                    NDArray y = Forward.infer(manager, builder.build(), stored(manager, name + ".input"));
                    requireClose(y, stored(manager, name + ".output").toDoubleArray(), 1e-14);
                });
    }

    private static NDList rotated(NDManager manager, Block block, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), false);
    }

    private static NDArray scores(NDList rotated) {
        return rotated.get(0).matMul(rotated.get(1).transpose(0, 1, 3, 2));
    }

    @EngineTest
    void scoresWithXposAreThoseOfThePublishedCode(NDManager manager) {
        // reference: src/test/python/make_rotary.py, whose positions are centered
        NDArray queries = stored(manager, "xpos.queries");
        NDArray keys = stored(manager, "xpos.keys");
        double[] expected = stored(manager, "xpos.scores").toDoubleArray();
        RotaryEmbeddingBlock block =
                builder().optXpos(5).optMaxSequenceLength(100).build();
        NDArray late = manager.arange(90, 97);
        NDArray real = late.toType(DataType.FLOAT64, true).sub(95.5);
        // sums of 16 products of numbers up to 8, whose scales differ by up to (7/2)^(97/5) · 2^-52 at late positions
        requireClose(scores(rotated(manager, block, queries, keys)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, late)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, real)), expected, 1e-12);
    }

    private static RotaryEmbeddingBlock.Builder axes() {
        return builder().optAxes(RotaryAxes.of(0, 1, 0, 1, 1, 1, 0, 0));
    }

    @EngineTest
    void anAttentionsPositionsAreThoseOfAForward(NDManager manager) {
        NDArray x = heads(manager, 2, 1, 3, 16);
        NDArray ragged = manager.create(new int[][] {{4, 9, 0}, {30, 2, 3}});
        NDArray onAxes = NDArrays.stack(new NDList(ragged, ragged.flip(1)));
        for (RotaryEmbeddingBlock.Builder builder : List.of(
                builder(), axes(), axes().optXpos(512), axes().optScaling(RotaryScaling.dynamicNtk(2, 8, 40)))) {
            RotaryEmbeddingBlock block = builder.build();
            for (NDArray positions : block.getAxes() == null ? List.of(ragged) : List.of(ragged, onAxes)) {
                NDArray reals = positions.toType(DataType.FLOAT64, true);
                for (NDArray given : List.of(positions, reals)) {
                    Positions tokens = new Positions(7, 3, given, 31);
                    AttentionCall call = TestCalls.of(manager, tokens);
                    NDList expected = rotated(manager, block, x, x, given);
                    requireSame(TestCalls.rotated(block, call, x, false), expected.get(0));
                    requireSame(TestCalls.rotated(block, call, x, true), expected.get(1));
                }
            }
        }
    }

    @EngineTest
    void leavesNoArrayOpenButItsResults(NDManager manager) {
        RotaryEmbeddingBlock block = axes().optXpos(512).build();
        NDArray x = heads(manager, 2, 1, 3, 16);
        NDArray positions = manager.zeros(new Shape(2, 2, 3), DataType.INT32);
        NDArray reals = positions.toType(DataType.FLOAT64, true);
        for (NDArray given : List.of(positions, reals, positions)) {
            rotated(manager, block, x, x, given).close();
            int before = manager.getManagedArrays().size();
            rotated(manager, block, x, x, given).close();
            assertThat(manager.getManagedArrays()).hasSize(before);
        }
    }
}
