package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What was measured of trained models. It is part of the book, because training takes minutes. */
public final class Measured {

    /** The accuracies of encoders by the length of the sentence, from {@code compare}. */
    public static final String SENTENCES = "comparison";

    /** The losses of language models by position, from {@code compare --on text}. */
    public static final String TEXT = "comparison-text";

    private Measured() {}

    private static String text(String resource) {
        try {
            return new String(new Resource(resource, "djl-positional-book").read(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the numbers of each row of a CSV file by the cells before the first number with a point. */
    private static Map<String, double[]> rows(String file) {
        Map<String, double[]> rows = new LinkedHashMap<>();
        for (String line : text("/" + file + ".csv").lines().toList()) {
            String name = line.replaceFirst(",?-?\\d+\\.\\d.*", "");
            String[] numbers =
                    line.substring(name.length()).replaceFirst("^,", "").split(",", -1);
            // a header has no numbers
            if (!name.equals(line)) {
                rows.put(
                        name.isEmpty() ? "" + rows.size() : name,
                        Stream.of(numbers).mapToDouble(Double::parseDouble).toArray());
            }
        }
        return rows;
    }

    /**
     * Returns a table of a comparison: a number for each size by the name of the kind.
     *
     * @param file {@link #SENTENCES} or {@link #TEXT}
     * @param statistic what was computed of several runs: {@code mean}, {@code least} or {@code greatest}
     */
    public static Map<String, double[]> of(String file, String statistic) {
        int first = List.of("mean", "least", "greatest").indexOf(statistic);
        Map<String, double[]> rows = rows(file);
        rows.replaceAll((kind, numbers) -> each(numbers.length / 3, i -> numbers[3 * i + first]));
        return rows;
    }

    /**
     * Returns numbers at the distances 0, 1, 2, … of the heads of a language model, which {@code compare --on text}
     * saves, by names like {@code layer 1, head 2}.
     *
     * @param file {@code biases-text}, what learned biases add to the scores of the last query; or
     *     {@code trained/decoder}, the weights of a model with rotary embeddings, of which {@code none} is the same
     *     model without them, with names like {@code layer 1, head 2, mean} and {@code 10 %} and {@code 90 %} for
     *     quantiles
     * @param kind the encoding, for example {@code kerple}
     */
    public static Map<String, double[]> heads(String file, String kind) {
        Map<String, double[]> heads = new LinkedHashMap<>();
        rows(file).forEach((name, numbers) -> {
            if (name.startsWith(kind + ",")) {
                String[] cells = name.split(",", -1);
                String statistic = cells.length > 3 ? ", " + cells[3] : "";
                heads.put("layer " + cells[1] + ", head " + cells[2] + statistic, numbers);
            }
        });
        return heads;
    }

    /** Returns the attention of the encoder with sinusoids over six definitions, from {@code inspect}. */
    public static List<AttentionMaps> attention() {
        Map<String, Map<String, List<double[]>>> sentences = new LinkedHashMap<>();
        rows("trained/attention").forEach((name, weights) -> {
            String[] cells = name.split(",", -1);
            sentences
                    .computeIfAbsent(cells[0], words -> new LinkedHashMap<>())
                    .computeIfAbsent(cells[1], layer -> new ArrayList<>())
                    .add(weights);
        });
        return sentences.entrySet().stream()
                .map(sentence -> new AttentionMaps(
                        List.of(sentence.getKey().split(" ", -1)),
                        List.copyOf(sentence.getValue().values())))
                .toList();
    }

    /** Returns the table of an encoder with learned positions, a row for each position, from {@code inspect}. */
    public static double[][] positions() {
        return rows("trained/positions").values().toArray(double[][]::new);
    }
}
