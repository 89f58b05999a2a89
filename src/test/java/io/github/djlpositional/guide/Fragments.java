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
    private static final String LIBRARY = "**this library**";

    /** The cells of tables by the name of a table, from the row that a row replaces, and the column. */
    static final Map<String, Cell> TABLES = Map.of("measured", Fragments::measured, "encodings", Fragments::encoding);

    /** The values in a line by kind, from the two parts of an argument and the text that they replace. */
    static final Map<String, Value> VALUES = Map.of(
            "line", (code, none, old) -> "`" + line(code) + "`",
            "default", (option, block, old) -> defaultOf(option, block),
            "count", (what, none, old) -> "" + ModelTable.count(what),
            "types", (interleaved, none, old) -> ModelTable.interleaved(),
            "addition", (column, allocator, old) -> addition(column, allocator));

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
            case "MB" -> memory(encoding, words[1]);
            case "Real" -> atRealPositions(encoding, column);
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

    /** The time of an encoding relative to no encoding, for a section of the results and a shape in it. */
    private static String ratio(String encoding, String column) throws IOException {
        String[] parts = column.split(", ", -1);
        Map<String, Map<String, String>> results = results(parts[0], parts[1] + " × 512", "not fused");
        Map<String, String> row = results.get(encoding);
        double ratio = row.containsKey("÷ none")
                ? number(row, "÷ none")
                : number(row, LIBRARY) / number(results.get("none"), LIBRARY);
        return rounded("" + ratio, 1);
    }

    /** The time of an encoding relative to the same one without positions: "Real positions, 8 × 256". */
    private static String atRealPositions(String encoding, String column) throws IOException {
        String[] parts = column.split(", ", -1);
        Map<String, String> row =
                results(parts[0], parts[1] + " × 512", "no positions passed").get(encoding);
        return rounded("" + number(row, "÷ no positions passed"), 1);
    }

    /** The memory of a process with an encoding, in MB: "in training, 1 × 1024". */
    private static String memory(String encoding, String column) throws IOException {
        String[] parts = column.split(", ", -1);
        Map<String, String> row = results("Peak memory of a process " + parts[0], parts[1] + " × 512", "not fused")
                .get(encoding);
        return row.get(LIBRARY).replace("*", "");
    }

    /** A column of the largest addition with an allocator, of which each has a section of the results. */
    private static String addition(String column, String allocator) throws IOException {
        List<Map<String, String>> rows = Tables.rowsBelow(RESULTS, "Adding the encodings", "shape", column).stream()
                .filter(row -> row.get("shape").equals("8 × 2048 × 1024"))
                .toList();
        int index = List.of("default", "huge pages", "tuned").indexOf(allocator);
        return String.format(Locale.ROOT, "%,.0f", number(rows.get(index), column));
    }

    /** The rows of a section of the results that has a column, by the encoding in them. */
    private static Map<String, Map<String, String>> results(String section, String shape, String column)
            throws IOException {
        return Tables.rowsBelow(RESULTS, section, "shape", column, LIBRARY).stream()
                .filter(row -> row.get("shape").startsWith(shape + ", "))
                .collect(Collectors.toMap(row -> label(row.get("shape").substring(shape.length() + 2)), row -> row));
    }
}
