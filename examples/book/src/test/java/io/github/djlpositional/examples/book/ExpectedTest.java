package io.github.djlpositional.examples.book;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.partitioningBy;
import static java.util.stream.Collectors.toList;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
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
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/**
 * The numbers that each chapter prints, against {@code expected/NAME.txt}. A row is {@code text with {} for numbers |
 * numbers | source}. The text is a part of a printed line; the numbers are those that stand for its {@code {}}, from
 * the source: a program in Python beside the rows, a paper, or a training.
 */
class ExpectedTest {

    /** A number that stands alone, also with commas between thousands. */
    private static final String NUMBER = "[-+−]?\\d+(?:,\\d{3})*(?:\\.\\d+)?(?:e[-+]?\\d+)?";

    private static final Pattern HAS_NUMBER = Pattern.compile("(?<![\\w.])\\d");

    private static final List<Chapter> WRITTEN = new ArrayList<>();

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

    @ParameterizedTest
    @FieldSource("io.github.djlpositional.examples.book.Book#CHAPTERS")
    void numbersAreExpected(String name, @TempDir Path folder) throws Exception {
        PrintStream unused = new PrintStream(OutputStream.nullOutputStream(), false, UTF_8);
        Chapter chapter = Book.run(name, unused, folder);
        WRITTEN.add(chapter);
        List<String> printed = chapter.parts().stream()
                .flatMap(part ->
                        part instanceof Chapter.Code code ? code.printed().lines() : Stream.empty())
                .map(ExpectedTest::squeezed)
                .toList();
        String text = String.join("\n", printed);
        List<String> problems = new ArrayList<>();
        Set<String> agreeing = new HashSet<>();
        for (String line : Book.read("/expected/" + name + ".txt").lines().toList()) {
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

    /** The site of the chapters that were written. */
    @AfterAll
    static void siteIsSmall(@TempDir Path folder) throws Exception {
        Book.write(folder, WRITTEN);
        try (Stream<Path> files = Files.walk(folder)) {
            assertThat(files.mapToLong(file -> file.toFile().length()).sum())
                    .as("bytes")
                    .isLessThan(2_000_000);
        }
    }
}
