package io.github.djlpositional.guide;

import ai.djl.nn.Block;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.huggingface.ModelTable;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.OptionTypes;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
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
 *   <li>{@code <!-- table: measured -->}: a table
 *   <li>{@code <!-- count: model types -->87<!-- end -->}: a value in a line
 *   <li>{@code <!-- line: EncodingsCodeTest#rotary -->}: the initial value of the variable between such tags, as code
 * </ul>
 */
final class Fragments {

    /** The classes that blocks of Java come from. */
    private static final List<Path> CODE = List.of(
            Path.of("src/test/java/io/github/djlpositional/guide"),
            Path.of("src/test/java/org/example"),
            Path.of("examples/encoder/src/test/java/io/github/djlpositional/examples/encoder"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples"),
            Path.of("examples/models/src/test/java/io/github/djlpositional/examples/sentences"));

    private static final String SENTENCES = "examples/book/src/main/resources/comparison.csv";
    private static final String TEXT = "examples/book/src/main/resources/comparison-text.csv";
    private static final String RESULTS = "benchmarks/results.md";
    private static final String LIBRARY = "**library**";

    /** The section of the results for the first part of a column. */
    private static final Map<String, String> SECTIONS = Map.of(
            "Inference", "Attention",
            "MB in inference", "Attention",
            "Training", "Attention training",
            "MB in training", "Attention training",
            "A decoder's step", "Step",
            "Real positions", "Real positions");

    /** The cells of tables by the name of a table, from the row that a row replaces, and the column. */
    static final Map<String, Cell> TABLES = Map.of("measured", Fragments::measured, "encodings", Fragments::encoding);

    /** The values in a line by kind, from the two parts of an argument and the text that they replace. */
    static final Map<String, Value> VALUES = Map.of(
            "line", (code, none, old) -> "`" + line(code) + "`",
            "default", (option, block, old) -> defaultOf(option, block),
            "count", (what, none, old) -> "" + ModelTable.count(what),
            "types", (interleaved, none, old) -> ModelTable.interleaved(),
            "addition", (allocator, none, old) -> addition(allocator));

    private Fragments() {}

    interface Cell {
        String text(Map<String, String> old, String column) throws IOException;
    }

    interface Value {
        String text(String first, String second, String old) throws IOException;
    }

    static List<Map<String, String>> table(String name, List<Map<String, String>> old) throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        for (Map<String, String> row : old) {
            Map<String, String> cells = new LinkedHashMap<>(row);
            for (String column : row.keySet()) {
                cells.put(column, TABLES.get(name).text(row, column));
            }
            rows.add(cells);
        }
        return rows;
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

    /** The value of a variable, as code on one line. */
    private static String line(String name) throws IOException {
        String code = code(name).replaceAll("\\n\\s*", "");
        return code.substring(code.indexOf('=') + 1, code.lastIndexOf(';')).strip();
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

    /** The time of this library: 1,234.5 of "1,234.5 ± 3 %". */
    private static double time(Map<String, String> row) {
        return Double.parseDouble(row.get(LIBRARY).split(" ", 2)[0].replace(",", ""));
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

    /** The measured number that the column names, for the encoding of the first column; an empty cell stays empty. */
    private static String measured(Map<String, String> row, String column) throws IOException {
        String encoding = row.get("positions");
        String old = row.get(column);
        if (column.equals("positions") || old.isEmpty()) {
            return old;
        }
        String[] words = column.split(" ", 2);
        return switch (words[0]) {
            case "accuracy" -> mean(SENTENCES, encoding, words[1], old);
            case "loss" -> mean(TEXT, encoding, words[1], old);
            case "MB" -> results(column).get(encoding).get("peak, MB");
            default -> ratio(encoding, column);
        };
    }

    /** The positions that the block of the first column takes, and its options that have a default. */
    private static String encoding(Map<String, String> row, String column) {
        String block = row.get("block").split("`", -1)[1];
        return switch (column) {
            case "positions" -> positions(block);
            case "options" -> defaults(block);
            default -> row.get(column);
        };
    }

    private static String positions(String block) {
        EncodingType type = Stream.of(EncodingType.values())
                .filter(any -> any != EncodingType.NONE
                        && any.encoding(2).getClass().getSimpleName().equals(block))
                .findFirst()
                .orElseThrow(() -> new AssertionError(block));
        return type == EncodingType.FORGETTING ? "" : type.takesRealPositions() ? "real" : "integer";
    }

    private static String defaults(String block) {
        try {
            Class<?> options = Class.forName(RotaryEmbeddingBlock.class.getPackageName() + "." + block + "$Options");
            return Stream.of(options.getRecordComponents())
                    .filter(option -> option.isAnnotationPresent(Default.class))
                    .map(option -> "`" + option.getName() + "` "
                            + option.getAnnotation(Default.class).value())
                    .collect(Collectors.joining(", "));
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** The time of an encoding relative to no encoding, or with real positions relative to the same one without. */
    private static String ratio(String encoding, String column) throws IOException {
        Map<String, Map<String, String>> results = results(column);
        Map<String, String> base = column.startsWith("Real positions")
                ? results(column.replace("Real positions", "Inference")).get(encoding)
                : results.get("none");
        return rounded("" + time(results.get(encoding)) / time(base), 1);
    }

    /** The rows of the results for a column such as "Inference, 8 × 256", by the encoding. */
    private static Map<String, Map<String, String>> results(String column) throws IOException {
        String[] parts = column.split(", ", -1);
        return Tables.rowsBelow(RESULTS, SECTIONS.get(parts[0]), "positions", "shape", LIBRARY).stream()
                .filter(row -> row.get("shape").equals(parts[1] + " × 512"))
                .collect(Collectors.toMap(row -> label(row.get("positions")), row -> row));
    }

    /** The time of the largest addition with an allocator. */
    private static String addition(String allocator) throws IOException {
        return Tables.rowsBelow(RESULTS, "Addition", "shape", "allocator", LIBRARY).stream()
                .filter(row -> row.get("shape").equals("8 × 2048 × 1024")
                        && row.get("allocator").equals(allocator))
                .map(row -> String.format(Locale.ROOT, "%,.0f", time(row)))
                .findFirst()
                .orElseThrow(() -> new AssertionError(RESULTS + " has no addition with " + allocator));
    }
}
