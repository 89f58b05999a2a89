package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.util.JsonUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TablesTest {

    private static Map<String, Object> result(String method, String shape, double... iterations) {
        return Map.of(
                "benchmark",
                "a.b.DecoderStepBenchmark." + method,
                "params",
                Map.of("shape", shape, "positions", "SWIN_V2", "threads", "2"),
                "primaryMetric",
                Map.of("score", 0, "rawData", List.of(iterations)),
                "secondaryMetrics",
                Map.of("peakMemory", Map.of("score", 123.4, "rawData", List.of(List.of(123.4)))));
    }

    private static Path write(Path file, Object... results) throws Exception {
        return Files.writeString(file, JsonUtils.GSON.toJson(results));
    }

    /** Student's quantile of 95 % with two degrees of freedom is 4.303; computed with Python's statistics. */
    @Test
    void turnsAreObservations(@TempDir Path folder) throws Exception {
        List<Path> files = new ArrayList<>();
        double[] turns = {100, 110, 120};
        for (double turn : turns) {
            Path file = folder.resolve(turn + ".json");
            files.add(write(
                    file,
                    result("bareAdd", "1x8", 50, 50),
                    result("library", "1x8", turn - 1, turn + 1),
                    result("library", "1x16", 7)));
        }
        assertThat(Tables.of(files).text()).isEqualTo("""

                        ### Decoder step

                        | shape | bareAdd | **library** | ÷ bareAdd | garbage, bytes | peak, MB |
                        | --- | --- | --- | --- | --- | --- |
                        | 1 × 8 | 50.0 ± 0 % | 110.0 ± 23 % | **2.19** (1.75–2.75) | | 123 |
                        | 1 × 16 | | 7.0 ± 0 % | | | 123 |

                        ## Where the library is slower

                        | benchmark | row | compared with | ratio |
                        | --- | --- | --- | --- |
                        | Decoder step | 1 × 8 | bareAdd | **2.19** (1.75–2.75) |
                        """);
    }

    @Test
    void aRatioOfTurnsIsAboveOneOnlyIfItsIntervalIs(@TempDir Path folder) throws Exception {
        List<Path> files = new ArrayList<>();
        double[] ratios = {0.5, 0.8, 1.4};
        for (double ratio : ratios) {
            Path file = folder.resolve(ratio + ".json");
            files.add(write(file, result("d2l", "1x8", 100), result("library", "1x8", 100 * ratio)));
        }
        assertThat(Tables.of(files).text()).contains("| 0.82 (0.23–2.97) |", "Nowhere by more than the interval.");
    }

    @Test
    void oneTurnHasNoInterval(@TempDir Path folder) throws Exception {
        Path file = write(folder.resolve("1.json"), result("d2l", "1x8", 100), result("library", "1x8", 150));
        assertThat(Tables.of(List.of(file)).text())
                .contains("| 1 × 8 | 100.0 | 150.0 | **1.50** | | 123 |", "| Decoder step | 1 × 8 | d2l | **1.50** |");
    }
}
