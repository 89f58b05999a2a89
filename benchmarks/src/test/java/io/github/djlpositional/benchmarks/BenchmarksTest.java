package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class BenchmarksTest {

    @Test
    void smokeFormMeasuresAndPrintsEveryTable() {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        int status;
        try {
            status = Benchmarks.commandLine().execute("--smoke", "--in-this-process");
        } finally {
            System.setOut(before);
        }
        assertThat(status).isZero();
        String tables = printed.toString(StandardCharsets.UTF_8);
        assertThat(tables.lines().filter(line -> line.startsWith("#### "))).hasSize(Table.values().length);
        assertThat(tables).doesNotContain("NaN").contains("| 1 × 1 × 512 |");
    }
}
