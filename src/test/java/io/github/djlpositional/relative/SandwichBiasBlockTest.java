package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Biases that are sums of cosines of the distance. */
class SandwichBiasBlockTest extends OnEachEngine {

    private static SandwichBiasBlock.Builder sandwich() {
        return SandwichBiasBlock.builder().setHeadCount(2);
    }

    /** The product of the sinusoids of both positions, divided by 8 h / N for the head h from 1 (section 5). */
    @Test
    void theBiasIsTheProductOfTheSinusoidsOfBothPositions() {
        SinusoidalEncoding sinusoids = SinusoidalEncoding.vaswani(6, 100);
        requireBiases(manager, sandwich().optEncoding(sinusoids).build(), (head, i, j) -> {
            double product = 0;
            for (int dimension = 0; dimension < 6; dimension++) {
                product += sinusoids.value(i, dimension) * sinusoids.value(j, dimension);
            }
            return product * 2 / (8 * (head + 1));
        });
    }

    /**
     * NeMo's {@code SandwichRelativePositionEmbedding} sums cos(d / 10000^(2p / h)) over p = 1 … h / 2. It also
     * subtracts a number of each head from all biases, which the softmax ignores.
     */
    @Test
    void hasNemosSinusoids() {
        int size = 8; // h, the size of a head
        SinusoidalEncoding nemo = SinusoidalEncoding.builder()
                .setEmbeddingSize(size)
                .optFrequencies(Frequencies.geometric(size / 2, 10_000, size / 2.0)
                        .scaledBy(StrictMath.pow(10_000, -2.0 / size)))
                .build();
        requireBiases(manager, sandwich().optEncoding(nemo).build(), (head, i, j) -> {
            double sum = 0;
            for (int p = 1; p <= size / 2; p++) {
                sum += Math.cos((i - j) / Math.pow(10_000, 2.0 * p / size));
            }
            return sum * 2 / (8 * (head + 1));
        });
    }

    /** Of one head, the bias of the own token is the number of frequencies over 8. */
    @Test
    void theBiasIsLargestForTheTokenItself() {
        SandwichBiasBlock block = sandwich()
                .setHeadCount(1)
                .optEncoding(SinusoidalEncoding.vaswani(2))
                .build();
        NDArray biases = inferFrom(manager, 3, block, zeros(manager, DataType.FLOAT64, 1, 1, 4));
        double[] cosines = {Math.cos(3) / 8, Math.cos(2) / 8, Math.cos(1) / 8, 0.125};
        requireClose(biases, cosines, 1e-14);
    }

    @Test
    void takesRealPositions() {
        NDArray positions = manager.create(new double[] {0, 0.5, 2.25});
        NDArray biases = inferAt(
                manager,
                positions,
                sandwich()
                        .setHeadCount(1)
                        .optEncoding(SinusoidalEncoding.vaswani(2))
                        .build(),
                zeros(manager, DataType.FLOAT64, 1, 3, 4));
        double[] cosines = {Math.cos(2.25) / 8, Math.cos(1.75) / 8, 0.125};
        requireClose(biases.get("0, 0, 2"), cosines, 1e-14);
    }

    /** The distances are no multiples of a step, so the biases are products; the positions are exact as floats. */
    @Test
    void theBiasesOfLargeRealPositionsAreTheNearestFloats() {
        double[] positions = {1e5, 1e5 + 1 / 128.0, 1e5 + 2.5, 2e5 + 0.75, 2.5e5 + 1 / 64.0, 999_999.9375};
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(128);
        SandwichBiasBlock block = sandwich().setHeadCount(1).build();
        NDArray given = manager.create(positions);
        int length = positions.length;
        NDArray biases = inferAt(manager, given, block, zeros(manager, 1, length, 4));
        NDArray wide = inferAt(manager, given, block, zeros(manager, DataType.FLOAT64, 1, length, 4));
        for (int i = 0; i < length; i++) {
            for (int j = 0; j < length; j++) {
                double expected = encoding.similarity(positions[i] - positions[j]) / 8;
                // an angle of 1e6 is rounded by 2^-34
                assertThat(wide.getDouble(0, 0, i, j)).isCloseTo(expected, within(1e-10));
                assertThat(biases.getFloat(0, 0, i, j))
                        .isCloseTo((float) expected, within(1e-10f + Math.ulp((float) expected)));
            }
        }
    }

    /** Reference: goldens/sandwich_biases.csv, with 60-digit arithmetic. The table is computed in Java. */
    @Test
    void eachBiasIsTheNearestFloat() {
        assumeEngine(TestEngine.PYTORCH);
        int farthest = 100_003;
        Map<Integer, NDArray> biases = new HashMap<>();
        for (int heads : new int[] {1, 12}) {
            SandwichBiasBlock block = sandwich().setHeadCount(heads).build();
            biases.put(heads, inferFrom(manager, farthest, block, zeros(manager, 1, 1, 4)));
        }
        for (String[] row : Goldens.rows("sandwich_biases.csv")) {
            float actual = biases.get(Integer.valueOf(row[0]))
                    .getFloat(0, Integer.parseInt(row[1]), 0, farthest - Integer.parseInt(row[2]));
            // the sum in double is off by a few 2^-46, the sums are above 2^-6: 2^-17 of half an ulp of a float
            assertThat(Goldens.floatUlps(actual, new BigDecimal(row[3])))
                    .as(String.join(",", row))
                    .isLessThan(0.5 + 1e-4);
        }
    }

    @Test
    void hasTheSinusoidsOfThePaperByDefault() {
        assertThat(sandwich().build().getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "SandwichBiasBlock",
                        "headCount",
                        2,
                        "encoding",
                        SinusoidalEncoding.vaswani(128).getArguments()));
        assertThat(sandwich().build().getParameters()).isEmpty();
    }

    @Test
    void rejectsSinusoidsOfAnOddSize() {
        assertAll(rejected(sandwich().optEncoding(SinusoidalEncoding.vaswani(7))::build, 7, 8));
    }
}
