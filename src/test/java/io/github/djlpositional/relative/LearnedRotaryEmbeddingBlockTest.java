package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.RotaryPresetsTest.stored;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Learned frequencies beside timm's functions in {@code src/test/python/make_rotary.py}. */
class LearnedRotaryEmbeddingBlockTest extends OnEachEngine {

    private static LearnedRotaryEmbeddingBlock.Builder learned(int headSize) {
        return LearnedRotaryEmbeddingBlock.builder().setHeadCount(2).setHeadSize(headSize);
    }

    private LearnedRotaryEmbeddingBlock block(DataType type, int axes) {
        LearnedRotaryEmbeddingBlock block = learned(16).optAxes(axes).build();
        block.initialize(manager, type, new Shape(-1, 2, -1, 16));
        return block;
    }

    private static NDArray frequencies(LearnedRotaryEmbeddingBlock block) {
        return block.getFrequencies().getArray();
    }

    @Test
    void rotatesAsTimm() {
        // roundings of numbers up to 5: of x, the cosine and the sine, two products and a sum, and of the frequencies
        Map<DataType, Double> tolerances =
                Map.of(DataType.FLOAT64, 1e-14, DataType.FLOAT32, 4e-6, DataType.FLOAT16, 0.04);
        double[] expected = doubles(stored(manager, "ropeMixed.output"));
        tolerances.forEach((type, tolerance) -> {
            if (type == DataType.FLOAT16 && engine == TestEngine.MXNET) {
                return; // no numbers of another type can be copied to it
            }
            LearnedRotaryEmbeddingBlock block = block(type, 2);
            stored(manager, "ropeMixed.frequencies").toType(type, true).copyTo(frequencies(block));
            NDArray x = stored(manager, "ropeMixed.input").toType(type, true);
            for (DataType ofPositions : new DataType[] {DataType.FLOAT64, DataType.INT32, DataType.INT64}) {
                NDArray positions = stored(manager, "ropeMixed.positions").toType(ofPositions, true);
                NDArray y = infer(manager, block, x, positions);
                assertThat(y.getDataType()).isEqualTo(type);
                requireClose(y, expected, tolerance);
            }
        });
        NDArray positions = manager.create(RotaryPresets.mixedPositions(1, 3, 5));
        assertThat(positions.toDoubleArray()).isEqualTo(doubles(stored(manager, "ropeMixed.positions")));
    }

    /** Directions are random: of each head, the first half of the pairs has one, and the others are perpendicular. */
    @Test
    void beginsWithTheFrequenciesOfTimm() {
        engine.get().setRandomSeed(16);
        double[] f = doubles(frequencies(block(DataType.FLOAT64, 2)));
        assertThat(f[0]).isNotEqualTo(f[8]); // of the two heads
        for (int head = 0; head < 2; head++) {
            double cos = f[8 * head];
            double sin = f[16 + 8 * head];
            for (int i = 0; i < 4; i++) {
                double size = Math.pow(10, -4 * i / 16.0);
                int pair = 8 * head + i;
                double[] actual = {f[pair], f[16 + pair], f[pair + 4], f[16 + pair + 4]};
                double[] expected = {size * cos, size * sin, -size * sin, size * cos};
                assertThat(actual).containsExactly(expected, within(1e-14));
            }
            assertThat(Math.hypot(cos, sin)).isEqualTo(1, within(1e-14));
        }
        engine.get().setRandomSeed(16);
        assertThat(doubles(frequencies(block(DataType.FLOAT64, 2)))).isEqualTo(f);
    }

