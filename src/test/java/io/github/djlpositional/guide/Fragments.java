package io.github.djlpositional.guide;

import ai.djl.nn.Block;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.huggingface.ModelTable;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.options.OptionTypes;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The generated parts of the pages, from the code and from files of measured numbers:
 *
 * <ul>
 *   <li>{@code <!-- code: ReadmeCodeTest#layer -->}: the lines between {@code tag::layer[]} and {@code end::layer[]} of
 *       that test, as the block of Java that follows
 *   <li>{@code <!-- table: times -->}: a table
 *   <li>{@code <!-- accuracy: rotary: 5-16 -->0.94<!-- end -->}: a value in a line
 * </ul>
 */
final class Fragments {

    /** The classes that blocks of Java come from. */
    private static final List<Path> CODE = List.of(
            Path.of("src/test/java/io/github/djlpositional/guide"),
            Path.of("src/test/java/org/example"),
            Path.of("examples/encoder/src/test/java/io/github/djlpositional/examples"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples/sentences"));

    private static final String SENTENCES = "examples/book/src/main/resources/comparison.csv";
    private static final String TEXT = "examples/book/src/main/resources/comparison-text.csv";
    private static final String RESULTS = "benchmarks/results.md";
    private static final String LIBRARY = "**this library**";

    /** The tables by name, from the rows that they replace. */
    static final Map<String, Table> TABLES = Map.of(
            "accuracies", old -> means(SENTENCES, 3),
            "losses", old -> means(TEXT, 2),
            "times", Fragments::times,
            "models", old -> ModelTable.models(),
            "model types", old -> ModelTable.types());

    /** The values in a line by kind, from the two parts of an argument and the text that they replace. */
    static final Map<String, Value> VALUES = Map.of(
            "default", (option, block, old) -> defaultOf(option, block),
            "count", (what, none, old) -> "" + ModelTable.count(what),
            "accuracy", (encoding, range, old) -> mean(SENTENCES, encoding, range, old),
            "loss", (encoding, range, old) -> mean(TEXT, encoding, range, old),
            "time", (encoding, column, old) -> ratio(encoding, column),
            "memory", (mode, encodings, old) -> memory(mode, encodings.split(", ", -1)),
            "addition", (column, allocator, old) -> addition(column, allocator));

    private Fragments() {}

    interface Table {
        List<Map<String, String>> rows(List<Map<String, String>> old) throws IOException;
    }

    interface Value {
        String text(String first, String second, String old) throws IOException;
    }

    static String code(String name) throws IOException {
        String[] parts = name.split("#", -1);
        Path source = CODE.stream()
                .map(folder -> folder.resolve(parts[0] + ".java"))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> new AssertionError("there is no test " + name));
        String tag = parts[1] + "\\[\\]\n";
        String code = Pattern.compile(" *// tag::" + tag + "(.*?) *// end::" + tag, Pattern.DOTALL)
                .matcher(Files.readString(source))
                .results()
                .map(lines -> lines.group(1))
                .collect(Collectors.joining());
        if (code.isEmpty()) {
            throw new AssertionError("there is no code " + name);
        }
        return code.stripTrailing().stripIndent();
    }

    /** The value of an option of a block with some other arguments. */
    private static String defaultOf(String option, String arguments) {
        Map<?, ?> map = JsonUtils.GSON.fromJson(arguments, Map.class);
        HasArguments block = (HasArguments) OptionTypes.create("a default", Block.class, map);
        Object value = block.getArguments().get(option);
        return value instanceof Number
                ? value.toString().replaceFirst("\\.0(?=E|$)", "").replace('E', 'e')
                : "`" + value + "`";
    }

    /** A mean in a file of results, with as many decimals as it had. */
    private static String mean(String file, String encoding, String range, String old) throws IOException {
        return Tables.csv(file).stream()
                .filter(row -> label(row.get("positions")).equals(encoding))
                .findFirst()
                .map(row -> rounded(row.get("mean " + range), old.length() - old.indexOf('.') - 1))
                .orElseThrow(() -> new AssertionError(file + " has no row for " + encoding));
    }

    private static String rounded(String number, int decimals) {
        return new BigDecimal(number).setScale(decimals, RoundingMode.HALF_EVEN).toString();
    }

    /** The means of a file of results, ± half of the range of the runs. */
    private static List<Map<String, String>> means(String file, int decimals) throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        for (Map<String, String> row : Tables.csv(file)) {
            Map<String, String> cells = new LinkedHashMap<>();
            cells.put("positions", label(row.get("positions")));
            row.forEach((column, mean) -> {
                if (column.startsWith("mean ")) {
                    String range = column.substring("mean ".length());
                    double halfRange = (number(row, "greatest " + range) - number(row, "least " + range)) / 2;
                    cells.put(
                            range,
                            rounded(mean, decimals) + String.format(Locale.ROOT, " ± %." + decimals + "f", halfRange));
                }
            });
            cells.put("parameters", String.format(Locale.ROOT, "%,d", (int) number(row, "parameters")));
            rows.add(cells);
        }
        return rows;
    }

    private static double number(Map<String, String> row, String column) {
        return Double.parseDouble(row.get(column).replace("*", ""));
    }

    /** The name of an encoding for the name that files of results have for it: KERPLE power for kerple_power. */
    private static String label(String kind) {
        String words = words(kind);
        return RelativeEncoding.names().stream()
                .filter(name -> (words + " ").startsWith(words(name) + " "))
                .max(Comparator.comparing(String::length))
                .map(name -> name + words.substring(name.length()))
                .orElse(words);
    }

    private static String words(String name) {
        return name.toLowerCase(Locale.ROOT).replaceAll("[_-]", " ");
    }

    /** The cells of times that are not empty: empty ones have no meaning. */
    private static List<Map<String, String>> times(List<Map<String, String>> old) throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        for (Map<String, String> row : old) {
            Map<String, String> cells = new LinkedHashMap<>(row);
            for (String column : row.keySet()) {
                if (column.contains(" × ") && !row.get(column).isEmpty()) {
                    cells.put(column, ratio(row.get("positions"), column));
                }
            }
            rows.add(cells);
        }
        return rows;
    }

    /** The time of an encoding relative to no encoding, for a section of the results and a shape in it. */
    private static String ratio(String encoding, String column) throws IOException {
        String[] parts = column.split(", ", -1);
        Map<String, Map<String, String>> results = results(parts[0], parts[1] + " × 512");
        Map<String, String> row = results.get(encoding);
        double ratio = row.containsKey("÷ none")
                ? number(row, "÷ none")
                : number(row, LIBRARY) / number(results.get("none"), LIBRARY);
        return rounded("" + ratio, 1);
    }

    /** The memory of a process with some encodings, in MB: the smallest to the largest number. */
    private static String memory(String mode, String... encodings) throws IOException {
        Map<String, Map<String, String>> results = results(
                "Peak memory of a process in " + mode, mode.equals("training") ? "1 × 1024 × 512" : "1 × 4096 × 512");
        List<Integer> sizes = Stream.of(encodings)
                .map(encoding -> (int) number(results.get(encoding), LIBRARY))
                .sorted()
                .distinct()
                .toList();
        int last = sizes.size() - 1;
        return last == 0 ? "" + sizes.get(0) : sizes.get(0) + " to " + sizes.get(last);
    }

    /** A column of the largest addition with an allocator, of which each has a section of the results. */
    private static String addition(String column, String allocator) throws IOException {
        List<Map<String, String>> rows = Tables.rowsBelow(RESULTS, "Adding the encodings", "shape", column).stream()
                .filter(row -> row.get("shape").equals("8 × 2048 × 1024"))
                .toList();
        int index = List.of("default", "huge pages", "tuned").indexOf(allocator);
        return String.format(Locale.ROOT, "%,.0f", number(rows.get(index), column));
    }

    /** The rows of a section of the results by the encoding in them. */
    private static Map<String, Map<String, String>> results(String section, String shape) throws IOException {
        return Tables.rowsBelow(RESULTS, section, "shape", "not fused", LIBRARY).stream()
                .filter(row -> row.get("shape").startsWith(shape + ", "))
                .collect(Collectors.toMap(row -> label(row.get("shape").substring(shape.length() + 2)), row -> row));
    }
}
