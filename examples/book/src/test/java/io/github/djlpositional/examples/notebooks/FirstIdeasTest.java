package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.HeatMapChart;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FirstIdeasTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(FirstIdeas::write, folder);
    }

    @Test
    void aLargeCountHidesTheWords() {
        // the length of 64 random numbers is below 12; a vector of that length turns one of length 1000 by 0.012 at
        // most
        assertThat(run.after("position 1000: cosine of both words")).isBetween(Math.cos(2 * 0.012) - 5e-5, 1.0);
    }

    @Test
    void sinusoidsMakeWordsMoreSimilar() {
        String sinusoids = run.printed().substring(run.printed().indexOf("A sine loses one thing"));
        // the product is 32 plus that of the words, with a deviation of 8, and twice that of a word and a position,
        // 5.7;
        // the squares of the lengths are about 96; so it is 0.33 with a deviation of 0.12
        for (String position : new String[] {"   0", "  10", " 100", "1000"}) {
            String row = "position " + position + ": cosine of both words ";
            int start = sinusoids.indexOf(row) + row.length();
            assertThat(Double.parseDouble(sinusoids.substring(start, start + 6)))
                    .isBetween(0.0, 0.33 + 4 * 0.12);
        }
    }

    /** numpy: the means of 1000 pairs, 0.338 and 0.942; their deviations are 0.11 / √1000 and 0.02 / √1000. */
    @Test
    void shortWordsAreMoreSimilarThanLongOnes() {
        assertThat(run.after("mean cosine with words of N(0, 1):")).isCloseTo(0.34, within(0.02));
        assertThat(run.after("mean cosine with words of N(0, 2/d):")).isCloseTo(0.94, within(0.01));
    }

    /** 16 is 11000 as a Gray code, 15 is 01000 and 31 is 10000. */
    @Test
    void grayCodesOfFarPositionsAreNear() {
        assertThat(run.printed()).contains("the distance of 16 and 15 is 1,", "31 are also only 1 apart");
    }

    @Test
    void aFractionIsAnotherPositionInEachSentence() {
        assertThat(run.after(" 5 words: a step is", 3)).containsExactly(0.25, 4, 1);
        assertThat(run.after("20 words: a step is", 3)).containsExactly(0.053, 4, 0.211);
        assertThat(run.after("50 words: a step is", 3)).containsExactly(0.02, 4, 0.082);
    }

    @Test
    void bitsJump() {
        // the square root of the number of bits that differ from 10000: in 00000, 01110, 01111, 10001, 11000
        assertThat(run.after("distance of 16 and  0:")).isEqualTo(1);
        assertThat(run.after("distance of 16 and 14:")).isEqualTo(2);
        assertThat(run.after("distance of 16 and 15:")).isEqualTo(2.236);
        assertThat(run.after("distance of 16 and 17:")).isEqualTo(1);
        assertThat(run.after("distance of 16 and 24:")).isEqualTo(1);
        HeatMapChart bits = run.map("first-ideas-bits", "Positions as bits");
        for (int position = 0; position < 32; position++) {
            String digits = Integer.toBinaryString(32 + position).substring(1);
            for (int i = 0; i < 5; i++) {
                assertThat(ChapterRun.value(bits, position, i)).isEqualTo(digits.charAt(i) - '0');
            }
        }
    }

    @Test
    void stepsOfSinusoidsAreEqual() {
        // numpy: √(2 · (32 - Σ cos(10000^(-k/32)))) = 1.47184805
        for (String position : new String[] {"   1", "  10", " 100", "1000"}) {
            assertThat(run.after("step from " + position + " to the next:")).isEqualTo(1.4718);
        }
    }
}