    @Test
    void beginsWithTheFrequenciesOfRoFormerOnOneAxis() {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 2, 9, 16);
        RotaryEmbeddingBlock fixed =
                RotaryEmbeddingBlock.builder().setHeadSize(16).build();
        LearnedRotaryEmbeddingBlock block = block(DataType.FLOAT32, 1);
        // an angle up to 9 of a rounded frequency, and numbers below 2
        requireClose(infer(manager, block, x), doubles(infer(manager, fixed, x)), 4e-6);
    }

    /** In FLOAT32, an angle of 2^27 would be a multiple of 8. */
    @Test
    void scoresDependOnDistancesOfDistantPositionsToo() {
        LearnedRotaryEmbeddingBlock block = block(DataType.FLOAT32, 2);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 2, 9, 16);
        NDArray near = inferFrom(manager, 0, block, x);
        NDArray far = inferFrom(manager, 1 << 27, block, x);
        NDArray scores = near.matMul(near.transpose(0, 1, 3, 2));
        // sums of 16 products below 4
        requireClose(far.matMul(far.transpose(0, 1, 3, 2)), doubles(scores), 2e-5);
    }

    /** At position p, pair k of head n is turned by p · frequencies[n, k]. */
    @Test
    void turnsThePairsOfEachHeadByTheirFrequencies() {
        LearnedRotaryEmbeddingBlock block = learned(2).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(-1, 2, -1, 2));
        ScoreTerms.set(block, "frequencies", 0.5, -2);
        NDArray x = manager.create(new double[] {1, 0, 1, 0}, new Shape(1, 2, 1, 2));
        double[] expected = {Math.cos(1.5), Math.sin(1.5), Math.cos(6), -Math.sin(6)};
        requireClose(inferFrom(manager, 3, block, x), expected, 1e-14);
    }

    /** Mochi's {@code MochiRoPE} in diffusers: the sum over frames, rows and columns. */
    @Test
    void turnsThePairsByTheSumOverThreeAxes() {
        LearnedRotaryEmbeddingBlock block = learned(2).optAxes(3).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(-1, 2, -1, 2));
        requireClose(frequencies(block), new double[6], 0);
        ScoreTerms.set(block, "frequencies", 0.5, -2, 0.25, 1, -1, 3);
        NDArray x = manager.create(new double[] {1, 0, 1, 0}, new Shape(1, 2, 1, 2));
        NDArray position = manager.create(new double[] {1, 2, 0.5}, new Shape(3, 1, 1));
        // 0.5 + 0.5 - 0.5 and -2 + 2 + 1.5
        double[] expected = {Math.cos(0.5), Math.sin(0.5), Math.cos(1.5), Math.sin(1.5)};
        requireClose(infer(manager, block, x, position), expected, 1e-14);
    }

    @Test
    void hasTheDefaultsOfTheDocumentation() {
        assertThat(learned(4).build().getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "LearnedRotaryEmbeddingBlock",
                        "headCount",
                        2,
                        "headSize",
                        4,
                        "axes",
                        1,
                        "base",
                        10_000.0,
                        "layout",
                        "INTERLEAVED"));
        assertThat(learned(4).optAxes(2).build().getArguments()).containsEntry("base", 10.0);
        Map<String, Object> ofVideos = learned(6).optAxes(3).build().getArguments();
        assertThat(ofVideos).doesNotContainKey("base");
        assertThat(LearnedRotaryEmbeddingBlock.fromArguments(ofVideos).getArguments())
                .isEqualTo(ofVideos);
        LearnedRotaryEmbeddingBlock block = block(DataType.FLOAT32, 2);
        assertThat(frequencies(block).getShape()).isEqualTo(new Shape(2, 2, 8));
        assertThat(block.getFrequencies()).isSameAs(block.getParameters().get("frequencies"));
    }

    @Test
    void rejectsSizesThatAreNoPairsOfItsAxes() {
        LearnedRotaryEmbeddingBlock block = learned(16).build();
        assertAll(
                rejected(learned(7)::build, "headSize 7", "multiple of 2"),
                rejected(learned(6).optAxes(2)::build, "headSize 6", "axes 2", "multiple of 4"),
                rejected(learned(5).optAxes(3)::build, "headSize 5", "axes 3", "multiple of 2"),
                rejected(learned(4).optAxes(3).optBase(10)::build, "base 10.0", "axes 3"),
                rejected(learned(4).optAxes(4)::build, "axes 4"),
                rejected(learned(4).optBase(0)::build, "base 0.0"),
                rejected(() -> block.requireFits(3, 3, 16, 48), "3 heads of size 16", "setHeadCount(3)", block),
                rejected(() -> block.requireFits(2, 2, 8, 16), "2 heads of size 8", "setHeadSize(8)", block));
    }

    /** Each group of frequencies is for some heads of the queries, and for some of the keys. */
    @Test
    void groupsOfFrequenciesFitTheHeadsOfTheKeys() {
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(32)
                .setHeadCount(8)
                .optKeyValueHeadCount(4);
        NDArray x = manager.ones(new Shape(1, 3, 32));
        for (int groups : new int[] {1, 2, 4}) {
            MultiHeadAttentionBlock block =
                    attention.optRelativeEncoding(rotary(groups)).build();
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            assertThat(infer(manager, block, x).getShape()).isEqualTo(x.getShape());
        }
        assertAll(rejected(
                () -> attention.optRelativeEncoding(rotary(8)).build(),
                "4 heads of keys",
                "setHeadCount(4)",
                "optKeyValueHeadCount(8)"));
    }

    private static LearnedRotaryEmbeddingBlock rotary(int groups) {
        return LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(groups)
                .setHeadSize(4)
                .build();
    }

    private static Stream<Executable> rejectedShapes(NDManager manager) {
        LearnedRotaryEmbeddingBlock block =
                filled(manager, learned(4).build(), DataType.FLOAT32, new Shape(-1, 2, -1, 4));
        LearnedRotaryEmbeddingBlock mixed =
                filled(manager, learned(4).optAxes(2).build(), DataType.FLOAT32, new Shape(-1, 2, -1, 4));
        NDArray x = zeros(manager, 2, 2, 3, 4);
        NDArray fourHeads = zeros(manager, 2, 4, 3, 4);
        NDArray wide = zeros(manager, DataType.FLOAT64, 2, 2, 3, 4);
        NDArray positions = zeros(manager, DataType.INT32, 3);
        NDArray one = zeros(manager, DataType.INT32, 1, 1, 3);
        NDArray batch = zeros(manager, DataType.INT32, 1, 2, 3);
        NDArray three = zeros(manager, DataType.INT32, 3, 1, 3);
        return Stream.of(
                rejectedWithoutLeak(manager, () -> infer(manager, block, fourHeads), "(2, 4, 3, 4)", "(B, 2, T, 4)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, wide), "float64", "float32"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, positions, positions), 3, "[x, positions]"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, one), "(1, 1, 3)", "(T) or (B, T)"),
                rejectedWithoutLeak(manager, () -> infer(manager, mixed, x, batch), "(1, 2, 3)", "2 coordinates"),
                rejectedWithoutLeak(manager, () -> infer(manager, mixed, x, three), "(3, 1, 3)", "2 coordinates"));
    }

    @Test
    void rejectsInputsAndPositionsOfOtherShapes() {
        assertAll(rejectedShapes(manager));
    }

    @Test
    void rejectsTheSameCallsOnAGpu() {
        onASimulatedGpu(gpu -> assertAll(rejectedShapes(gpu)));
    }
}
