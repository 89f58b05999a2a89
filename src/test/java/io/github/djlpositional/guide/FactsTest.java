package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.FireBiasBlock;
import io.github.djlpositional.relative.GaussianBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares numbers of the guide with the code and with the files of results. */
class FactsTest {

    private static final String CHOICE = "docs/choosing.md";

    static Stream<Arguments> defaults() {
        return Stream.of(
                Arguments.of(
                        "README.md",
                        "`optMaxSequenceLength\\(20_000\\)` \\(default (\\w+)\\)",
                        "maxSequenceLength",
                        PositionalEncodingBlock.builder().setEmbeddingSize(2).build()),
                Arguments.of(
                        CHOICE,
                        "`(\\w+)` \\(default\\)",
                        "resampling",
                        LearnedPositionalEncodingBlock.builder()
                                .setEmbeddingSize(2)
                                .optGrid(0, 2, 2)
                                .build()),
                Arguments.of(
                        CHOICE,
                        "`optSigma` sets its initial\\s+value, (\\d+) positions by default",
                        "sigma",
                        GaussianBiasBlock.builder().setHeadCount(1).build()),
                Arguments.of(
                        CHOICE,
                        "The network has (\\d+) hidden units as in the paper",
                        "hiddenSize",
                        FireBiasBlock.builder().setHeadCount(1).build()),
                Arguments.of(
                        CHOICE,
                        "It has (\\d+) hidden units; set `optHiddenSize`",
                        "hiddenSize",
                        WindowNetworkBiasBlock.builder()
                                .setHeadCount(1)
                                .setWindow(2, 2)
                                .build()),
                Arguments.of(CHOICE, "with k = (\\d+) buckets on each side", "buckets", disentangled()),
                Arguments.of(CHOICE, "buckets on each side and M = (\\d+)", "maxDistance", disentangled()),
                Arguments.of(
                        "docs/coming-from-pytorch.md",
                        "`dropout` of a layer, 0\\.1 by default \\| (\\w+) by default",
                        "dropoutRate",
                        TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(2)
                                        .setHeadCount(1)
                                        .build())
                                .setHiddenSize(2)
                                .build()));
    }

    private static DisentangledPositionBlock disentangled() {
        return DisentangledPositionBlock.builder()
                .setEmbeddingSize(2)
                .setHeadCount(1)
                .build();
    }

    @ParameterizedTest
    @MethodSource("defaults")
    void defaultsAreThoseOfTheCode(String page, String claim, String argument, HasArguments block) throws IOException {
        Matcher matcher = Pattern.compile(claim).matcher(Files.readString(Path.of(page)));
        assertThat(matcher.find()).isTrue();
        Object value = block.getArguments().get(argument);
        assertThat(
                        value instanceof Number number && number.doubleValue() == number.longValue()
                                ? number.longValue()
                                : value)
                .hasToString(matcher.group(1));
    }

    /** The accuracies of the tables of sentences: mean ± half of the range. */
    @Test
    void accuraciesAreThoseOfTheComparison() throws IOException {
        List<String> ranges = List.of("5-16", "17-24", "25-40");
        String[] columns = ranges.stream().map(range -> range + " words").toArray(String[]::new);
        List<Map<String, String>> page = Tables.rows(CHOICE, columns);
        List<Map<String, String>> measured = Tables.csv("examples/book/src/main/resources/comparison.csv");
        // sinusoids are in both tables of the page
        assertThat(page).hasSize(measured.size() + 1);
        for (Map<String, String> row : page) {
            assertThat(measured)
                    .as("%s", row)
                    .anyMatch(kind -> ranges.stream().allMatch(range -> {
                        String[] cell = row.get(range + " words").split(" ± ", -1);
                        double halfRange = (number(kind, "greatest " + range) - number(kind, "least " + range)) / 2;
                        return isRounded(cell[0], number(kind, "mean " + range)) && isRounded(cell[1], halfRange);
                    }));
        }
    }

    /** The losses of the table of a text, and the largest half of a range beside them. */
    @Test
    void lossesAreThoseOfTheComparison() throws IOException {
        List<Map<String, String>> page = Tables.rows(CHOICE, "positions", "1-32", "225-256", "±", "parameters");
        List<Map<String, String>> measured = Tables.csv("examples/book/src/main/resources/comparison-text.csv");
        assertThat(page).hasSameSizeAs(measured);
        for (int i = 0; i < page.size(); i++) {
            Map<String, String> losses = measured.get(i);
            double halfRange = 0;
            for (String column : losses.keySet()) {
                if (column.startsWith("mean ")) {
                    String range = column.substring("mean ".length());
                    assertThat(isRounded(page.get(i).get(range), number(losses, column)))
                            .as("%s of %s", range, page.get(i))
                            .isTrue();
                    halfRange = Math.max(
                            halfRange, (number(losses, "greatest " + range) - number(losses, "least " + range)) / 2);
                }
            }
            assertThat(isRounded(page.get(i).get("±"), halfRange)).isTrue();
            assertThat(page.get(i).get("parameters").replace(",", "")).isEqualTo(losses.get("parameters"));
        }
    }

    /** Whether a text is a number of the files of results, which have four digits, with fewer digits. */
    private static boolean isRounded(String text, double number) {
        int digits = text.length() - text.indexOf('.') - 1;
        return Math.abs(Double.parseDouble(text) - number) < 0.5 * Math.pow(10, -digits) + 0.51e-4;
    }

    private static double number(Map<String, String> row, String column) {
        return Double.parseDouble(row.get(column).replace("*", ""));
    }

    private static List<Map<String, String>> choices() throws IOException {
        return Tables.rows(CHOICE, "your case", "in code", "time", "quality");
    }

    /** Which of the kinds that were measured the code of a row is, such as distance_network; null for another one. */
    private static String kind(String code, Set<String> kinds) {
        if (code.contains("RotaryScaling.yarn") && kinds.contains("rotary_yarn")) {
            return "rotary_yarn";
        }
        String type = code.replace("`", "").toLowerCase(Locale.ROOT);
        return kinds.stream()
                .filter(kind -> type.startsWith(kind.replaceAll("[^a-z0-9]", "")))
                .findFirst()
                .orElse(null);
    }

    /** The names of kinds in the texts of cells. */
    private static final Map<String, String> NAMES = Map.of(
            "sinusoids", "sinusoidal", "ALiBi", "alibi", "unscaled", "rotary", "rotary", "rotary", "none", "none");

    static Stream<Arguments> comparisons() {
        return Stream.of(
                Arguments.of("word order", "examples/book/src/main/resources/comparison.csv"),
                Arguments.of("loss", "examples/book/src/main/resources/comparison-text.csv"));
    }

    /** The first number of a cell is that of the row's encoding, others have a name before them. */
    @ParameterizedTest
    @MethodSource("comparisons")
    void qualitiesOfTheChoicesWereMeasured(String quality, String file) throws IOException {
        Map<String, Map<String, String>> measured =
                Tables.csv(file).stream().collect(Collectors.toMap(row -> row.get("positions"), row -> row));
        List<Map<String, String>> rows = choices().stream()
                .filter(row -> row.get("quality").startsWith("[" + quality + "]"))
                .toList();
        assertThat(rows).hasSizeGreaterThan(2);
        for (Map<String, String> row : rows) {
            String cell = row.get("quality").replaceFirst("^.*?\\)", kind(row.get("in code"), measured.keySet()));
            Matcher number = Pattern.compile("(\\w+) ([0-9]+\\.[0-9]+)").matcher(cell);
            while (number.find()) {
                String kind = NAMES.getOrDefault(number.group(1), number.group(1));
                assertThat(measured.get(kind))
                        .as(cell)
                        .anySatisfy((column, value) -> assertThat(column.startsWith("mean ")
                                        && isRounded(number.group(2), Double.parseDouble(value)))
                                .isTrue());
            }
        }
    }

    /** The columns of relative times in docs/performance.md: a section of benchmarks/results.md, and a shape in it. */
    private static final Map<String, List<String>> TIMES = Map.of(
            "inference, 8 × 256", List.of("Inference", "8 × 256 × 512"),
            "inference, 1 × 1024", List.of("Inference", "1 × 1024 × 512"),
            "training, 1 × 1024", List.of("Training: forward and backward", "1 × 1024 × 512"),
            "a decoder's step at 4096", List.of("A decoder's step with a cache of the length", "1 × 4096 × 512"));

    /** The kinds of docs/performance.md whose names do not begin as those of the results. */
    private static final Map<String, String> KINDS = Map.of(
            "none, or added to the input", "none",
            "a Gaussian of the distance", "gaussian",
            "a network of the distance", "distance-network",
            "DeBERTa", "disentangled",
            "SAM's vectors", "mvitv2",
            "Swin's biases of one window", "swin",
            "Swin V2's network", "swin-v2");

    @Test
    void timesOfThePerformancePageAreThoseOfTheResults() throws IOException {
        for (Map.Entry<String, List<String>> column : TIMES.entrySet()) {
            Map<String, Double> ratios = ratios(column.getKey());
            for (Map<String, String> row : Tables.rows("docs/performance.md", column.getKey())) {
                String name = row.get("positions");
                String kind =
                        KINDS.getOrDefault(name, name.toLowerCase(Locale.ROOT).replace("'s bias", ""));
                requireTime(row.get(column.getKey()), ratios.get(kind), column.getKey() + ", " + kind);
            }
        }
    }

    /** The times of the first table of the page, for sequences of 256 and 1024 tokens. */
    @Test
    void timesOfTheChoicesAreThoseOfTheResults() throws IOException {
        List<String> columns = List.of("inference, 8 × 256", "inference, 1 × 1024");
        List<Map<String, String>> rows = choices().stream()
                .filter(row -> row.get("time").matches("[0-9.]+, [0-9.]+"))
                .toList();
        assertThat(rows).isNotEmpty();
        for (Map<String, String> row : rows) {
            String[] times = row.get("time").split(", ", -1);
            for (int i = 0; i < times.length; i++) {
                Map<String, Double> ratios = ratios(columns.get(i));
                String kind = kind(row.get("in code"), ratios.keySet());
                requireTime(times[i], ratios.get(kind), columns.get(i) + ", " + kind);
            }
        }
    }

    /** The times of each kind relative to an attention without positions: a column of the results, or the quotient. */
    private static Map<String, Double> ratios(String column) throws IOException {
        String library = "**this library**";
        String shape = TIMES.get(column).get(1) + ", ";
        List<Map<String, String>> rows =
                Tables.rowsBelow("benchmarks/results.md", TIMES.get(column).get(0), "shape", "not fused", library);
        Map<String, Map<String, String>> kinds = rows.stream()
                .filter(row -> row.get("shape").startsWith(shape))
                .collect(Collectors.toMap(row -> row.get("shape").substring(shape.length()), row -> row));
        double none = number(kinds.get("none"), library);
        return kinds.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, kind -> {
            Map<String, String> row = kind.getValue();
            return row.containsKey("÷ none") ? number(row, "÷ none") : number(row, library) / none;
        }));
    }

    /** A page has one digit of a ratio; an empty cell was not measured. */
    private static void requireTime(String cell, Double ratio, String description) {
        if (!cell.isEmpty()) {
            assertThat(Double.parseDouble(cell)).as(description).isCloseTo(ratio, within(0.0501));
        }
    }
}
