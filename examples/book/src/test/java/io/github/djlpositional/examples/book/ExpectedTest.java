package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The numbers of each chapter, printed or in its text, against {@code expected/NAME.txt}. A row is {@code text with {}
 * for numbers | numbers | source}. The text is a printed line, or a phrase of the Markdown; the numbers are those that
 * stand for its {@code {}}, from the source: a program in Python beside the rows, a paper, or a training.
 */
class ExpectedTest {

    /** A number that stands alone, also with commas between thousands. */
    private static final String NUMBER = "[-+−]?\\d+(?:,\\d{3})*(?:\\.\\d+)?(?:e[-+]?\\d+)?";

    private static final Pattern HAS_NUMBER = Pattern.compile("(?<![\\w.])\\d");

    private record Row(String text, List<String> numbers) {

        static Row of(String line) {
            // the text may be a row of a table
            int source = line.lastIndexOf(" | ");
            int numbers = line.lastIndexOf(" | ", source - 1);
            assertThat(numbers).as("text | numbers | source: %s", line).isPositive();
            assertThat(line.substring(source + 3)).as(line).matches("(numpy|count|trained|paper: |measured: ).*");
            String[] each = line.substring(numbers + 3, source).strip().split("\\s+", -1);
            return new Row(squeezed(line.substring(0, numbers)), List.of(each));
        }

        /** The printed lines and phrases that are the text with numbers; the groups are the numbers. */
        Pattern pattern() {
            String[] pieces = text.split("\\{}", -1);
            StringBuilder pattern = new StringBuilder("(?<![\\d.,])" + Pattern.quote(pieces[0]));
            for (int i = 1; i < pieces.length; i++) {
                pattern.append(" ?(").append(NUMBER).append(')').append(Pattern.quote(pieces[i]));
            }
            return Pattern.compile(pattern.toString());
        }

        boolean matches(String line) {
            return pattern().matcher(line).matches();
        }

        Stream<MatchResult> phrases(String markdown) {
            return pattern().matcher(markdown).results();
        }

        /** Whether the numbers of a line or phrase are those expected. */
        boolean agrees(String found) {
            return phrases(found)
                    .anyMatch(match -> match.groupCount() == numbers.size()
                            && IntStream.range(0, numbers.size())
                                    .allMatch(i -> agrees(match.group(i + 1), numbers.get(i))));
        }

        /** Whether a number is as expected, to half a unit of its last digit. */
        private static boolean agrees(String printed, String expected) {
            String plain = printed.replace(",", "").replace('−', '-');
            String digits = plain.replaceAll("e.*", "");
            int decimals = digits.contains(".") ? digits.length() - digits.indexOf('.') - 1 : 0;
            double unit = Math.pow(10, -decimals)
                    * (plain.contains("e") ? Double.parseDouble("1" + plain.replaceAll("[^e]*e", "e")) : 1);
            double number = Double.parseDouble(expected.replace(",", ""));
            // the expected number may also be rounded
            return Math.abs(Double.parseDouble(plain) - number) <= 0.5001 * unit;
        }
    }

    private static String squeezed(String text) {
        return text.strip().replaceAll("\n> ", " ").replaceAll("\\s+", " ");
    }

    private static final List<Chapter> WRITTEN = new ArrayList<>();

    /** The site of the chapters that were written. */
    @AfterAll
    static void siteIsSmall(@TempDir Path folder) throws Exception {
        Book.write(folder, WRITTEN);
        try (Stream<Path> files = Files.walk(folder)) {
            assertThat(files.mapToLong(file ->
                                    file.toFile().isFile() ? file.toFile().length() : 0)
                            .sum())
                    .as("bytes")
                    .isLessThan(2_000_000);
        }
    }

    static Set<String> chapters() {
        return Book.CHAPTERS.keySet();
    }

    @ParameterizedTest
    @MethodSource("chapters")
    void numbersAreExpected(String name, @TempDir Path folder) throws Exception {
        PrintStream unused = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        Chapter chapter = Book.run(name, unused, folder);
        WRITTEN.add(chapter);
        List<String> missing = new ArrayList<>();
        List<Row> rows = PlayScript.resource("/expected/" + name + ".txt")
                .lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .map(Row::of)
                .toList();
        List<String> printed = chapter.parts().stream()
                .filter(Chapter.Code.class::isInstance)
                .flatMap(part -> ((Chapter.Code) part).printed().lines())
                .map(ExpectedTest::squeezed)
                .filter(line -> HAS_NUMBER.matcher(line).find())
                .toList();
        String text = squeezed(PlayScript.resource("/chapters/" + name + ".md"));
        for (Row row : rows) {
            List<String> lines = printed.stream().filter(row::matches).toList();
            List<String> found =
                    lines.isEmpty() ? row.phrases(text).map(MatchResult::group).toList() : lines;
            if (found.isEmpty()) {
                missing.add("neither printed nor in the text: " + row.text());
            } else if (found.stream().noneMatch(row::agrees)) {
                missing.add("expected " + row.numbers() + " for: " + found);
            }
        }
        // several lines may have the same text: then each has a row
        printed.stream()
                .filter(line -> rows.stream().noneMatch(row -> row.matches(line) && row.agrees(line)))
                .forEach(line -> missing.add("no row agrees with the printed line: " + line));
        assertThat(missing)
                .as("numbers of %s and of expected/%s.txt", name, name)
                .isEmpty();
    }
}
