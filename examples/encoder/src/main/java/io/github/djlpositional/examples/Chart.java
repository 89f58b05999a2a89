package io.github.djlpositional.examples;

/** A chart with the titles of its axes; a {@link Figure} draws it. */
public abstract sealed class Chart permits LineChart, HeatMapChart {

    private final String title;
    private final String xTitle;
    private final String yTitle;
    private boolean hasLegend = true;

    Chart(String title, String xTitle, String yTitle) {
        this.title = title;
        this.xTitle = words(xTitle);
        this.yTitle = words(yTitle);
        words(title);
    }

    /** Returns a text of the chart if a reader understands it: it is there, and not an identifier. */
    final String words(String text) {
        if (text.isBlank() || text.contains("_")) {
            throw new IllegalArgumentException(String.format(
                    "chart '%s' has the text '%s': expected words for its title, its axes and its series; do not leave"
                            + " them out, and do not use identifiers",
                    title, text));
        }
        return text;
    }

    public final String title() {
        return title;
    }

    public final String xTitle() {
        return xTitle;
    }

    public final String yTitle() {
        return yTitle;
    }

    /** Leaves out the names of the lines, or the scale of the colors. */
    public final void hideLegend() {
        hasLegend = false;
    }

    final boolean hasLegend() {
        return hasLegend;
    }

    /** Returns true if both axes have the same scale. */
    abstract boolean isSquare();
}
