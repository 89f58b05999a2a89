package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.LineChart;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RelativePositionsTest {

    private static final String WEIGHTS = "relative-positions-weights";
    private static final String TRAINED = "relative-positions-trained";

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(RelativePositions::write, folder);
    }

    @Test
    void aNumberAddedToARowChangesNoWeight() {
        double[] weights = run.after(String.format("-d/4%n  0 "), 3);
        // 1 / Σ e^-d = 1 - e^-1, up to e^-32
        assertThat(weights[0]).isEqualTo(0.6321);
        assertThat(weights[1]).isEqualTo(weights[0]);
        // (1 - e^-1/4) / (1 - e^-8)
        assertThat(weights[2]).isEqualTo(0.2213);
        double[] steep =
                run.lines(WEIGHTS, "Weights of the same query").series("-d").y();
        double[] lifted =
                run.lines(WEIGHTS, "Weights of the same query").series("31 - d").y();
        assertThat(lifted).containsExactly(steep, within(1e-15));
    }

    @ParameterizedTest
    @ValueSource(strings = {"T5", "KERPLE", "Distance network", "FIRE"})
    void everyTrainedHeadHasABiasAndAWeight(String kind) {
        LineChart biases = run.lines(TRAINED, kind + ", bias");
        LineChart weights = run.lines(TRAINED, kind + ", weight");
        assertThat(biases.series()).hasSize(8);
        for (LineChart.Series head : biases.series()) {
            double[] weight = weights.series(head.name()).y();
            double[] bias = head.y();
            // the softmax of a row: the quotient of two weights
            assertThat(Math.log(weight[3] / weight[1])).isCloseTo(bias[3] - bias[1], within(1e-9));
        }
    }

    @Test
    void kerpleOnlyFalls() {
        for (LineChart.Series head : run.lines(TRAINED, "KERPLE, bias").series()) {
            double[] bias = head.y();
            assertThat(IntStream.range(1, bias.length).filter(d -> bias[d] > bias[d - 1]))
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Shaw", "Transformer-XL", "DeBERTa", "Rotary"})
    void termsOfTheSameWordDependOnTheDistanceOnly(String kind) {
        double[] changes = run.after(String.format("%n  %-16s ", kind), 2);
        assertThat(changes[0]).isGreaterThan(0.5);
        // three digits are printed
        assertThat(changes[1]).isZero();
    }
}
