package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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

    @Test
    void everyTableIsMeasuredPrintedAndWritten(@TempDir Path folder) throws Exception {
        StringWriter out = new StringWriter();
        assertThat(status(out, new StringWriter(), "--quick", "--in-this-process", "--csv", folder.toString()))
                .isZero();
        String tables = out.toString();
        long expected = Arrays.stream(Table.values())
                .filter(table -> Setting.hasMxnet() || !table.name().endsWith("MXNET"))
                .count();
        assertThat(tables.lines().filter(line -> line.startsWith("#### "))).hasSize((int) expected);
        assertThat(tables).doesNotContain("NaN").contains("| 1 × 8 × 64, rotary |");
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
