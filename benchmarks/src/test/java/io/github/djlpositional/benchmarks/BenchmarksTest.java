package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BenchmarksTest {

    @Test
    void everyTableIsMeasuredPrintedAndWritten(@TempDir Path folder) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        int status;
        try {
            status = Benchmarks.commandLine().execute("--quick", "--in-this-process", "--csv", folder.toString());
        } finally {
            System.setOut(before);
        }
        assertThat(status).isZero();
        String tables = printed.toString(StandardCharsets.UTF_8);
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
        int status = Benchmarks.commandLine().setErr(new PrintWriter(err)).execute(option);
        assertThat(status).isEqualTo(2);
        assertThat(err.toString()).startsWith(option.replace('=', ' ')).contains(": give ");
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "the program is a script of a Unix shell")
    void programThatIsNoPythonDoesNotStay(@TempDir Path folder) throws Exception {
        // says nothing, and goes on
        Path program = Files.writeString(folder.resolve("python3"), "#!/bin/sh\nexec >&-\nexec sleep 600\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
        List<ProcessHandle> before = ProcessHandle.current().children().toList();
        assertThat(PythonPeers.start(program.toString(), 1)).isNull();
        for (ProcessHandle child : ProcessHandle.current().children().toList()) {
            if (!before.contains(child)) {
                child.onExit().get(60, TimeUnit.SECONDS);
            }
        }
    }
}
