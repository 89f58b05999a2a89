package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchmarksTest {

    private static int status(StringWriter out, StringWriter err, String... options) {
        return Benchmarks.commandLine()
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(options);
    }

    /** A table of times, one of a decoder, and one of memory. */
    @Test
    void tablesAreMeasuredPrintedAndWritten(@TempDir Path folder) throws Exception {
        measure(folder, Table.EXPLICIT, Table.GENERATION_LIMIT, Table.GENERATION_LLAMA_MEMORY);
    }

    @Test
    @Tag("slow")
    void everyTableIsMeasuredPrintedAndWritten(@TempDir Path folder) throws Exception {
        measure(folder, Table.values());
    }

    private static void measure(Path folder, Table... tables) throws Exception {
        String only = Arrays.stream(tables).map(Table::name).collect(Collectors.joining(","));
        StringWriter out = new StringWriter();
        String[] options = {"--quick", "--in-this-process", "--csv", folder.toString(), "--only", only};
        assertThat(status(out, new StringWriter(), options)).isZero();
        String printed = out.toString();
        long expected = Arrays.stream(tables)
                .filter(table -> Setting.hasMxnet() || !table.name().endsWith("MXNET"))
                .filter(table -> ProcessMemory.isKnown() || !table.isMemory())
                .count();
        assertThat(printed.lines().filter(line -> line.startsWith("#### "))).hasSize((int) expected);
        assertThat(printed).doesNotContain("NaN").contains("| 1 × 8 × 64, rotary |");
        assertThat(Files.readAllLines(folder.resolve("EXPLICIT.csv")))
                .hasSize(2)
                .first()
                .asString()
                .startsWith("\"shape\",\"bare look-up and add\",\"this library\",\"÷ bare look-up and add\"");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--rounds=0", "--threads=0", "--threads=-1", "--seconds=0", "--seconds=NaN", "--seconds=Infinity"
            })
    void numbersThatMeasureNothingAreRefused(String option) {
        StringWriter err = new StringWriter();
        assertThat(status(new StringWriter(), err, option)).isEqualTo(2);
        assertThat(err.toString())
                .startsWith("error: " + option.replace('=', ' '))
                .contains(": expected ");
    }
}
