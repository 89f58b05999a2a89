package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** The labels of a drawn chart name its cells and its points. */
class SvgChartTest {

    /** Numbers are rounded to one decimal. */
    private static final double ROUNDED = 0.05;

    private static Element draw(AxesChart<?, ?> chart, boolean isSmall) {
        return parse(SvgChart.of(chart, isSmall).element("xmlns=\"http://www.w3.org/2000/svg\""));
    }

    private static Element parse(String svg) {
        try {
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(new InputSource(new StringReader(svg)))
                    .getDocumentElement();
        } catch (Exception e) {
            throw new AssertionError(svg, e);
        }
    }

    private static List<Element> elements(Element svg, String name) {
        NodeList found = svg.getElementsByTagName(name);
        return IntStream.range(0, found.getLength())
                .mapToObj(i -> (Element) found.item(i))
                .toList();
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

    private static BufferedImage pixels(Element image) throws IOException {
        String png = image.getAttribute("href").substring("data:image/png;base64,".length());
        return ImageIO.read(new ByteArrayInputStream(Base64.getDecoder().decode(png)));
    }

    /** The opacity, negative for blue. */
    private static double shown(int color) {
        double opacity = (color >>> 24) / 255.0;
        return (color >> 16 & 255) < (color & 255) ? -opacity : opacity;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void labelsOfHeatMapNameItsCells(boolean isSmall) throws Exception {
        // more columns than rows, and a different number in every cell
        Drawing.Cells cells = (row, column) -> (20.0 * row + column) / 80 - 1;
        HeatMapChart chart = Drawing.map("map", "column", "row", 8, 20, cells);
        chart.getStyler().setLegendVisible(false);
        Element svg = draw(chart, isSmall);
        Element image = elements(svg, "image").get(0);
        BufferedImage pixels = pixels(image);
        assertThat(pixels.getWidth()).isEqualTo(20);
        assertThat(pixels.getHeight()).isEqualTo(8);
        List<Element> rows = labels(svg, "end");
        List<Element> columns = labels(svg, "middle");
        assertThat(rows).hasSizeGreaterThan(3);
        assertThat(columns).hasSizeGreaterThan(2);
        for (Element row : rows) {
            int y = (int) (pixels.getHeight() * (number(row, "y") - number(image, "y")) / number(image, "height"));
            for (Element column : columns) {
                int x = (int) (pixels.getWidth() * (number(column, "x") - number(image, "x")) / number(image, "width"));
                double expected = cells.value((int) value(row), (int) value(column));
                // one of 127 steps of opacity, itself of 255 steps
                assertThat(shown(pixels.getRGB(x, y))).isCloseTo(expected, within(0.5 / 127 + 0.5 / 255));
            }
        }
    }

    @Test
    void rowZeroIsAtTheTop() {
        Element svg = draw(Drawing.map("map", "column", "row", 100, 64, (row, column) -> 0), false);
        List<Element> rows = labels(svg, "end");
        Element first =
                rows.stream().filter(label -> value(label) == 0).findFirst().orElseThrow();
        assertThat(rows).hasSizeGreaterThan(4).allMatch(label -> number(label, "y") >= number(first, "y"));
    }

    @Test
    void numbersFromZeroAreRed() throws Exception {
        HeatMapChart chart = Drawing.map("map", "column", "row", 1, 3, 0.5, 1, (row, column) -> 0.5 + column / 4.0);
        BufferedImage pixels = pixels(elements(draw(chart, false), "image").get(0));
        assertThat(IntStream.range(0, 3).mapToDouble(x -> shown(pixels.getRGB(x, 0))))
                .usingElementComparator((a, b) -> Math.abs(a - b) < 0.01 ? 0 : 1)
                .containsExactly(0.0, 0.5, 1.0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void matrixIsSquare(boolean isSmall) {
        Element map = elements(draw(Drawing.map("map", "column", "row", 30, 30, (row, column) -> 0), isSmall), "image")
                .get(0);
        assertThat(number(map, "width")).isGreaterThan(150).isEqualTo(number(map, "height"));
        List<String> words = List.of("one", "small", "word", "small");
        Element wordMap = draw(Drawing.wordMap("map", "to", "from", words, 1, (row, column) -> 0), isSmall);
        Element cells = elements(wordMap, "image").get(0);
        assertThat(number(cells, "width")).isEqualTo(number(cells, "height"));
        assertThat(elements(wordMap, "text").stream().map(Element::getTextContent))
                .contains("0 one", "1 small", "2 word", "3 small");
    }

    /** Returns the points of a path, in the coordinates of the axes. */
    private static double[][] points(Element path) {
        return Arrays.stream(path.getAttribute("d").substring(1).split("L"))
                .map(point -> Arrays.stream(point.split(" "))
                        .mapToDouble(Double::parseDouble)
                        .toArray())
                .toArray(double[][]::new);
    }

    private static Element axes(Element svg) {
        return elements(svg, "svg").get(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {50, 62, 201})
    void labelsOfLinesNameTheirPoints(int count) {
        XYChart chart = Drawing.lines("lines", "x", "y");
        Drawing.line(chart, "line", count, x -> 5 - 12.0 * x / count);
        Element svg = draw(chart, false);
        Element axes = axes(svg);
        double[][] points = points(elements(axes, "path").get(0));
        assertThat(points).hasDimensions(count, 2);
        List<Element> columns = labels(svg, "middle");
        List<Element> rows = labels(svg, "end");
        assertThat(columns).hasSizeBetween(4, 14);
        assertThat(rows).hasSizeBetween(4, 12);
        for (Element column : columns) {
            double[] point = points[(int) value(column)];
            assertThat(number(axes, "x") + point[0]).isCloseTo(number(column, "x"), within(3 * ROUNDED));
        }
        double perUnit = (points[count - 1][1] - points[0][1]) / (12.0 * (count - 1) / count);
        for (Element row : rows) {
            double y = number(axes, "y") + points[0][1] + (5 - value(row)) * perUnit;
            assertThat(number(row, "y")).isCloseTo(y, within(4 * ROUNDED));
        }
    }

    @Test
    void stepsOfLabelsAreRound() {
        for (double greatest : new double[] {0.07, 1, 3, 17, 250, 99_999}) {
            XYChart chart = Drawing.lines("lines", "x", "y");
            Drawing.line(chart, "line", new double[] {0, greatest}, new double[] {0, 1});
            List<Element> labels = labels(draw(chart, true), "middle");
            double step = value(labels.get(1)) - value(labels.get(0));
            double leading = step / Math.pow(10, Math.floor(Math.log10(step) + 1e-9));
            assertThat(leading).as("%s", greatest).isCloseTo(Math.rint(leading), within(1e-9));
            assertThat(Math.rint(leading)).as("%s", greatest).isIn(1.0, 2.0, 5.0);
        }
    }

    @Test
    void powersOfTenAreAtEqualDistances() {
        XYChart chart = Drawing.lines("lines", "x", "y");
        chart.getStyler().setXAxisLogarithmic(true).setYAxisLogarithmic(true);
        Drawing.line(chart, "line", new double[] {1, 10, 100, 1000}, new double[] {1e-8, 1e-7, 0, 1e-5});
        Element svg = draw(chart, false);
        assertThat(elements(svg, "text").stream().map(Element::getTextContent))
                .contains("1", "10", "100", "1,000", "10⁻⁸", "10⁻⁷", "10⁻⁶", "10⁻⁵");
        // 0 has no logarithm: the line has a gap
        String path = elements(axes(svg), "path").get(0).getAttribute("d");
        double width = number(axes(svg), "width");
        assertThat(path).matches("M0 [\\d.]+L[\\d.]+ [\\d.]+M[\\d.]+ [\\d.]+");
        assertThat(Double.parseDouble(path.replaceAll(".*L| .*", ""))).isCloseTo(width / 3, within(2 * ROUNDED));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void circleIsRound(boolean isSmall) {
        XYChart chart = Drawing.plane("plane", "x", "y", 1.5, -0.5, 1.2);
        Drawing.circle(chart, "circle", 1.5, -0.5, 1);
        Drawing.hands(chart, "hand", 1.5, -0.5, new double[] {2.5}, new double[] {-0.5}, "3");
        Element svg = draw(chart, isSmall);
        assertRound(points(elements(axes(svg), "path").get(0)));
        assertRound(points(
                elements(axes(parse(SvgChart.cover(chart).element("xmlns=\"http://www.w3.org/2000/svg\""))), "path")
                        .get(0)));
        assertThat(elements(svg, "text").stream().map(Element::getTextContent)).contains("3");
    }

    private static void assertRound(double[]... points) {
        for (double[] point : points) {
            // opposite points of the circle have the same distance everywhere
            double[] across = points[0];
            double[] opposite = points[90];
            double centerX = (across[0] + opposite[0]) / 2;
            double centerY = (across[1] + opposite[1]) / 2;
            double radius = Math.hypot(across[0] - centerX, across[1] - centerY);
            assertThat(Math.hypot(point[0] - centerX, point[1] - centerY)).isCloseTo(radius, within(3 * ROUNDED));
        }
    }

    @Test
    void colorsAreVariablesOfThePage() {
        XYChart chart = Drawing.lines("lines", "x", "y");
        for (int i = 0; i < 7; i++) {
            Drawing.line(chart, "line " + i, 5, x -> x);
        }
        List<Element> paths = elements(axes(draw(chart, false)), "path");
        assertThat(paths.get(1).getAttribute("stroke")).isEqualTo("var(--line-1, #d55e00)");
        assertThat(paths.get(6).getAttribute("stroke")).isEqualTo("currentColor");
    }

    @Test
    void linesAreNamedInTheLegendWithTheirSymbols() {
        XYChart chart = Drawing.lines("A & B < C", "x", "y");
        Drawing.line(chart, "first", 5, x -> x);
        Drawing.line(chart, "second", 5, x -> 2 * x);
        Element svg = draw(chart, false);
        assertThat(elements(svg, "text").stream().map(Element::getTextContent))
                .containsSubsequence("A & B < C", "y", "x", "first", "second");
        assertThat(elements(svg, "path").stream()
                        .filter(path -> path.getAttribute("d").equals("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0")))
                .hasSize(5 + 1);
        assertThat(elements(svg, "path").stream()
                        .filter(path -> path.getAttribute("d").endsWith("h24")))
                .hasSize(2);
    }
}
