package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.examples.sentences.TokenBatch;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.TokenGenerator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs every benchmark briefly with small shapes. */
class BenchmarksTest {

    private static ChainedOptionsBuilder briefly(String benchmark) {
        return new OptionsBuilder()
                .include("\\." + benchmark + "\\.")
                .forks(0)
                .warmupIterations(0)
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(1))
                .shouldFailOnError(true)
                .param("allocator", Allocator.ofProcess().name())
                .verbosity(VerboseMode.SILENT);
    }

    @ParameterizedTest
    @CsvSource({
        "AdditionBenchmark, 1x8x64, 4",
        "AttentionBenchmark, 1x8x64, 26",
        "AttentionTrainingBenchmark, 1x8x64, 17",
        "EmbeddingBenchmark, 1x8x64, 6",
        "LayerBenchmark, 1x8x64, 8",
        "PositionStepBenchmark, 1x1x64, 3",
        "PositionsBenchmark, 1x8x64, 2",
        "RealPositionsBenchmark, 1x8x64, 8",
        "RotaryBenchmark, 1x2x8x64, 4",
        "StepBenchmark, 1x8x64, 12",
        "TableBenchmark, 8x64, 2",
        "TrainingBenchmark, 2x8, 2"
    })
    void everyBenchmarkRuns(String benchmark, String shape, int results, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("results.json");
        ChainedOptionsBuilder options = briefly(benchmark)
                .param("shape", shape)
                .addProfiler(PeakMemory.class)
                .resultFormat(ResultFormatType.JSON)
                .result(file.toString());
        assertThat(new Runner(options.build()).run()).hasSize(results);
        String table = Tables.of(List.of(file)).text();
        assertThat(table).contains("### ", "**library**").doesNotContain("NaN");
    }

    private static void run(ChainedOptionsBuilder options, Path models) throws RunnerException {
        System.setProperty("models", models.toString());
        try {
            new Runner(options.build()).run();
        } finally {
            System.clearProperty("models");
        }
    }

    @Test
    void llamaGeneratesTheExpectedTokens(@TempDir Path models) throws Exception {
        Path folder = Files.createDirectory(models.resolve("llama"));
        Path stored = Path.of("..", "src", "test", "resources", "llama", "llama_3");
        for (String name : List.of("config.json", "model.safetensors")) {
            Files.copy(stored.resolve(name), folder.resolve(name));
        }
        ChainedOptionsBuilder options =
                briefly("LlamaBenchmark").param("prompt", "8").param("tokens", "4");
        long[] tokens;
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            long[] prompt = LongStream.range(0, 8).map(i -> i * 7919 % 274).toArray();
            tokens = TokenGenerator.builder()
                    .setDecoder(HuggingFaceModel.load(folder, 12, manager))
                    .build()
                    .generate(prompt, 4);
        }
        Path expected = folder.resolve("tokens.json");
        Files.writeString(expected, JsonUtils.GSON.toJson(tokens));
        run(options, models);
        tokens[3]++;
        Files.writeString(expected, JsonUtils.GSON.toJson(tokens));
        assertThatThrownBy(() -> run(options, models)).hasStackTraceContaining("the library generates");
    }

    @Test
    @Tag("slow") // unpacks the published model
    void sentencesHaveTheExpectedVectors(@TempDir Path models) throws Exception {
        ChainedOptionsBuilder options = briefly("SentenceBenchmark").param("shape", "1x16");
        float[][] vectors = new float[1][];
        long[] ids = LongStream.range(0, 16).map(i -> 1000 + i * 7919 % 20_000).toArray();
        try (SentenceEncoder encoder = SentenceEncoder.load(Engine.getEngine("PyTorch"), Device.cpu())) {
            encoder.encode(new TokenBatch(List.of(0), new long[][] {ids}), vectors);
        }
        writeVector(models, vectors[0]);
        run(options, models);
        vectors[0][383] += 1e-4f;
        writeVector(models, vectors[0]);
        assertThatThrownBy(() -> run(options, models)).hasStackTraceContaining("number 383 of the first vector");
    }

    private static void writeVector(Path models, float... vector) throws IOException {
        Files.writeString(models.resolve("vectors.json"), JsonUtils.GSON.toJson(Map.of("1x16", vector)));
    }
}
