package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.StringReader;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The labels of a drawn chart name its cells and its points. */
class SvgChartTest {

    /** Some numbers that are rounded to one decimal. */
    private static final double ROUNDED = 0.2;

    private static Element draw(Chart chart, boolean isSmall) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(
                        new StringReader(SvgChart.of(chart, isSmall).element(""))))
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
                .filter(text -> text.getTextContent().matches("[-−\\d.,]+"))
                .toList();
    }

    private static double value(Element label) {
        return Double.parseDouble(label.getTextContent().replace("−", "-").replace(",", ""));
    }

    /** Returns the opacity of a cell, negative for blue. */
    private static double shown(Element cells, int row, int column) {
        for (Element path : elements(cells, "path")) {
            boolean isThere = Pattern.compile("M(\\d+) (\\d+)h(\\d+)")
                    .matcher(path.getAttribute("d"))
                    .results()
                    .anyMatch(run -> Integer.parseInt(run.group(2)) == row
                            && column >= Integer.parseInt(run.group(1))
                            && column < Integer.parseInt(run.group(1)) + Integer.parseInt(run.group(3)));
            if (isThere) {
                double opacity = number(path, "stroke-opacity");
                return path.getAttribute("stroke").equals("#2a7fc8") ? -opacity : opacity;
            }
        }
        return 0;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void labelsOfHeatMapNameItsCells(boolean isSmall) throws Exception {
        // more columns than rows, and equal neighbors only at the ends of the range
        HeatMapChart.Cells values = (row, column) -> (20.0 * row + column) / 60 - 1.2;
        HeatMapChart chart = HeatMapChart.of("map", "column", "row", 8, 20, values);
        chart.hideLegend();
        Element svg = draw(chart, isSmall);
        Element cells = elements(svg, "svg").get(0);
        List<Element> rows = labels(svg, "end");
        List<Element> columns = labels(svg, "middle");
        assertThat(rows).hasSizeGreaterThan(3);
        assertThat(columns).hasSizeGreaterThan(2);
        for (Element row : rows) {
            int y = (int) (8 * (number(row, "y") - number(cells, "y")) / number(cells, "height"));
            for (Element column : columns) {
                int x = (int) (20 * (number(column, "x") - number(cells, "x")) / number(cells, "width"));
                double expected = Math.min(1, Math.max(-1, values.value((int) value(row), (int) value(column))));
                assertThat(shown(cells, y, x)).isCloseTo(expected, within(0.5001 / HeatMapChart.SHADES));
            }
        }
    }

    @Test
    void numbersFromTheLeastAreRed() throws Exception {
        HeatMapChart chart = HeatMapChart.of("map", "column", "row", 1, 3, (row, column) -> 0.5 + column / 4.0)
                .range(0.5, 1);
        Element svg = draw(chart, false);
        assertThat(IntStream.range(0, 3)
                        .mapToDouble(x -> shown(elements(svg, "svg").get(0), 0, x)))
                .containsExactly(0.0, 0.5, 1.0);
        assertThat(texts(svg)).endsWith("0.5", "1");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void matrixOfWordsIsSquare(boolean isSmall) throws Exception {
        List<String> words = List.of("one", "small", "word", "small");
        Element map = draw(HeatMapChart.ofWords("map", "to", "from", words, (row, column) -> 0), isSmall);
        Element cells = elements(map, "svg").get(0);
        assertThat(number(cells, "width")).isGreaterThan(120).isEqualTo(number(cells, "height"));
        assertThat(texts(map)).containsSequence("0 one", "1 small", "2 word", "3 small", "0 one");
    }

    /** Returns the points of a path without gaps, in the coordinates of the axes. */
    private static double[][] points(Element path) {
        return Arrays.stream(path.getAttribute("d").substring(1).split("L", -1))
                .map(point -> Arrays.stream(point.split(" ", -1))
                        .mapToDouble(Double::parseDouble)
                        .toArray())
                .toArray(double[][]::new);
    }

    private static Element firstLine(Element svg) {
        return elements(elements(svg, "svg").get(0), "path").get(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 62, 201})
    void labelsOfLinesNameTheirPoints(int count) throws Exception {
        LineChart chart = LineChart.of("lines", "x", "y");
        chart.line("line", count, x -> 5 - 12.0 * x / count);
        Element svg = draw(chart, false);
        Element axes = elements(svg, "svg").get(0);
        double[][] points = points(firstLine(svg));
        List<Element> columns = labels(svg, "middle");
        List<Element> rows = labels(svg, "end");
        assertThat(columns).hasSizeBetween(4, 14);
        assertThat(rows).hasSizeBetween(4, 12);
        for (Element column : columns) {
            double x = number(axes, "x") + points[(int) value(column)][0];
            assertThat(number(column, "x")).isCloseTo(x, within(ROUNDED)).isBetween(0.0, 480.0);
        }
        double perUnit = (points[count - 1][1] - points[0][1]) / (12.0 * (count - 1) / count);
        for (Element row : rows) {
            double y = number(axes, "y") + points[0][1] + (5 - value(row)) * perUnit;
            assertThat(number(row, "y")).isCloseTo(y, within(ROUNDED));
        }
    }

    @Test
    void stepsOfLabelsAreRound() {
        for (double greatest : new double[] {0.07, 1, 3, 17, 250, 99_999}) {
            Axis axis = new Axis(0, greatest, false);
            double[] ticks = axis.ticks(240, label -> 12 * label.length());
            assertThat(ticks).as("%s", greatest).hasSizeGreaterThan(1);
            double step = ticks[1] / Math.pow(10, Math.floor(Math.log10(ticks[1]) + 1e-9));
            assertThat(Math.rint(1e6 * step) / 1e6).as("%s", greatest).isIn(1.0, 2.0, 5.0);
        }
    }

    @Test
    void powersOfTenAreAtEqualDistances() throws Exception {
        LineChart chart = LineChart.of("lines", "x", "y").xLogarithmic().yLogarithmic();
        chart.line("line", new double[] {1, 10, 100, 1000, 1e4}, new double[] {1e-8, 1e-7, 0, Double.NaN, 1e-5});
        Element svg = draw(chart, false);
        assertThat(texts(svg)).contains("1", "10", "100", "1,000", "10⁻⁸", "10⁻⁷", "10⁻⁶", "10⁻⁵");
        // 0 has no logarithm: the line has a gap, as at NaN
        String path = firstLine(svg).getAttribute("d");
        assertThat(path).matches("M0 [\\d.]+L[\\d.]+ [\\d.]+M[\\d.]+ [\\d.]+");
        double width = number(elements(svg, "svg").get(0), "width");
        assertThat(Double.parseDouble(path.replaceAll(".*L| .*", ""))).isCloseTo(width / 4, within(ROUNDED));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void circleIsRoundAndHandsHaveLabels(boolean isSmall) throws Exception {
        LineChart chart = LineChart.plane("plane", "x", "y", 1.5, -0.5, 1.2);
        chart.circle("circle", 1.5, -0.5, 1);
        chart.hands("hand", 1.5, -0.5, new double[] {2.5}, new double[] {-0.5}, "three");
        Element svg = draw(chart, isSmall);
        double[][] points = points(firstLine(svg));
        double centerX = (points[0][0] + points[90][0]) / 2;
        double centerY = (points[0][1] + points[90][1]) / 2;
        for (double[] point : points) {
            double radius = Math.hypot(point[0] - centerX, point[1] - centerY);
            assertThat(radius).isCloseTo(points[0][0] - centerX, within(ROUNDED));
        }
        assertThat(texts(svg)).contains("three");
    }

    @Test
    void linesAreNamedInTheLegendWithTheirColorsAndSymbols() throws Exception {
        LineChart chart = LineChart.of("A & \"B\" < C", "x", "y");
        for (int i = 0; i < 7; i++) {
            chart.line("line " + i, 5, x -> x);
        }
        Element svg = draw(chart, false);
        assertThat(svg.getAttribute("aria-label")).isEqualTo("A & \"B\" < C");
        assertThat(texts(svg)).containsSubsequence("A & \"B\" < C", "y", "x", "line 0", "line 6");
        assertThat(elements(svg, "path").stream().map(path -> path.getAttribute("stroke")))
                .contains("var(--line-1)", "currentColor");
        // the circles of the second line, and one in the legend
        assertThat(elements(svg, "path").stream()
                        .filter(path -> path.getAttribute("d").contains("a4 4")))
                .hasSize(5 + 1);
    }

    @Test
    void rowsHavePointsWithRanges() throws Exception {
        LineChart chart = LineChart.ofRows("rows", "x", "kind", List.of("first", "second"));
        double[] x = {0.5, 0.7};
        chart.ranges("mean", x, new double[] {0, 1}, new double[] {0.4, 0.6}, new double[] {0.6, 0.9});
        Element svg = draw(chart, false);
        // the range of each row, with a gap between them
        assertThat(firstLine(svg).getAttribute("d")).matches("M0 (\\d+\\.?\\d*)L\\S+ \\1M\\S+ (\\d+\\.?\\d*)L\\S+ \\2");
        assertThat(texts(svg)).containsSubsequence("first", "second", "mean").doesNotContain("");
    }
}
