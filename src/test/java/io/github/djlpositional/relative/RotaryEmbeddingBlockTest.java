package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
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
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

class RotaryEmbeddingBlockTest {

    private static RotaryEmbeddingBlock.Builder builder() {
        return RotaryEmbeddingBlock.builder().setHeadSize(16);
    }

    private static RotaryEmbeddingBlock with(RotaryScaling scaling) {
        return builder().optScaling(scaling).build();
    }

    private static RotaryEmbeddingBlock with(double... frequencies) {
        return builder().optFrequencies(Frequencies.of(frequencies)).build();
    }

    private static List<RotaryEmbeddingBlock> layouts(RotaryEmbeddingBlock.Builder builder) {
        return List.of(
                builder.build(), builder.optLayout(PairLayout.CONCATENATED).build());
    }

    private static NDArray numbers(NDManager manager, DataType type, long... shape) {
        return TestNumbers.numbers(manager, 5, type, shape);
    }

    private static NDArray heads(NDManager manager, long... shape) {
        return numbers(manager, DataType.FLOAT32, shape);
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
    void doesNotRotateAPairWithFrequencyZero(NDManager manager) {
        double[] frequencies = {1, 0, 0.5, 0, 0, 0, 0.125, 0};
        assertThat(with(1, 0.5, 0).getRotarySize()).isEqualTo(6);
        NDArray x = heads(manager, 1, 1, 1, 16);
        float[] y = Forward.inferFrom(manager, 3, with(frequencies), x).toFloatArray();
        for (int i = 0; i < 16; i++) {
            assertThat(y[i] == x.getFloat(0, 0, 0, i)).as("dimension %d", i).isEqualTo(frequencies[i / 2] == 0);
        }
    }

    @EngineTest
    void multipliesByTheAttentionFactor(NDManager manager) {
        NDArray x = numbers(manager, DataType.FLOAT64, 1, 1, 1, 16);
        NDArray y = Forward.infer(manager, with(RotaryScaling.yarn(16, 4096)), x);
        // position 0 rotates by 0; numbers up to 2.6, rounded twice
        requireClose(y, x.mul(1.2772588722239782).toDoubleArray(), 0x1p-50);
    }

    @EngineTest
    void rotatesQueriesAndKeysTogetherAsOneByOne(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray keys = heads(manager, 2, 1, 5, 16);
        NDArray positions = manager.create(new int[] {4, 3, 2, 1, 0});
        // four heads of queries, or none
        for (NDArray queries : List.of(heads(manager, 2, 4, 5, 16), manager.create(new Shape(2, 0, 5, 16)))) {
            for (NDList rest : List.of(new NDList(), new NDList(positions))) {
                NDList given = new NDList(queries, keys).addAll(rest);
                NDList both = block.forward(new ParameterStore(manager, false), given, false);
                assertThat(both).hasSize(2);
                for (int i = 0; i < 2; i++) {
                    NDList one = new NDList(given.get(i)).addAll(rest);
                    requireSame(both.get(i), Forward.infer(manager, block, one.toArray(NDArray[]::new)));
                }
            }
        }
        NDArray empty = manager.create(new Shape(2, 3, 0, 16));
        assertThat(Forward.infer(manager, block, empty).getShape()).isEqualTo(empty.getShape());
    }

    @EngineTest
    void acceptsExplicitPositionsOfAllSequencesOrOfEach(NDManager manager) {
        NDArray x = heads(manager, 2, 3, 4, 16);
        for (RotaryScaling scaling : List.of(RotaryScaling.none(), RotaryScaling.dynamicNtk(2, 8, 40))) {
            RotaryEmbeddingBlock block = with(scaling);
            NDArray consecutive = Forward.inferFrom(manager, 5, block, x);
            for (NDArray positions : List.of(
                    manager.create(new int[] {5, 6, 7, 8}),
                    manager.create(new long[] {5, 6, 7, 8}),
                    manager.create(new float[] {5, 6, 7, 8}),
                    manager.create(new double[][] {{5, 6, 7, 8}, {5, 6, 7, 8}}))) {
                requireSame(Forward.infer(manager, block, x, positions), consecutive);
            }
        }
        RotaryEmbeddingBlock block = builder().build();
        NDArray y = Forward.infer(manager, block, x, manager.create(new int[][] {{0, 1, 2, 3}, {90, 91, 92, 93}}));
        requireSame(y.get("0:1"), Forward.infer(manager, block, x.get("0:1")));
        requireSame(y.get("1:2"), Forward.inferFrom(manager, 90, block, x.get("1:2")));
    }

    @EngineTest
    void acceptsRealPositions(NDManager manager) {
        // mpmath: cos and sin of 2.5
        NDArray x = manager.zeros(new Shape(1, 1, 1, 16));
        x.set(new NDIndex("..., 0"), 1);
        NDArray y = Forward.infer(manager, builder().build(), x, manager.create(new float[] {2.5f}));
        assertThat(y.get("..., :2").toFloatArray()).containsExactly(-0.8011436f, 0.5984721f);
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
    void extendsItselfUpToItsLimit(NDManager manager) {
        RotaryEmbeddingBlock block =
                builder().optMaxSequenceLength(4).optAutoExtend(600).build();
        NDArray x = heads(manager, 1, 1, 3, 16);
        NDArray expected = Forward.inferFrom(manager, 597, builder().build(), x);
        requireSame(Forward.infer(manager, block, x, manager.create(new int[] {597, 598, 599})), expected);
        requireSame(Forward.inferFrom(manager, 597, block, x), expected);
        refused(() -> Forward.inferFrom(manager, 598, block, x), "length 3 at start position 598", "600");
        NDArray beyond = manager.create(new int[] {0, 600, 1});
        refused(() -> Forward.infer(manager, block, x, beyond), "position 600", "0 to 599");
    }

    @EngineTest
    void theGradientIsRotatedBack(NDManager manager) {
        for (RotaryEmbeddingBlock block : layouts(builder().optRotarySize(12))) {
            NDArray x = numbers(manager, DataType.FLOAT64, 1, 2, 5, 16);
            NDArray weights = numbers(manager, DataType.FLOAT64, 1, 2, 5, 16).add(0.5);
            x.setRequiresGradient(true);
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                NDArray y = Forward.train(manager, block, x);
                collector.backward(y.mul(weights).sum());
                // the rotation is orthogonal, so rotating the gradient again gives the weights
                requireClose(Forward.infer(manager, block, x.getGradient()), weights.toDoubleArray(), 1e-14);
            }
        }
    }

    @EngineTest
    void initializationCreatesTheTableThatForwardsUse(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray x = heads(manager, 1, 1, 3, 16);
        try (NDManager own = manager.newSubManager()) {
            block.initialize(own, DataType.FLOAT32, new Shape(1, 1, -1, 16));
            assertThat(own.getManagedArrays()).hasSize(1);
            NDArray y = Forward.infer(manager, block, x);
            requireSame(Forward.infer(manager, block, x), y);
            assertThat(own.getManagedArrays()).hasSize(1);
            block.clear();
            assertThat(own.getManagedArrays()).isEmpty();
            requireSame(Forward.infer(manager, block, x), y);
        }
    }

    @EngineTest(Selection.PAIRS)
    void rotatesALargeInputAsItsParts(NDManager manager, PairLayout layout, boolean partial) {
        Block block = builder()
                .optLayout(layout)
                .optRotarySize(partial ? 10 : 16)
                .optMaxSequenceLength(100_000)
                .build();
        // several heads of one sequence, several sequences, and a part of one head at a time
        for (long[] sizes : new long[][] {{1, 17, 5000, 16}, {50, 3, 1000, 16}, {1, 1, 100_000, 16}}) {
            try (NDManager own = manager.newSubManager()) {
                requireSameAsParts(own, block, heads(own, sizes));
            }
        }
    }

    private static void requireSameAsParts(NDManager manager, Block block, NDArray x) {
        NDArray y = Forward.infer(manager, block, x);
        NDArray ofTransposed = Forward.infer(manager, block, x.transpose(1, 0, 2, 3));
        requireSame(ofTransposed.transpose(1, 0, 2, 3), y);
        Shape shape = x.getShape();
        int some = (int) Math.min(10_000, shape.get(2));
        for (long row : new long[] {0, shape.get(0) - 1}) {
            for (long head : new long[] {0, shape.get(1) - 1}) {
                for (long from : new long[] {0, shape.get(2) - some}) {
                    NDIndex part = new NDIndex("{}:{}, {}:{}, {}:{}", row, row + 1, head, head + 1, from, from + some);
                    requireSame(y.get(part), Forward.inferFrom(manager, (int) from, block, x.get(part)));
                }
            }
        }
    }

    private static NDArray stored(NDManager manager, String name) {
        return RotaryPresetsTest.stored(manager, name);
    }

    @EngineTest
    void rotatesTheLastDimensionsAsDeepSeek(NDManager manager) {
        // reference: src/test/python/make_rotary.py
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(192)
                .optRotaryStart(128)
                .build();
        assertThat(block.getRotarySize()).isEqualTo(64);
        NDArray y = Forward.infer(manager, block, stored(manager, "deepseek.input"));
        requireClose(y, stored(manager, "deepseek.output").toDoubleArray(), 1e-14);
    }

    @EngineTest
    void rotatesOnlyTheShareOfAProportionalHead(NDManager manager) {
        RotaryEmbeddingBlock block = RotaryEmbeddingBlock.builder()
                .setHeadSize(32)
                .optFrequencies(Frequencies.proportional(32, 0.25, 1e6, 8))
                .optLayout(PairLayout.CONCATENATED)
                .build();
        NDArray y = Forward.infer(manager, block, stored(manager, "proportional.input"));
        requireClose(y, stored(manager, "proportional.output").toDoubleArray(), 1e-14);
    }

    @EngineTest
    void rotatesAnySliceOfAHeadWithItsOwnFrequencies(NDManager manager, PairLayout layout) {
        NDArray x = heads(manager, 2, 3, 5, 16);
        for (int start : new int[] {0, 6, 12}) {
            NDArray y = Forward.infer(
                    manager,
                    builder()
                            .optRotaryStart(start)
                            .optRotarySize(4)
                            .optLayout(layout)
                            .build(),
                    x);
            RotaryEmbeddingBlock four = RotaryEmbeddingBlock.builder()
                    .setHeadSize(4)
                    .optLayout(layout)
                    .build();
            requireSame(y.get("..., :{}", start), x.get("..., :{}", start));
            requireSame(y.get("..., {}:", start + 4), x.get("..., {}:", start + 4));
            NDIndex slice = new NDIndex("..., {}:{}", start, start + 4);
            requireSame(y.get(slice), Forward.infer(manager, four, x.get(slice)));
        }
    }

    @EngineTest
    void theSequenceMayBeTheSecondAxis(NDManager manager) {
        for (RotaryScaling scaling : List.of(RotaryScaling.none(), RotaryScaling.dynamicNtk(2, 8, 40))) {
            RotaryEmbeddingBlock usual = builder().optScaling(scaling).build();
            RotaryEmbeddingBlock block =
                    builder().optScaling(scaling).optSequenceAxis(1).build();
            // a few steps, many steps of few heads, and a step with many heads
            for (long[] sizes : new long[][] {{2, 5, 3, 16}, {3, 4000, 7, 16}, {2, 3, 40_000, 16}}) {
                NDArray x = heads(manager, sizes);
                NDArray byHead = x.transpose(0, 2, 1, 3);
                requireSame(
                        Forward.inferFrom(manager, 7, block, x),
                        Forward.inferFrom(manager, 7, usual, byHead).transpose(0, 2, 1, 3));
            }
            NDArray x = heads(manager, 2, 5, 3, 16);
            NDArray positions = manager.create(new int[][] {{4, 3, 2, 1, 0}, {5, 6, 7, 8, 9}});
            requireSame(
                    Forward.infer(manager, block, x, positions),
                    Forward.infer(manager, usual, x.transpose(0, 2, 1, 3), positions)
                            .transpose(0, 2, 1, 3));
        }
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

    @EngineTest
    void xposNeedsQueriesAndKeys(NDManager manager) {
        RotaryEmbeddingBlock block = builder().optXpos(512).build();
        NDArray x = heads(manager, 1, 1, 3, 16);
        refused(() -> Forward.infer(manager, block, x), "xpos=512.0", "[queries, keys]");
        refused(() -> Forward.infer(manager, block, x, manager.arange(3)), "xpos=512.0", "[queries, keys]");
    }

    @EngineTest
    void xposRefusesPositionsThatTheDataTypeCannotScale(NDManager manager) {
        NDArray x = numbers(manager, DataType.FLOAT16, 1, 1, 3, 16);
        RotaryEmbeddingBlock tooLong = builder().optXpos(512).build();
        refused(() -> rotated(manager, tooLong, x, x), "FLOAT16", "3966");
        refused(() -> tooLong.initialize(manager, DataType.FLOAT16, x.getShape()), "FLOAT16", "3966");
        RotaryEmbeddingBlock block =
                builder().optXpos(512).optMaxSequenceLength(3967).build();
        NDArray doubles = x.toType(DataType.FLOAT64, true);
        NDArray expected = scores(rotated(manager, block, doubles, doubles));
        NDList rotated = rotated(manager, block, x, x, manager.create(new int[] {3964, 3965, 3966}));
        NDArray scores = scores(new NDList(
                rotated.get(0).toType(DataType.FLOAT64, false), rotated.get(1).toType(DataType.FLOAT64, false)));
        // 16 products of numbers up to 8, each with two factors of three roundings to 11 bits, some of small numbers
        requireClose(scores, expected.toDoubleArray(), 16 * 8 * 6 * 0x1p-11);
    }

    @EngineTest
    void realPositionsMayBeNegative(NDManager manager) {
        NDArray x = numbers(manager, DataType.FLOAT64, 1, 2, 3, 16);
        RotaryEmbeddingBlock block = builder().build();
        NDArray there = Forward.infer(manager, block, x, manager.create(new double[] {0.5, 3, 0}));
        NDArray back = Forward.infer(manager, block, there, manager.create(new double[] {-0.5, -3, 0}));
        // the rotations cancel, up to the roundings of four products of numbers up to 3
        requireClose(back, x.toDoubleArray(), 1e-14);
    }

    private static RotaryEmbeddingBlock.Builder axes() {
        return builder().optAxes(RotaryAxes.of(0, 1, 0, 1, 1, 1, 0, 0));
    }

    @EngineTest
    void eachPairTakesThePositionOnItsAxis(NDManager manager) {
        NDArray x = heads(manager, 2, 3, 4, 16);
        int[] rows = {3, 1, 4, 1};
        int[] columns = {5, 9, 2, 6};
        NDArray positions = manager.create(new int[][] {rows, columns}).reshape(2, 1, 4);
        float[] byRow = Forward.infer(manager, builder().build(), x, manager.create(rows))
                .toFloatArray();
        float[] byColumn = Forward.infer(manager, builder().build(), x, manager.create(columns))
                .toFloatArray();
        List<Integer> axes = List.of(0, 1, 0, 1, 1, 1, 0, 0);
        float[] expected = new float[byRow.length];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = axes.get(i % 16 / 2) == 0 ? byRow[i] : byColumn[i];
        }
        for (DataType type : List.of(DataType.INT32, DataType.INT64, DataType.FLOAT32, DataType.FLOAT64)) {
            NDArray y = Forward.infer(manager, axes().build(), x, positions.toType(type, false));
            assertThat(y.toFloatArray()).isEqualTo(expected);
        }
    }

    @EngineTest(onCpu = true)
    void positionsThatDoNotFitTheAxesAreRefused(NDManager manager) {
        NDArray x = heads(manager, 2, 1, 3, 16);
        NDArray one = manager.zeros(new Shape(1, 2, 3), DataType.INT32);
        NDArray three = manager.zeros(new Shape(3, 1, 3), DataType.INT32);
        NDArray few = manager.zeros(new Shape(2, 1, 2), DataType.INT32);
        NDArray beyond = manager.create(new int[] {0, 1, 2, 0, 5000, 2}).reshape(2, 1, 3);
        NDArray none = manager.create(new Shape(0, 2, 3), DataType.INT32);
        refused(() -> Forward.infer(manager, builder().build(), x, one), "(1, 2, 3)", "(T) or (B, T)");
        refused(() -> Forward.infer(manager, builder().build(), x, none), "(0, 2, 3)", "(T) or (B, T)");
        refused(() -> Forward.infer(manager, axes().build(), x, one), "(1, 2, 3)", "2 coordinates");
        refused(() -> Forward.infer(manager, axes().build(), x, three), "(3, 1, 3)", "2 coordinates");
        refused(() -> Forward.infer(manager, axes().build(), x, few), "(2, 1, 2)", "(2, 3)");
        refused(() -> Forward.infer(manager, axes().build(), x, beyond), "5000", "0 to 4999");
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

    @EngineTest(onCpu = true)
    void anAttentionsPositionsBeyondTheTableAreRefused(NDManager manager) {
        NDArray x = heads(manager, 2, 1, 3, 16);
        Positions beyond =
                new Positions(0, 3, manager.create(new int[][] {{4974, 4979, 4970}, {5000, 4972, 4973}}), 5001);
        AttentionCall call = TestCalls.of(manager, beyond);
        for (RotaryEmbeddingBlock.Builder builder : List.of(
                builder(), axes(), axes().optXpos(512), axes().optScaling(RotaryScaling.dynamicNtk(2, 8, 40)))) {
            RotaryEmbeddingBlock block = builder.build();
            refused(() -> TestCalls.rotated(block, call, x, true), "5000", "0 to 4999");
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
