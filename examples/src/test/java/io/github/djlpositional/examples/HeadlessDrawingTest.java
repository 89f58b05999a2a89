package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.Font;
import java.awt.font.FontRenderContext;
import java.io.InputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class HeadlessDrawingTest {

    /** Has different widths in the fonts of Debian and Java. */
    private static final String TEXT = "The quick brown fox jumps over √2 lazy dogs ÷ 10⁻⁴";

    @Test
    @EnabledOnOs(OS.LINUX)
    void drawsWithTheFontsOfTheClassPath() throws Exception {
        HeadlessDrawing.prepare();
        FontRenderContext context = new FontRenderContext(null, true, true);
        for (int style : new int[] {Font.PLAIN, Font.BOLD}) {
            String file = "/liberation/LiberationSans-" + (style == Font.PLAIN ? "Regular" : "Bold") + ".ttf";
            try (InputStream in = HeadlessDrawingTest.class.getResourceAsStream(file)) {
                Font bundled = Font.createFont(Font.TRUETYPE_FONT, in).deriveFont(20f);
                for (String family : new String[] {Font.SANS_SERIF, Font.MONOSPACED, Font.DIALOG}) {
                    double width = new Font(family, style, 20)
                            .getStringBounds(TEXT, context)
                            .getWidth();
                    assertThat(width)
                            .as("%s %d", family, style)
                            .isEqualTo(bundled.getStringBounds(TEXT, context).getWidth());
                }
            }
        }
    }
}
