package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.RotaryPresetsTest.stored;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import java.util.Map;

/** Learned frequencies beside timm's functions in {@code src/test/python/make_rotary.py}. */
class LearnedRotaryEmbeddingBlockTest {

    private static LearnedRotaryEmbeddingBlock block(NDManager manager, DataType type, int axes) {
        LearnedRotaryEmbeddingBlock block = LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(2)
                .setHeadSize(16)
                .optAxes(axes)
                .build();
        block.initialize(manager, type, new Shape(-1, 2, -1, 16));
        return block;
    }

    private static NDArray frequencies(LearnedRotaryEmbeddingBlock block) {
        return block.getFrequencies().getArray();
    }

    @EngineTest
    void rotatesAsTimm(Engine engine, NDManager manager) {
        // roundings of numbers up to 5: of x, the cosine and the sine, two products and a sum, and of the frequencies
        Map<DataType, Double> tolerances =
                Map.of(DataType.FLOAT64, 1e-14, DataType.FLOAT32, 4e-6, DataType.FLOAT16, 0.04);
        double[] expected = doubles(stored(manager, "ropeMixed.output"));
        tolerances.forEach((type, tolerance) -> {
            if (type == DataType.FLOAT16 && engine.getEngineName().equals("MXNet")) {
                return; // no numbers of another type can be copied to it
            }
            LearnedRotaryEmbeddingBlock block = block(manager, type, 2);
            stored(manager, "ropeMixed.frequencies").toType(type, true).copyTo(frequencies(block));
            NDArray x = stored(manager, "ropeMixed.input").toType(type, true);
            for (DataType ofPositions : new DataType[] {DataType.FLOAT64, DataType.INT32, DataType.INT64}) {
                NDArray positions = stored(manager, "ropeMixed.positions").toType(ofPositions, true);
                NDArray y = Forward.infer(manager, block, x, positions);
                assertThat(y.getDataType()).isEqualTo(type);
                requireClose(y, expected, tolerance);
            }
        });
        NDArray positions = manager.create(RotaryPresets.mixedPositions(1, 3, 5));
        assertThat(positions.toDoubleArray()).isEqualTo(doubles(stored(manager, "ropeMixed.positions")));
    }

    /** Directions are random: of each head, the first half of the pairs has one, and the others are perpendicular. */
    @EngineTest
    void beginsWithTheFrequenciesOfTimm(Engine engine, NDManager manager) {
        engine.setRandomSeed(16);
        double[] f = doubles(frequencies(block(manager, DataType.FLOAT64, 2)));
        assertThat(f[0]).isNotEqualTo(f[8]); // of the two heads
        for (int head = 0; head < 2; head++) {
            double cos = f[8 * head];
            double sin = f[16 + 8 * head];
            for (int i = 0; i < 4; i++) {
                double size = Math.pow(10, -4 * i / 16.0);
                int pair = 8 * head + i;
                double[] actual = {f[pair], f[16 + pair], f[pair + 4], f[16 + pair + 4]};
                double[] expected = {size * cos, size * sin, -size * sin, size * cos};
                assertThat(actual).containsExactly(expected, within(1e-15));
            }
            assertThat(Math.hypot(cos, sin)).isEqualTo(1, within(1e-15));
        }
        engine.setRandomSeed(16);
        assertThat(doubles(frequencies(block(manager, DataType.FLOAT64, 2)))).isEqualTo(f);
    }

    @EngineTest
    void beginsWithTheFrequenciesOfRoFormerOnOneAxis(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 2, 9, 16);
        RotaryEmbeddingBlock fixed =
                RotaryEmbeddingBlock.builder().setHeadSize(16).build();
        LearnedRotaryEmbeddingBlock block = block(manager, DataType.FLOAT32, 1);
        // an angle up to 9 of a rounded frequency, and numbers below 2
        requireClose(Forward.infer(manager, block, x), doubles(Forward.infer(manager, fixed, x)), 4e-6);
    }

    /** In FLOAT32, an angle of 2^27 would be a multiple of 8. */
    @EngineTest
    void scoresDependOnDistancesOfDistantPositionsToo(NDManager manager) {
        LearnedRotaryEmbeddingBlock block = block(manager, DataType.FLOAT32, 2);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 2, 9, 16);
        NDArray near = Forward.inferFrom(manager, 0, block, x);
        NDArray far = Forward.inferFrom(manager, 1 << 27, block, x);
        NDArray scores = near.matMul(near.transpose(0, 1, 3, 2));
        // sums of 16 products below 4
        requireClose(far.matMul(far.transpose(0, 1, 3, 2)), doubles(scores), 2e-5);
    }
}
