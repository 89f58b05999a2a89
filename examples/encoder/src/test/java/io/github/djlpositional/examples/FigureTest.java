package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class FigureTest {

    private static final HeatMapChart MAP =
            HeatMapChart.of("map & more", "column", "row", 8, 8, (row, column) -> row == column ? 1 : -1);

    @Test
    void pageHasOneElementForEachChart() {
        String html = new Figure(3, List.of(MAP, MAP, MAP, MAP, MAP)).html();
        assertThat(html)
                .startsWith("<div class=\"charts small\" style=\"--columns: 3\">")
                .contains("role=\"img\" aria-label=\"map &amp; more\"")
                .endsWith("</div>\n");
        assertThat(html.split("<svg viewBox=\"0 0 ", -1)).hasSize(1 + 5);
        assertThat(new Figure(2, List.of(MAP, MAP)).html()).startsWith("<div class=\"charts pair few\"");
    }

    @Test
    void fileHasTheChartsInRowsAndItsOwnColors() {
        String svg = new Figure(2, List.of(MAP, MAP, MAP, MAP)).svg();
        assertThat(svg)
                .startsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts-file\" viewBox=\"0 0 528 ")
                .contains("prefers-color-scheme: dark")
                .containsSubsequence(
                        "x=\"16\" y=\"16\" width=\"240\"",
                        "x=\"272\" y=\"16\" width=\"240\"",
                        "x=\"16\" y=\"",
                        "width=\"240\"");
    }

    @Test
    void coverHasNoText() {
        assertThat(new Figure(1, List.of(MAP)).cover())
                .startsWith("<svg viewBox=\"0 0 180 110\"")
                .doesNotContain("<text");
    }

    @Test
    void rejectsAxesWithoutTitlesAndIdentifiers() {
        assertThatThrownBy(() -> LineChart.of("A chart", "x", ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("A chart");
        LineChart chart = LineChart.of("A chart", "x", "y");
        assertThatThrownBy(() -> chart.line("transformer_xl", 2, x -> x))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("transformer_xl");
    }
}
