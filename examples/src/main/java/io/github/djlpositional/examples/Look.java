package io.github.djlpositional.examples;

import java.awt.Color;
import java.util.Map;
import java.util.stream.Collectors;

/** The page that a picture is painted for: light or dark, on a large screen or a phone. */
public enum Look {

    /** A light page on a large screen. */
    LIGHT_WIDE(false, 800),

    /** A dark page on a large screen. */
    DARK_WIDE(true, 800),

    /** A light page on a phone. */
    LIGHT_NARROW(false, 358),

    /** A dark page on a phone. */
    DARK_NARROW(true, 358);

    /** Colors that are too dark for a dark page, and the middle of heat maps, which is near the color of the page. */
    private static final Map<Color, Color> DARK = Map.of(
            Drawing.BLACK, new Color(0xF0F0F0),
            Drawing.BLUE, new Color(0x4EA3E0),
            Drawing.WHITE, new Color(0x1E2226),
            Drawing.RED, new Color(0xEF6A5A),
            Drawing.LIGHT_SHADE, new Color(0x2A6A99),
            Drawing.DARK_SHADE, new Color(0xD9EEFA));

    private static final Map<Color, Color> LIGHT =
            DARK.entrySet().stream().collect(Collectors.toMap(Map.Entry::getValue, Map.Entry::getKey));

    private final boolean isDark;
    private final int width;

    Look(boolean isDark, int width) {
        this.isDark = isDark;
        this.width = width;
    }

    /** Returns the width of a picture in CSS pixels, as in {@code page.html}. */
    int width() {
        return width;
    }

    boolean isNarrow() {
        return width == LIGHT_NARROW.width;
    }

    Color page() {
        return isDark ? new Color(0x16191D) : Color.WHITE;
    }

    Color text() {
        return isDark ? new Color(0xE4E7EA) : new Color(0x1B1F24);
    }

    Color line() {
        return isDark ? new Color(0x3A4149) : new Color(0xD0D7DE);
    }

    /** Returns the counterpart of a color of a chart, which may have been painted for any page before. */
    Color of(Color color) {
        return (isDark ? DARK : LIGHT).getOrDefault(color, color);
    }
}
