package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WhyOrderIsLostTest {

    /**
     * Sums of five numbers up to 5 in another order differ by 5 · 5 · 2⁻²⁴; the projection of 64 such numbers with
     * weights around 0.1 multiplies this by about 6, and its own rounding adds 64 · 0.1 · 5 · 2⁻²⁴.
     */
    private static final double ROUNDING = 2e-5;

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(WhyOrderIsLost::write, folder);
    }

    @Test
    void withoutPositionsOnlyTheOrderOfTheResultsDiffers() {
        assertThat(run.after("greatest difference of a number\n")).isLessThan(ROUNDING);
        assertThat(run.after("greatest difference of the means\n")).isLessThan(ROUNDING);
    }

    @Test
    void withPositionsTheResultsDiffer() {
        assertThat(run.after("greatest difference of a number, with positions")).isGreaterThan(1000 * ROUNDING);
        assertThat(run.after("greatest difference of the means, with positions"))
                .isGreaterThan(1000 * ROUNDING);
    }

    @Test
    void oneCausalLayerSeesABagAndTwoSeeSomeOrder() {
        assertThat(run.after("one layer, difference of the last word")).isLessThan(ROUNDING);
        assertThat(run.after("two layers, difference of the last word")).isGreaterThan(1000 * ROUNDING);
    }
}
