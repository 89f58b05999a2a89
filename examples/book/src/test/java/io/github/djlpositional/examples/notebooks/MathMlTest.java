package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

class MathMlTest {

    private static Document parse(String latex) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(MathMl.of(latex))));
    }

    @Test
    void fractionsAndPowersAreElements() throws Exception {
        Document math = parse("PE(t, 2k) = \\sin \\frac{t}{10000^{2k/D}}");
        assertThat(math.getDocumentElement().getTagName()).isEqualTo("math");
        assertThat(math.getDocumentElement().getAttribute("display")).isEqualTo("block");
        assertThat(math.getElementsByTagName("mfrac").getLength()).isEqualTo(1);
        assertThat(math.getElementsByTagName("msup").getLength()).isEqualTo(1);
        assertThat(math.getDocumentElement().getTextContent().replaceAll("\\s", ""))
                .contains("PE", "sin", "t", "10000");
    }

    @Test
    void aMatrixHasBracketsThatBrowsersDisplay() throws Exception {
        Document math = parse("\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}");
        assertThat(math.getElementsByTagName("mfenced").getLength()).isZero();
        assertThat(math.getElementsByTagName("mtd").getLength()).isEqualTo(4);
        assertThat(math.getDocumentElement().getTextContent().replaceAll("\\s", ""))
                .isEqualTo("(abcd)");
    }

    @Test
    void minusAndPrimeAreNotHyphenAndApostrophe() throws Exception {
        assertThat(parse("x' - y - 1").getDocumentElement().getTextContent().replaceAll("\\s", ""))
                .isEqualTo("x\u2032\u2212y\u22121");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\\omega_k = 10000^{-2k/D}",
                "\\sqrt{\\frac{D}{2}} \\approx 5.7",
                "\\sum_{k=0}^{D/2-1} \\cos(\\omega_k (j - i))",
                "\\left( \\frac{a}{b} \\right)^2 \\cdot c",
                "R(i)^\\top R(j) = R(j - i)",
                "x \\in \\mathbb{R}^D, \\quad \\text{for all positions } t",
                "\\operatorname{softmax}\\left(\\frac{q k^T}{\\sqrt{d}} + b_{j-i}\\right)",
                "\\mathbf{q} \\cdot \\mathbf{k} \\le \\theta \\times \\pi \\ldots \\dots \\to \\infty",
                "\\lfloor x \\rfloor \\pm \\max(0, |i - j|) \\ne \\log_2 n"
            })
    void convertsTheFormulasOfTheBook(String latex) throws Exception {
        assertThat(parse(latex).getElementsByTagName("mfenced").getLength()).isZero();
    }

    @Test
    void rejectsAnUnknownCommand() {
        assertThatThrownBy(() -> MathMl.of("\\unknown{x}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\\unknown{x}");
    }
}
