package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
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

    @Test
    void rejectsAnUnknownCommand() {
        assertThatThrownBy(() -> MathMl.of("\\unknown{x}"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\\unknown{x}");
    }
}
