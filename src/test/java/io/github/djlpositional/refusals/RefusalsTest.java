package io.github.djlpositional.refusals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTestExtension;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The refused calls of the case files, and the calls at the limits that are accepted. A file in
 * {@code src/test/resources/refusals} has a call in each line:
 *
 * <pre>
 * table := initialized(LearnedPositionalEncodingBlock{embeddingSize: 4}, #1x3x4)
 * infer(table, @1x3x5)                           | width 5; expected 4
 * saved(PositionalEncodingBlock{embeddingSize: 4}) | IllegalStateException | initialize
 * for 0, -1: Frequencies.proportional($, 0.5, 10, 1) | ^headSize $: expected
 * cpu: encode(sinusoids, @[0, -1])               | position -1
 * </pre>
 *
 * <p>{@link CaseFile} describes the lines. The columns are an {@link Expression}, the exception (default:
 * IllegalArgumentException), and parts of its message: {@code ^} is its beginning, {@code ~} its end. A row of
 * {@code cpu} depends on the values of an array, which are not read on a GPU; a message of {@code short} does not have
 * three parts; a refusal of {@code open} leaves arrays open: the tables of a first forward, or outputs of a user's
 * block.
 */
class RefusalsTest {

    /** Builders, arguments and numbers. */
    private static final Map<String, Row> ARGUMENTS = read("arguments.txt");

    /** Initializations, forwards, and files that do not fit. */
    private static final Map<String, Row> FORWARDS = read("forwards.txt");

    /** Calls at the limits, and what they give. */
    private static final Map<String, Row> ACCEPTED = read("accepted.txt");

    /** The cause, what is expected, and what to do. */
    private static final Pattern THREE_PARTS =
            Pattern.compile(": expected .*; |( exceeds the maximum |, expected ).*: ");

    private record Row(
            Map<String, String> definitions,
            String expression,
            String exception,
            List<String> parts,
            List<String> flags) {}

    /** The rows of files, by their text. */
    private static Map<String, Row> read(String... files) {
        Map<String, Row> rows = new LinkedHashMap<>();
        for (String file : files) {
            CaseFile cases = CaseFile.read("refusals/" + file);
            for (String line : cases.rows()) {
                String row = line.replaceFirst("^((cpu|short|open|slow): )*", "");
                String[] columns = row.split(" +[|] ", -1);
                assertThat(columns).as(line).hasSizeBetween(2, 3);
                Row refusal = new Row(
                        cases.definitions(),
                        columns[0],
                        columns.length == 3 ? columns[1] : "IllegalArgumentException",
                        List.of(columns[columns.length - 1].split("; ", -1)),
                        List.of(line.substring(0, line.length() - row.length()).split(": ", -1)));
                assertThat(rows.put(line, refusal)).as("twice: " + line).isNull();
            }
        }
        return rows;
    }

    static Stream<String> accepted() {
        return ACCEPTED.keySet().stream().filter(row -> EngineTestExtension.IS_NIGHTLY || !row.startsWith("slow: "));
    }

    static Collection<String> arguments() {
        return ARGUMENTS.keySet();
    }

    static Collection<String> names() {
        return FORWARDS.keySet();
    }

    /** The last column is the value as text. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("accepted")
    void notAtTheLimits(String line) {
        Row row = ACCEPTED.get(line);
        assertThat(String.valueOf(Expression.valueOf(row.expression(), row.definitions(), null)))
                .as(line)
                .isEqualTo(row.parts().get(0));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("arguments")
    void ofArguments(String line) {
        requireRefused(line, ARGUMENTS.get(line), null);
    }

    @EngineTest
    void ofForwards(NDManager manager, String line) {
        Row row = FORWARDS.get(line);
        assumeTrue(!row.flags().contains("cpu") || !manager.getDevice().isGpu(), "values are not read on a GPU");
        requireRefused(line, row, manager);
    }

    /** Expects the exception, whose message has all parts, and no array to remain open. */
    private static void requireRefused(String line, Row row, NDManager manager) {
        Expression call = new Expression(row.expression(), row.definitions(), manager);
        Throwable thrown = catchThrowable(call::value);
        if (thrown instanceof AssertionError wrong) {
            throw wrong;
        }
        assertThat(thrown).as(line).isNotNull();
        assertThat(thrown.getClass().getSimpleName()).as(line + "\n" + thrown).isEqualTo(row.exception());
        String message = String.valueOf(thrown.getMessage());
        if (!row.flags().contains("short")) {
            assertThat(message).as(line).containsPattern(THREE_PARTS);
        }
        for (String part : row.parts()) {
            String value = part.replaceFirst("^[\\^~]", "");
            assertThat(message).as(line).contains(value);
            if (part.startsWith("^")) {
                assertThat(message).as(line).startsWith(value);
            } else if (part.startsWith("~")) {
                assertThat(message).as(line).endsWith(value);
            }
        }
        if (call.arraysBeforeCall() >= 0 && !row.flags().contains("open")) {
            assertThat(manager.getManagedArrays()).as(line).hasSizeLessThanOrEqualTo(call.arraysBeforeCall());
        }
    }
}
