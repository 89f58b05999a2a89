package io.github.djlpositional.refusals;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.CaseFile;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A file of refused calls, one a line, in {@code src/test/resources/refusals}:
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
final class Refusals {

    /** A refused call. */
    record Row(
            String text,
            Map<String, String> definitions,
            String expression,
            String exception,
            List<String> parts,
            List<String> flags) {

        /** Whether the refusal depends on the values of an array, which are not read on a GPU. */
        boolean isOnCpu() {
            return flags.contains("cpu");
        }

        /** Expects the exception, whose message has all parts, and no array to remain open. */
        void check(NDManager manager) {
            Expression call = new Expression(expression, definitions, manager);
            Throwable thrown = catchThrowable(call::value);
            if (thrown instanceof AssertionError wrong) {
                throw wrong;
            }
            assertThat(thrown).as(text).isNotNull();
            assertThat(thrown.getClass().getSimpleName())
                    .as(text + "\n" + thrown)
                    .isEqualTo(exception);
            String message = String.valueOf(thrown.getMessage());
            // the cause, what is expected, and what to do
            boolean hasThreeParts = Pattern.compile(": expected .*; |( exceeds the maximum |, expected ).*: ")
                    .matcher(message)
                    .find();
            assertThat(hasThreeParts || flags.contains("short"))
                    .as("%s\nhas three parts: %s", text, message)
                    .isTrue();
            for (String part : parts) {
                String value = part.replaceFirst("^[\\^~]", "");
                assertThat(message).as(text).contains(value);
                if (part.startsWith("^")) {
                    assertThat(message).as(text).startsWith(value);
                } else if (part.startsWith("~")) {
                    assertThat(message).as(text).endsWith(value);
                }
            }
            if (call.arraysBeforeCall() >= 0 && !flags.contains("open")) {
                assertThat(manager.getManagedArrays()).as(text).hasSizeLessThanOrEqualTo(call.arraysBeforeCall());
            }
        }

        /** Expects the value that the last column has as text. */
        void checkAccepted() {
            try {
                assertThat(String.valueOf(new Expression(expression, definitions, null).value()))
                        .as(text)
                        .isEqualTo(parts.get(0));
            } catch (Exception e) {
                throw new AssertionError(text, e);
            }
        }
    }

    private Refusals() {}

    /** The rows of files, by their text. */
    static Map<String, Row> read(String... files) {
        Map<String, Row> rows = new LinkedHashMap<>();
        for (String file : files) {
            CaseFile cases = CaseFile.read("refusals/" + file);
            cases.rows().forEach(row -> add(rows, cases.definitions(), row));
        }
        return rows;
    }

    private static void add(Map<String, Row> rows, Map<String, String> definitions, String line) {
        String row = line.replaceFirst("^((cpu|short|open|slow): )*", "");
        String[] columns = row.split(" +[|] ", -1);
        assertThat(columns).as(line).hasSizeBetween(2, 3);
        String exception = columns.length == 3 ? columns[1] : "IllegalArgumentException";
        String flags = line.substring(0, line.length() - row.length());
        Row refusal = new Row(
                line,
                definitions,
                columns[0],
                exception,
                List.of(columns[columns.length - 1].split("; ", -1)),
                List.of(flags.split(": ", -1)));
        assertThat(rows.put(line, refusal))
                .as("the row is there twice: " + line)
                .isNull();
    }
}
