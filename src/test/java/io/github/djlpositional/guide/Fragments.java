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
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The generated parts of the pages, from the code and from files of measured numbers:
 *
 * <ul>
 *   <li>{@code <!-- code: ReadmeCodeTest#pairing -->}: the lines between {@code tag::pairing[]} and
 *       {@code end::pairing[]} of that test, as the block of Java that follows
 *   <li>{@code <!-- table: times -->}: a table
 *   <li>{@code <!-- accuracy: rotary: 5-16 -->0.94<!-- end -->}: a value in a line
 * </ul>
 */
final class Fragments {

    /** The classes that blocks of Java come from. */
    private static final List<Path> CODE = List.of(
            Path.of("src/test/java/io/github/djlpositional/guide"),
            Path.of("examples/encoder/src/test/java/io/github/djlpositional/examples"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples/sentences"));

    private static final String SENTENCES = "examples/book/src/main/resources/comparison.csv";
    private static final String TEXT = "examples/book/src/main/resources/comparison-text.csv";
    private static final String RESULTS = "benchmarks/results.md";
    private static final String LIBRARY = "**this library**";

    /** The columns of relative times: a section of the results, and a shape in it. */
    private static final Map<String, List<String>> TIMED = new LinkedHashMap<>();

    static {
        TIMED.put("inference, 8 × 256", List.of("Inference", "8 × 256 × 512"));
        TIMED.put("inference, 1 × 1024", List.of("Inference", "1 × 1024 × 512"));
        TIMED.put("training, 1 × 1024", List.of("Training: forward and backward", "1 × 1024 × 512"));
        TIMED.put("a decoder's step at 4096", List.of("A decoder's step with a cache of the length", "1 × 4096 × 512"));
    }

    /** The tables by name, from the rows that they replace. */
    static final Map<String, Table> TABLES = Map.of(
            "accuracies", old -> accuracies(),
            "losses", old -> losses(),
            "times", Fragments::times,
            "models", old -> ModelTable.models(),
            "model types", old -> ModelTable.types());

    /** The values in a line by kind, from the two parts of an argument and the text that they replace. */
    static final Map<String, Value> VALUES = Map.of(
            "default", (option, block, old) -> defaultOf(option, block),
            "count", (what, none, old) -> "" + ModelTable.count(what),
            "accuracy", (encoding, range, old) -> mean(SENTENCES, encoding, range, old),
            "loss", (encoding, range, old) -> mean(TEXT, encoding, range, old),
            "time", (encoding, columns, old) -> ratios(encoding, columns),
            "memory", (mode, encodings, old) -> memory(mode, encodings.split(", ", -1)));

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
        List<String> code = new ArrayList<>();
        int indent = -1;
        boolean isInside = false;
        for (String line : Files.readAllLines(source)) {
            if (line.strip().equals("// tag::" + parts[1] + "[]")) {
                isInside = true;
                indent = indent < 0 ? line.indexOf("//") : indent;
            } else if (line.strip().equals("// end::" + parts[1] + "[]")) {
                isInside = false;
            } else if (isInside) {
                code.add(line.substring(Math.min(indent, line.length())));
            }
        }
        if (code.isEmpty()) {
            throw new AssertionError("there is no code " + name);
        }
        return String.join("\n", code);
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

    private static List<Map<String, String>> accuracies() throws IOException {
        return rows(SENTENCES, (row, cells) -> {
            for (String range : List.of("5-16", "17-24", "25-40")) {
                cells.put(range + " words", rounded(row.get("mean " + range), 3) + " ± " + halfRange(row, 3, range));
            }
        });
    }

    private static List<Map<String, String>> losses() throws IOException {
        return rows(TEXT, (row, cells) -> {
            String[] ranges = row.keySet().stream()
                    .filter(column -> column.startsWith("mean "))
                    .map(column -> column.substring("mean ".length()))
                    .toArray(String[]::new);
            for (String range : ranges) {
                cells.put(range, rounded(row.get("mean " + range), 2));
            }
            cells.put("±", halfRange(row, 2, ranges));
        });
    }

    /** The rows of a file of results, with the columns that a function adds. */
    private static List<Map<String, String>> rows(
            String file, BiConsumer<Map<String, String>, Map<String, String>> columns) throws IOException {
        return Tables.csv(file).stream()
                .map(row -> {
                    Map<String, String> cells = new LinkedHashMap<>();
                    cells.put("positions", label(row.get("positions")));
                    columns.accept(row, cells);
                    cells.put("parameters", String.format(Locale.ROOT, "%,d", Integer.valueOf(row.get("parameters"))));
                    return cells;
                })
                .toList();
    }

    /** The largest half of a range. */
    private static String halfRange(Map<String, String> row, int decimals, String... ranges) {
        double largest = Arrays.stream(ranges)
                .mapToDouble(range -> number(row, "greatest " + range) - number(row, "least " + range))
                .max()
                .orElseThrow();
        return String.format(Locale.ROOT, "%." + decimals + "f", largest / 2);
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
            for (String column : TIMED.keySet()) {
                if (!row.get(column).isEmpty()) {
                    cells.put(column, ratios(row.get("positions"), column));
                }
            }
            rows.add(cells);
        }
        return rows;
    }

    /** The times of an encoding relative to no encoding, of each column whose name begins with a text. */
    private static String ratios(String encoding, String columns) throws IOException {
        List<String> ratios = new ArrayList<>();
        for (Map.Entry<String, List<String>> column : TIMED.entrySet()) {
            if (column.getKey().startsWith(columns)) {
                Map<String, Map<String, String>> results =
                        results(column.getValue().get(0), column.getValue().get(1));
                Map<String, String> row = results.get(encoding);
                double ratio = row.containsKey("÷ none")
                        ? number(row, "÷ none")
                        : number(row, LIBRARY) / number(results.get("none"), LIBRARY);
                ratios.add(rounded("" + ratio, 1));
            }
        }
        return String.join(", ", ratios);
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

    /** The rows of a section of the results by the encoding in them. */
    private static Map<String, Map<String, String>> results(String section, String shape) throws IOException {
        return Tables.rowsBelow(RESULTS, section, "shape", "not fused", LIBRARY).stream()
                .filter(row -> row.get("shape").startsWith(shape + ", "))
                .collect(Collectors.toMap(row -> label(row.get("shape").substring(shape.length() + 2)), row -> row));
    }
}
