package io.github.djlpositional.examples.book;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.partitioningBy;
import static java.util.stream.Collectors.toList;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The numbers that each chapter prints, and those that its notebook has, against {@code expected/NAME.txt}. A row is
 * {@code text with {} for numbers | numbers | source}. The text is a part of a printed line; the numbers are those that
 * stand for its {@code {}}, from the source: a program in Python beside the rows, a paper, or a training.
 */
class ExpectedTest {

    /** A number that stands alone, also with commas between thousands. */
    private static final String NUMBER = "[-+−]?\\d+(?:,\\d{3})*(?:\\.\\d+)?(?:e[-+]?\\d+)?";

    private static final Pattern HAS_NUMBER = Pattern.compile("(?<![\\w.])\\d");

    private static final Locale BEFORE = Locale.getDefault();

    /** Numbers have decimal points in every locale. */
    @BeforeAll
    static void useALocaleWithDecimalCommas() {
        Locale.setDefault(Locale.GERMANY);
    }

    @AfterAll
    static void restoreTheLocale() {
        Locale.setDefault(BEFORE);
    }

    /** The pattern of a printed line, whose groups are the numbers, and the numbers that are expected. */
    private record Row(Pattern pattern, List<String> numbers) {

        static Row of(String line) {
            // the text may be a row of a table
            int source = line.lastIndexOf(" | ");
            int numbers = line.lastIndexOf(" | ", source - 1);
            assertThat(numbers).as("text | numbers | source: %s", line).isPositive();
            assertThat(line.substring(source + 3)).as(line).matches("(numpy|count|trained|paper: |measured: ).*");
            String text = squeezed(line.substring(0, numbers)).replace("{}", "\\E ?(" + NUMBER + ")\\Q");
            return new Row(
                    Pattern.compile("(?<![\\d.,])\\Q" + text + "\\E"),
                    List.of(line.substring(numbers + 3, source).strip().split("\\s+", -1)));
        }

        boolean agrees(MatchResult found) {
            return found.groupCount() == numbers.size()
                    && IntStream.range(0, numbers.size()).allMatch(i -> agrees(found.group(i + 1), numbers.get(i)));
        }

        /** Whether a number is as expected, to half a unit of its last digit. */
        private static boolean agrees(String printed, String expected) {
            BigDecimal number = new BigDecimal(printed.replace(",", "").replace('−', '-'));
            BigDecimal difference =
                    number.subtract(new BigDecimal(expected.replace(",", ""))).abs();
            // the expected number may also be rounded
            return difference.compareTo(number.ulp().multiply(new BigDecimal("0.5001"))) <= 0;
        }
    }

    private static String squeezed(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }

    static List<String> chapters() {
        String[] texts = Path.of("src/main/resources/chapters").toFile().list();
        return Stream.of(texts).map(text -> text.replace(".md", "")).sorted().toList();
    }

    /** Runs a chapter, and returns what it prints. */
    private static String run(String name) throws Exception {
        PrintStream console = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, false, UTF_8));
        try {
            Class.forName(ExpectedTest.class.getPackageName() + "." + name)
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) new String[0]);
        } finally {
            System.out.flush();
            System.setOut(console);
        }
        return printed.toString(UTF_8);
    }

    /** Returns what a chapter printed when its notebook was written. */
    private static String stored(String name) throws IOException {
        Path notebook = Path.of("../../docs/book/" + name + ".ipynb");
        StringBuilder printed = new StringBuilder();
        for (JsonElement cell : JsonParser.parseString(Files.readString(notebook))
                .getAsJsonObject()
                .getAsJsonArray("cells")) {
            JsonElement outputs = cell.getAsJsonObject().get("outputs");
            for (JsonElement output : outputs == null ? new JsonArray() : outputs.getAsJsonArray()) {
                JsonElement lines = output.getAsJsonObject().get("text");
                if (lines != null) {
                    lines.getAsJsonArray().forEach(line -> printed.append(line.getAsString()));
                }
            }
        }
        return printed.toString();
    }

    @ParameterizedTest
    @MethodSource("chapters")
    void numbersAreExpected(String name) throws Exception {
        requireExpected(name, run(name));
    }

    /** The last digit may be another one than on this processor. */
    @ParameterizedTest
    @MethodSource("chapters")
    void numbersOfTheNotebookAreExpected(String name) throws IOException {
        requireExpected(name, stored(name));
    }

    private static void requireExpected(String name, String output) throws IOException {
        List<String> printed = output.lines().map(ExpectedTest::squeezed).toList();
        String text = String.join("\n", printed);
        List<String> problems = new ArrayList<>();
        Set<String> agreeing = new HashSet<>();
        for (String line : Files.readAllLines(Path.of("src/test/resources/expected/" + name + ".txt"))) {
            if (!line.isBlank() && !line.startsWith("#")) {
                Row row = Row.of(line);
                // several lines may have the same text: then each has a row
                Map<Boolean, List<String>> found = row.pattern()
                        .matcher(text)
                        .results()
                        .collect(partitioningBy(row::agrees, mapping(MatchResult::group, toList())));
                agreeing.addAll(found.get(true));
                if (found.get(true).isEmpty()) {
                    problems.add(line + " is not what is found: " + found.get(false));
                }
            }
        }
        printed.stream()
                .filter(line -> HAS_NUMBER.matcher(line).find() && !agreeing.contains(line))
                .forEach(line -> problems.add("no row agrees with the printed line: " + line));
        assertThat(problems)
                .as("numbers of %s and of expected/%s.txt", name, name)
                .isEmpty();
    }
}
