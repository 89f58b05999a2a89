package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class MathMlTest {

    private static String text(String latex) {
        return MathMl.of(latex).replaceAll("<[^>]*>|\\s", "");
    }

    @Test
    void fractionsAndPowersAreElements() {
        assertThat(MathMl.of("\\sin \\frac{t}{10000^{2m/d}}"))
                .contains("<math", "display=\"block\"", "<mfrac>", "<msup>", "sin", "10000");
    }

    @Test
    void aMatrixHasBracketsThatBrowsersDisplay() {
        String matrix = "\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}";
        assertThat(MathMl.of(matrix)).doesNotContain("mfenced").contains("<mtd>");
        assertThat(text(matrix)).isEqualTo("(abcd)");
    }

    @Test
    void minusAndPrimeAreNotHyphenAndApostrophe() {
        assertThat(text("x' - y - 1")).isEqualTo("x\u2032\u2212y\u22121");
    }

    @Test
    void namesStandUprightWithASpaceAndABarAboveItsLetter() {
        assertThat(MathMl.of("\\operatorname{Re} \\, \\bar{k} + \\ln s"))
                .contains("<mtext>Re</mtext>", "\u00AF", "<mi>ln</mi><mspace")
                .doesNotContain("mathvariant", "\u0304");
        assertThat(MathMl.of("\\sin^2 \\omega + \\ln(s)")).containsOnlyOnce("<mspace");
    }

    @Test
    void formulasWithWideSpacesBetweenThemAreSeveral() {
        assertThat(MathMl.of("a = b \\qquad c = d").split("<math", -1)).hasSize(3);
    }

    @Test
    void rejectsAnUnknownCommand() {
        assertThatThrownBy(() -> MathMl.of("\\unknown{x}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\\unknown{x}");
    }
}
