package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;

/** What {@link Training} has written of trained encoders. It is part of the book, because training takes minutes. */
public final class Trained {

    private Trained() {}

    private static String csv(String name) throws IOException {
        byte[] file = new Resource("/trained/" + name + ".csv", "djl-positional-book").read();
        return new String(file, StandardCharsets.UTF_8);
    }

    private static double[] numbers(CSVRecord row, int first) {
        return row.stream().skip(first).mapToDouble(Double::parseDouble).toArray();
    }

    /** Returns the attention of the encoder with sinusoids over {@link Training#SENTENCES}. */
    public static List<AttentionMaps> attention() throws IOException {
        List<AttentionMaps> sentences = new ArrayList<>();
        List<List<double[]>> layers = List.of();
        for (CSVRecord row : CSVFormat.DEFAULT.parse(new StringReader(csv("attention")))) {
            int layer = Integer.parseInt(row.get(1));
            int head = Integer.parseInt(row.get(2));
            if (layer == 0 && head == 0) {
                layers = new ArrayList<>();
                sentences.add(new AttentionMaps(List.of(row.get(0).split(" ", -1)), layers));
            }
            if (head == 0) {
                layers.add(new ArrayList<>());
            }
            layers.get(layer).add(numbers(row, 3));
        }
        return sentences;
    }

    /** Returns the table of an encoder with learned positions, a row for each position. */
    public static double[][] positions() throws IOException {
        List<double[]> rows = new ArrayList<>();
        for (CSVRecord row : CSVFormat.DEFAULT.parse(new StringReader(csv("positions")))) {
            rows.add(numbers(row, 0));
        }
        return rows.toArray(double[][]::new);
    }

    /**
     * Returns how much the heads of a language model with rotary embeddings attend to the characters before, which
     * {@code compare --on text} saves: the weights at the distances 0, 1, 2, …, by kind, layer, head and statistic, for
     * example {@code rotary, layer 1, head 2, mean}. The kind {@code none} is the same model without rotary embeddings.
     */
    public static Map<String, double[]> decoder() throws IOException {
        Map<String, double[]> rows = new LinkedHashMap<>();
        for (CSVRecord row : CSVFormat.DEFAULT.parse(new StringReader(csv("decoder")))) {
            String head = "%s, layer %s, head %s, %s".formatted(row.get(0), row.get(1), row.get(2), row.get(3));
            rows.put(head, numbers(row, 4));
        }
        return rows;
    }
}
