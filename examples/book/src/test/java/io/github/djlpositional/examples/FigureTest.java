package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.StringReader;
import java.util.List;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The labels of a drawn chart name its cells and its points. */
class FigureTest {

    private static Element draw(Chart chart, double width) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(chart.draw(width).element(""))))
                .getDocumentElement();
    }

    private static List<Element> elements(Element svg, String name) {
        NodeList found = svg.getElementsByTagName(name);
        return IntStream.range(0, found.getLength())
                .mapToObj(i -> (Element) found.item(i))
                .toList();
    }

    private static List<String> texts(Element svg) {
        return elements(svg, "text").stream().map(Element::getTextContent).toList();
    }

    private static double number(Element element, String attribute) {
        return Double.parseDouble(element.getAttribute(attribute));
    }

    /** Returns the labels of an axis: those of rows end at their place, those of columns are centered. */
    private static List<Element> labels(Element svg, String anchor) {
        return elements(svg, "text").stream()
                .filter(text -> text.getAttribute("text-anchor").equals(anchor))
                .filter(text -> text.getTextContent().matches("[-−\\d.,e]+"))
                .toList();
    }

    private static double value(String label) {
        return Double.parseDouble(label.replace("−", "-").replace(",", ""));
    }

    @Test
    void labelsOfAHeatMapNameItsCells() throws Exception {
        HeatMapChart chart = HeatMapChart.of("map", "column", "row", 8, 20, (row, column) -> 0);
        chart.hideLegend();
        Element svg = draw(chart, 240);
        Element cells = elements(svg, "svg").get(0);
        assertThat(labels(svg, "end"))
                .hasSize(8)
                .allSatisfy(row -> assertThat(8 * (number(row, "y") - number(cells, "y")) / number(cells, "height"))
                        .isCloseTo(value(row.getTextContent()) + 0.5, within(0.1)));
        assertThat(labels(svg, "middle"))
                .hasSizeGreaterThan(2)
                .allSatisfy(
                        column -> assertThat(20 * (number(column, "x") - number(cells, "x")) / number(cells, "width"))
                                .isCloseTo(value(column.getTextContent()) + 0.5, within(0.1)));
    }

    @Test
    void colorsOfAHeatMapShowTheSignAndTheValue() throws Exception {
        double[] values = {-1, -1, -0.5, 0, 2};
        HeatMapChart chart = HeatMapChart.of("map", "x", "y", 1, 5, (row, column) -> values[column]);
        Element svg = draw(chart.fromOne().mark(0, 2), 480);
        assertThat(elements(elements(svg, "svg").get(0), "path").stream()
                        .map(path -> path.getAttribute("d") + " " + path.getAttribute("stroke") + " "
                                + path.getAttribute("stroke-opacity")))
                .containsExactly(
                        "M0 0h2 #2a7fc8 1.0",
                        "M2 0h1 #2a7fc8 0.5",
                        "M4 0h1 #d03a3a 1.0",
                        "M2 -0.5h1v1h-1z currentColor ");
        assertThat(texts(svg)).contains("5").endsWith("x", "−1", "0", "1");
    }

    @ParameterizedTest
    @CsvSource({
        "linear, 0, 100, 0 20 40 60 80 100",
        "linear, -0.7, 0.7, −0.5 0 0.5",
        "logarithmic, 1e-8, 1e-5, 1e−8 1e−7 1e−6 1e−5"
    })
    void labelsOfAnAxisAreRoundAndNameTheirPlaces(String scale, double smallest, double largest, String expected) {
        Axis axis = new Axis(smallest, largest, scale.equals("logarithmic"));
        List<Axis.Tick> ticks = axis.ticks(5);
        assertThat(ticks.stream().map(tick -> tick.label().replace(",", ""))).containsExactly(expected.split(" ", -1));
        assertThat(ticks)
                .allSatisfy(tick -> assertThat(tick.place()).isCloseTo(axis.place(value(tick.label())), within(1e-9)));
    }

    @Test
    void linesAreNamedInTheLegendWithTheirColorsAndSymbols() throws Exception {
        LineChart chart = LineChart.of("A & \"B\" < C", "x", "y");
        for (int i = 0; i < 8; i++) {
            chart.line("line " + i, 5, x -> x == 2 ? Double.NaN : x);
        }
        Element svg = draw(chart, 480);
        assertThat(texts(svg)).containsSubsequence("A & \"B\" < C", "y", "x", "line 0", "line 7");
        assertThat(elements(svg, "path").stream().map(path -> path.getAttribute("stroke")))
                .contains("var(--line-1)", "currentColor");
        // the circles of the second line, which has a gap, and one in the legend
        assertThat(elements(svg, "path").stream().map(path -> path.getAttribute("d")))
                .filteredOn(path -> path.contains("a4 4"))
                .hasSize(4 + 1);
        assertThat(elements(elements(svg, "svg").get(0), "path").get(0).getAttribute("d"))
                .matches("M0 [\\d.]+L[\\d. ]+M[\\d. ]+L[\\d. ]+");
    }

    @Test
    void fewLinesAreNamedAtTheirEndsWithoutOverlap() throws Exception {
        LineChart chart = LineChart.of("Lines", "x", "y");
        for (int i = 0; i < 5; i++) {
            double last = i;
            chart.line("line " + i, 5, x -> x < 4 ? 0 : last / 100);
        }
        chart.mark("a limit", 2, 0, 1);
        Element svg = draw(chart, 480);
        List<Double> places = elements(svg, "text").stream()
                .filter(text -> text.getTextContent().startsWith("line "))
                .map(text -> number(text, "y"))
                .toList();
        assertThat(places).hasSize(5).isSorted();
        for (int i = 1; i < places.size(); i++) {
            assertThat(places.get(i) - places.get(i - 1)).isGreaterThanOrEqualTo(Svg.LETTER);
        }
        // what does not end at the right is in the legend, below the title of x
        assertThat(texts(svg)).containsSubsequence("line 4", "line 0", "x", "a limit");
    }

    /** A viewer without variables, such as librsvg, draws in black what has no other color. */
    @Test
    void fileHasTheChartsInRowsAndALiteralColorBesideEachVariable() {
        LineChart chart = LineChart.of("a", "x", "y");
        chart.line("one", 5, x -> x);
        assertThat(new Figure(2, List.of(chart, chart, chart, chart)).svg())
                .startsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts-file\" viewBox=\"0 0 528 ")
                .contains("prefers-color-scheme: dark", "fill=\"#ffffff\" style=\"fill: var(--page)\"")
                .containsSubsequence("x=\"16\" y=\"16\" width=\"240\"", "x=\"272\" y=\"16\" width=\"240\"")
                .contains("stroke=\"#0072b2\"", "style=\"stroke: var(--line-0)\"")
                .doesNotContain("=\"var(");
    }
}
