package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SinesAsAClockTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(SinesAsAClock::write, folder);
    }

    @Test
    void eachHandIsTenTimesSlower() {
        // 2π = 6.2832
        assertThat(run.after("pair 0: ", 2)).containsExactly(1, 6.3);
        assertThat(run.after("pair 1: ", 2)).containsExactly(0.1, 62.8);
        assertThat(run.after("pair 2: ", 2)).containsExactly(0.01, 628.3);
        assertThat(run.after("pair 3: ", 2)).containsExactly(0.001, 6283.2);
    }

    @Test
    void positionsHaveTheirSinesAndCosines() {
        // numpy: sin and cos of 25, 2.5, 0.25, 0.025, and of 250, 25, 2.5, 0.25
        assertThat(run.after(" 25:  ", 8)).containsExactly(-0.13, 0.99, 0.60, -0.80, 0.25, 0.97, 0.02, 1);
        assertThat(run.after("250:  ", 8)).containsExactly(-0.97, 0.24, -0.13, 0.99, 0.60, -0.80, 0.25, 0.97);
    }

    @Test
    void aSineOrACosineIsNotEnough() {
        // numpy: sin and cos of t · 10000^(-100/512)
        assertThat(run.after("position 16: sine", 1)).containsExactly(0.4741);
        assertThat(run.after("position 22: sine", 1)).containsExactly(-0.4786);
        assertThat(run.after("position 35: sine", 1)).containsExactly(-0.4718);
        assertThat(run.printed()).contains("sine -0.4786, cosine -0.8781", "sine -0.4718, cosine +0.8817");
    }

    @Test
    void positionThreeByHand() {
        // mpmath: sin 3, cos 3, sin 0.03, cos 0.03
        assertThat(run.printed())
                .contains(
                        "10000^(2/4) = 100, angle 3/100 = 0.0300",
                        "sin = 0.1411200081, cos = -0.9899924966",
                        "sin = 0.0299955002, cos = 0.9995500337");
        // three roundings of Math.pow, of the division and of the sine
        assertThat(run.after("greatest difference from the numbers by hand")).isLessThan(4 * 0x1p-53);
        double[] floats = run.after("PositionalEncodingBlock", 4);
        double[] expected = {0.141120008060, -0.989992496600, 0.029995500202, 0.999550033749};
        assertThat(floats).containsExactly(expected, within(0x1p-25));
    }
}
