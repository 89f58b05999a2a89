package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The biases that small language models have learned, from the table that {@code compare --on text} saves. */
public final class TrainedBias {

    private static final Resource TABLE = new Resource("/biases-text.csv", "djl-positional-examples");

    private TrainedBias() {}

    /**
     * Returns the biases of the heads of one model.
     *
     * @param kind the name of the kind in the table, for example {@code kerple}
     * @return for each layer and head the biases of the keys 0, 1, 2, … characters before the query; empty for a kind
     *     that learns no biases
     * @throws IOException if the table cannot be read
     */
    public static Map<String, double[]> of(String kind) throws IOException {
        Map<String, double[]> heads = new LinkedHashMap<>();
        new String(TABLE.read(), StandardCharsets.UTF_8)
                .lines()
                .map(line -> line.split(","))
                .filter(cells -> cells[0].equals(kind))
                .forEach(cells -> heads.put(
                        "layer " + cells[1] + ", head " + cells[2],
                        each(cells.length - 3, distance -> Double.parseDouble(cells[distance + 3]))));
        return heads;
    }
}
