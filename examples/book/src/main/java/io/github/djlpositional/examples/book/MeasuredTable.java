package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Resource;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;

/**
 * A table that a command of {@code train-encoder.jar} has measured for the guide.
 *
 * @param sizes the lengths of the sentences or the ranges of positions
 * @param rows the name of each kind, and a number for each size
 */
public record MeasuredTable(List<String> sizes, Map<String, double[]> rows) {

    /** The accuracies of encoders by the length of the sentence, from {@code compare}. */
    public static final String SENTENCES = "/comparison.csv";

    /** The losses of language models by position, from {@code compare --on text}. */
    public static final String TEXT = "/comparison-text.csv";

    /**
     * Reads a table.
     *
     * @param file its name on the class path
     * @param statistic what was computed of several runs: {@code mean}, {@code least} or {@code greatest}
     * @return the table
     * @throws IOException if it cannot be read
     */
    public static MeasuredTable of(String file, String statistic) throws IOException {
        CSVFormat format = CSVFormat.DEFAULT
                .builder()
                .setHeader()
                .setSkipHeaderRecord(true)
                .get();
        byte[] table = new Resource(file, "djl-positional-examples").read();
        try (CSVParser csv = CSVParser.parse(
                new InputStreamReader(new ByteArrayInputStream(table), StandardCharsets.UTF_8), format)) {
            List<String> sizes = csv.getHeaderNames().stream()
                    .filter(name -> name.startsWith(statistic + " "))
                    .map(name -> name.substring(statistic.length() + 1))
                    .toList();
            Map<String, double[]> rows = new LinkedHashMap<>();
            for (CSVRecord row : csv) {
                List<Double> numbers = new ArrayList<>();
                for (String size : sizes) {
                    numbers.add(Double.parseDouble(row.get(statistic + " " + size)));
                }
                rows.put(
                        row.get("positions"),
                        numbers.stream().mapToDouble(Double::doubleValue).toArray());
            }
            return new MeasuredTable(sizes, rows);
        }
    }
}
