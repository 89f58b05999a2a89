package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LoadReportTest {

    @Test
    void rowHasTheMeanBatchOfItsIntervalAndTheLastRowThatOfAll() {
        StringWriter out = new StringWriter();
        LoadReport report = new LoadReport(new PrintWriter(out));
        ResidentMemory memory = new ResidentMemory();
        memory.add(0, 800);
        Histogram latencies = new Histogram(LoadClients.DIGITS);
        report.addInterval(Duration.ofSeconds(5), 5, latencies, batches(10, 1), memory);
        report.addInterval(Duration.ofSeconds(10), 5, latencies, batches(10, 30), memory);
        report.printAll(10, memory);
        List<String> batches = out.toString()
                .lines()
                .skip(1)
                .map(row -> row.strip().split(" +", -1)[8])
                .toList();
        assertThat(batches).containsExactly("1.0", "30.0", "15.5");
    }

    private static Histogram batches(int count, int size) {
        Histogram batches = new Histogram(LoadClients.DIGITS);
        batches.recordValueWithCount(size, count);
        return batches;
    }
}
