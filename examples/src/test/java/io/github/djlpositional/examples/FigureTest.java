package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.Styler.LegendLayout;

class FigureTest {

    private static XYChart lines(int count) {
        XYChart chart = Drawing.lines("A title that is long, but not too long for a phone", "position", "value");
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
    @EnumSource
    void hasTheWidthOfItsPageAndAMarginInItsColor(Look look) {
        int page = (look.name().startsWith("DARK") ? new Color(0x16191D) : Color.WHITE).getRGB();
        for (int count : new int[] {1, 3, 8}) {
            BufferedImage picture = new Figure(1, List.of(lines(count))).paint(look);
            // two pixels for each CSS pixel
            assertThat(picture.getWidth()).isEqualTo(look.name().endsWith("WIDE") ? 1600 : 716);
            // no text is cut off
            assertThat(row(picture, 0)).containsOnly(page);
            assertThat(row(picture, picture.getHeight() - 1)).containsOnly(page);
            assertThat(column(picture, 0)).containsOnly(page);
            assertThat(column(picture, picture.getWidth() - 1)).containsOnly(page);
        }
    }

    @Test
    void looksTheSameInAnyOrderOfPages() {
        Figure figure = new Figure(1, List.of(lines(8)));
        BufferedImage first = figure.paint(Look.LIGHT_WIDE);
        for (Look look : Look.values()) {
            figure.paint(look);
        }
        BufferedImage again = figure.paint(Look.LIGHT_WIDE);
        assertThat(again.getHeight()).isEqualTo(first.getHeight());
        for (int y = 0; y < first.getHeight(); y++) {
            assertThat(row(again, y)).as("row %d", y).isEqualTo(row(first, y));
        }
    }

    @Test
    void theMiddleOfAHeatMapIsNearTheColorOfThePage() {
        HeatMapChart chart = map();
        Figure figure = new Figure(1, List.of(chart));
        figure.paint(Look.DARK_WIDE);
        assertThat(chart.getStyler().getRangeColors()[1]).isEqualTo(new Color(0x1E2226));
        figure.paint(Look.LIGHT_WIDE);
        assertThat(chart.getStyler().getRangeColors())
                .containsExactly(new Color(0x2166AC), new Color(0xF7F7F7), new Color(0xB2182B));
    }

    @Test
    void aBlackLineIsLightOnADarkPage() {
        XYChart chart = lines(7);
        Figure figure = new Figure(1, List.of(chart));
        figure.paint(Look.LIGHT_WIDE);
        assertThat(chart.getSeries("line 6").getLineColor()).isEqualTo(Color.BLACK);
        figure.paint(Look.DARK_WIDE);
        assertThat(chart.getSeries("line 6").getLineColor()).isEqualTo(new Color(0xF0F0F0));
    }

    @Test
    void aLegendThatIsTooLongForAPhoneIsVertical() {
        XYChart chart = lines(8);
        Figure figure = new Figure(1, List.of(chart));
        figure.paint(Look.LIGHT_WIDE);
        assertThat(chart.getStyler().getLegendLayout()).isEqualTo(LegendLayout.Horizontal);
        figure.paint(Look.LIGHT_NARROW);
        assertThat(chart.getStyler().getLegendLayout()).isEqualTo(LegendLayout.Vertical);
    }

    /** The number of charts in a row, by the centers of their upper left cells, which are red. */
    @Test
    void smallChartsAreThreeInARowAndTwoOnAPhone() {
        Figure figure = new Figure(3, List.of(map(), map(), map(), map(), map()));
        BufferedImage wide = figure.paint(Look.LIGHT_WIDE);
        BufferedImage narrow = figure.paint(Look.LIGHT_NARROW);
        assertThat(wide.getWidth()).isEqualTo(1596); // three of 266 CSS pixels
        assertThat(narrow.getWidth()).isEqualTo(716);
        int red = new Color(0xB2182B).getRGB();
        int wideRed = IntStream.range(0, wide.getHeight())
                .map(y -> groups(row(wide, y), red))
                .max()
                .orElseThrow();
        int narrowRed = IntStream.range(0, narrow.getHeight())
                .map(y -> groups(row(narrow, y), red))
                .max()
                .orElseThrow();
        assertThat(wideRed).isEqualTo(3);
        assertThat(narrowRed).isEqualTo(2);
    }

    /** Returns the number of runs of a color. */
    private static int groups(int[] pixels, int color) {
        return (int) IntStream.range(0, pixels.length)
                .filter(i -> pixels[i] == color && (i == 0 || pixels[i - 1] != color))
                .count();
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

    @Test
    void coverIsTheInsideOfTheFirstChartAndChangesNothing() throws Exception {
        XYChart chart = Drawing.lines("A title", "x", "y");
        Drawing.line(chart, "line", 20, x -> x);
        Figure figure = new Figure(1, List.of(chart));
        BufferedImage before = figure.paint(Look.LIGHT_WIDE);
        BufferedImage cover = ImageIO.read(new ByteArrayInputStream(figure.cover(Look.DARK_NARROW)));
        assertThat(List.of(cover.getWidth(), cover.getHeight())).containsExactly(360, 220);
        assertThat(cover.getRGB(0, 0)).isEqualTo(Look.DARK_NARROW.page().getRGB());
        // text would be light; the line is blue
        int text = Look.DARK_NARROW.text().getRGB();
        assertThat(IntStream.range(0, 220).mapToObj(y -> row(cover, y)))
                .allSatisfy(pixels -> assertThat(pixels).doesNotContain(text));
        BufferedImage after = figure.paint(Look.LIGHT_WIDE);
        for (int y = 0; y < before.getHeight(); y++) {
            assertThat(row(after, y)).isEqualTo(row(before, y));
        }
    }

    @Test
    void threeChartsAreBelowEachOtherOnAPhone() {
        Figure figure = new Figure(3, List.of(map(), map(), map()));
        assertThat(figure.paint(Look.LIGHT_NARROW).getHeight())
                .isGreaterThan(2 * figure.paint(Look.LIGHT_NARROW).getWidth());
    }

    @Test
    void pngIsSmall() throws Exception {
        byte[] png = new Figure(1, List.of(map())).png(Look.LIGHT_WIDE);
        assertThat(Arrays.copyOf(png, 4)).containsExactly(0x89, 'P', 'N', 'G');
        assertThat(png.length).isLessThan(200_000);
    }
}
