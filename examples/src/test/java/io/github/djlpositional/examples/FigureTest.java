package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

class FigureTest {

    private static XYChart lines(int count) {
        XYChart chart = Drawing.lines("A title & more", "position", "value");
        for (int i = 0; i < count; i++) {
            int line = i;
            Drawing.line(chart, "line " + i, 20, x -> x * (line + 1));
        }
        return chart;
    }

    private static HeatMapChart map() {
        return Drawing.map("map", "column", "row", 8, 8, (row, column) -> row == column ? 1 : -1);
    }

    private static int[] row(BufferedImage picture, int y) {
        return IntStream.range(0, picture.getWidth())
                .map(x -> picture.getRGB(x, y))
                .toArray();
    }

    private static int[] column(BufferedImage picture, int x) {
        return IntStream.range(0, picture.getHeight())
                .map(y -> picture.getRGB(x, y))
                .toArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 8})
    void paintedPictureHasAWhiteMargin(int count) {
        BufferedImage picture = new Figure(1, List.of(lines(count))).paint();
        // two pixels for each CSS pixel
        assertThat(picture.getWidth()).isEqualTo(1600);
        // no text is cut off
        int white = Color.WHITE.getRGB();
        assertThat(row(picture, 0)).containsOnly(white);
        assertThat(row(picture, picture.getHeight() - 1)).containsOnly(white);
        assertThat(column(picture, 0)).containsOnly(white);
        assertThat(column(picture, picture.getWidth() - 1)).containsOnly(white);
    }

    @Test
    void pngIsSmall() throws Exception {
        byte[] png = new Figure(1, List.of(lines(2))).png();
        assertThat(Arrays.copyOf(png, 4)).containsExactly(0x89, 'P', 'N', 'G');
        assertThat(png.length).isLessThan(200_000);
    }

    @Test
    void pageHasOneElementForEachChart() {
        String html = new Figure(3, List.of(map(), map(), map(), map(), map())).html();
        assertThat(html)
                .startsWith("<div class=\"charts small\" style=\"--columns: 3\">")
                .endsWith("</div>\n");
        assertThat(html.split("<svg ", -1)).hasSize(1 + 5);
        assertThat(new Figure(2, List.of(map(), map())).html()).startsWith("<div class=\"charts pair few\"");
        assertThat(new Figure(1, List.of(lines(1))).html())
                .startsWith("<div class=\"charts few\"")
                .contains("role=\"img\" aria-label=\"A title &amp; more\"");
    }

    @Test
    void fileHasTheChartsInRows() {
        String svg = new Figure(2, List.of(map(), map(), map(), map())).svg();
        assertThat(svg)
                .containsSubsequence(
                        "x=\"16\" y=\"16\" width=\"240\"",
                        "x=\"272\" y=\"16\" width=\"240\"",
                        "x=\"16\" y=\"",
                        "width=\"240\"");
        assertThat(svg).startsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 528 ");
    }

    @Test
    void drawingAgainGivesTheSame() {
        Figure figure = new Figure(1, List.of(lines(8)));
        assertThat(figure.svg()).isEqualTo(figure.svg());
        String html = figure.html();
        assertThat(figure.cover()).startsWith("<svg viewBox=\"0 0 180 110\"").doesNotContain("<text");
        assertThat(figure.html()).isEqualTo(html);
    }

    @Test
    void rejectsAxesWithoutTitlesAndIdentifiers() {
        assertThatThrownBy(() -> new Figure(1, List.of(Drawing.lines("A chart", "x", ""))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("A chart");
        XYChart chart = Drawing.lines("A chart", "x", "y");
        Drawing.line(chart, "transformer_xl", 2, x -> x);
        assertThatThrownBy(() -> new Figure(1, List.of(chart)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("transformer_xl");
    }
}
