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
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The labels of a drawn chart name its cells and its points. */
class FigureTest {

    /** Numbers are rounded to one decimal. */
    private static final double ROUNDED = 0.2;

    private static final HeatMapChart MAP =
            HeatMapChart.of("map & more", "column", "row", 8, 8, (row, column) -> row == column ? 1 : -1);

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

    private static double value(Element label) {
        return Double.parseDouble(label.getTextContent().replace("−", "-").replace(",", ""));
    }

    @ParameterizedTest
    @ValueSource(doubles = {240, 480})
    void labelsOfAHeatMapNameItsCells(double width) throws Exception {
        HeatMapChart chart = HeatMapChart.of("map", "column", "row", 8, 20, (row, column) -> 0);
        chart.hideLegend();
        Element svg = draw(chart, width);
        Element cells = elements(svg, "svg").get(0);
        assertThat(labels(svg, "end"))
                .hasSize(8)
                .allSatisfy(row -> assertThat(8 * (number(row, "y") - number(cells, "y")) / number(cells, "height"))
                        .isCloseTo(value(row) + 0.5, within(0.1)));
        assertThat(labels(svg, "middle"))
                .hasSizeGreaterThan(2)
                .allSatisfy(
                        column -> assertThat(20 * (number(column, "x") - number(cells, "x")) / number(cells, "width"))
                                .isCloseTo(value(column) + 0.5, within(0.1)));
    }

    @Test
    void heatMapCountsFromOneAndFramesACell() throws Exception {
        HeatMapChart chart = HeatMapChart.of("map", "column", "row", 2, 3, (row, column) -> 0);
        Element svg = draw(chart.fromOne().mark(1, 2), 480);
        assertThat(labels(svg, "end").stream().map(FigureTest::value))
                .contains(1.0, 2.0)
                .doesNotContain(0.0);
        assertThat(labels(svg, "middle").stream().map(FigureTest::value)).contains(1.0, 3.0);
        assertThat(elements(elements(svg, "svg").get(0), "path").get(0).getAttribute("d"))
                .isEqualTo("M2 0.5h1v1h-1z");
    }

    @Test
    void colorsOfAHeatMapShowTheSignAndTheValue() throws Exception {
        double[] values = {-1, -1, -0.5, 0, 2};
        Element svg = draw(HeatMapChart.of("map", "x", "y", 1, 5, (row, column) -> values[column]), 480);
        assertThat(elements(elements(svg, "svg").get(0), "path").stream()
                        .map(path -> path.getAttribute("d") + " " + path.getAttribute("stroke") + " "
                                + path.getAttribute("stroke-opacity")))
                .containsExactly("M0 0h2 #2a7fc8 1.0", "M2 0h1 #2a7fc8 0.5", "M4 0h1 #d03a3a 1.0");
        assertThat(texts(svg)).as("the legend").endsWith("−1", "0", "1");
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
                .allSatisfy(tick -> assertThat(tick.place())
                        .isCloseTo(
                                axis.place(Double.parseDouble(
                                        tick.label().replace("−", "-").replace(",", ""))),
                                within(1e-9)));
    }

    @Test
    void labelsOfLinesNameTheirPoints() throws Exception {
        LineChart chart = LineChart.of("lines", "x", "y");
        // a gap where there is no number
        chart.line("line", 61, x -> x == 30 ? Double.NaN : 5 - x / 5.0);
        Element svg = draw(chart, 480);
        Element axes = elements(svg, "svg").get(0);
        String path = elements(axes, "path").get(0).getAttribute("d");
        assertThat(path).startsWith("M0 ").contains("L").containsPattern("L[\\d. ]+M");
        assertThat(labels(svg, "middle"))
                .hasSizeBetween(4, 14)
                .allSatisfy(column -> assertThat(number(column, "x"))
                        .isCloseTo(number(axes, "x") + number(axes, "width") * value(column) / 60, within(ROUNDED)));
        double top = Double.parseDouble(path.substring(3, path.indexOf('L')));
        List<Element> rows = labels(svg, "end");
        double unit = (number(rows.get(0), "y") - number(rows.get(1), "y")) / (value(rows.get(1)) - value(rows.get(0)));
        assertThat(number(rows.get(0), "y"))
                .isCloseTo(number(axes, "y") + top + unit * (5 - value(rows.get(0))), within(1.0));
    }

    @Test
    void linesAreNamedInTheLegendWithTheirColorsAndSymbols() throws Exception {
        LineChart chart = LineChart.of("A & \"B\" < C", "x", "y");
        for (int i = 0; i < 8; i++) {
            chart.line("line " + i, 5, x -> x);
        }
        Element svg = draw(chart, 480);
        assertThat(texts(svg)).containsSubsequence("A & \"B\" < C", "y", "x", "line 0", "line 7");
        assertThat(elements(svg, "path").stream().map(path -> path.getAttribute("stroke")))
                .contains("var(--line-1)", "currentColor");
        // the circles of the second line, and one in the legend
        assertThat(elements(svg, "path").stream()
                        .filter(path -> path.getAttribute("d").contains("a4 4")))
                .hasSize(5 + 1);
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
                .map(text -> Double.parseDouble(text.getAttribute("y")))
                .toList();
        assertThat(places).hasSize(5).isSorted();
        for (int i = 1; i < places.size(); i++) {
            assertThat(places.get(i) - places.get(i - 1)).isGreaterThanOrEqualTo(Svg.LETTER);
        }
        // what does not end at the right is in the legend, below the title of x
        assertThat(texts(svg)).containsSubsequence("line 4", "line 0", "x", "a limit");
    }

    @Test
    void fileHasTheChartsInRowsAndItsOwnColors() {
        String svg = new Figure(2, List.of(MAP, MAP, MAP, MAP)).svg();
        assertThat(svg)
                .startsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts-file\" viewBox=\"0 0 528 ")
                .contains("prefers-color-scheme: dark")
                .containsSubsequence("x=\"16\" y=\"16\" width=\"240\"", "x=\"272\" y=\"16\" width=\"240\"");
    }

    /** A viewer without variables, such as librsvg, draws in black what has no other color. */
    @Test
    void aFileHasALiteralColorBesideEachVariable() {
        LineChart chart = LineChart.of("a", "x", "y");
        chart.line("one", 5, x -> x);
        String svg = new Figure(1, List.of(chart)).svg();
        assertThat(svg)
                .contains(
                        "stroke=\"#0072b2\"",
                        "style=\"stroke: var(--line-0)\"",
                        "fill=\"#ffffff\" style=\"fill: var(--page)\"")
                .doesNotContain("=\"var(");
    }
}
