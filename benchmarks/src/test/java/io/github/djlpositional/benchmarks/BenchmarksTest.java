package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.examples.sentences.TokenBatch;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.HuggingFaceModel.EncoderDecoder;
import io.github.djlpositional.huggingface.RandomFolder;
import io.github.djlpositional.transformer.TokenGenerator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
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
        "DocumentsBenchmark, 1x8x64, 8",
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

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void llamaGeneratesTheExpectedTokens(int batch, @TempDir Path models) throws Exception {
        Path folder = Files.createDirectory(models.resolve("llama"));
        Path stored = Path.of("..", "src", "test", "resources", "llama", "llama_3");
        for (String name : List.of("config.json", "model.safetensors")) {
            Files.copy(stored.resolve(name), folder.resolve(name));
        }
        ChainedOptionsBuilder options = briefly("LlamaBenchmark")
                .param("prompt", "8")
                .param("tokens", "4")
                .param("batch", Integer.toString(batch));
        long[][] tokens = new long[batch][];
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            TokenGenerator generator = TokenGenerator.builder()
                    .setDecoder(HuggingFaceModel.load(folder, 12, manager))
                    .build();
            Arrays.setAll(tokens, row -> generator.generate(ids(274, 8 * row, 8 * (row + 1)), 4));
        }
        requireTokens(options, models, folder, Map.of(batch, tokens), tokens[batch - 1]);
    }

    @Test
    void t5GeneratesTheExpectedTokens(@TempDir Path models) throws Exception {
        Path folder = Files.createDirectory(models.resolve("t5"));
        Map<String, Object> config = Map.of(
                "model_type",
                "t5",
                "architectures",
                List.of("T5ForConditionalGeneration"),
                "vocab_size",
                11,
                "d_model",
                8,
                "d_kv",
                4,
                "d_ff",
                16,
                "num_layers",
                2,
                "num_heads",
                2);
        long[] tokens = new long[3];
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            EncoderDecoder t5 =
                    HuggingFaceModel.loadEncoderDecoder(RandomFolder.write(folder, config, manager), manager);
            ParameterStore store = new ParameterStore(manager, false);
            NDList memory = t5.encoder()
                    .forward(store, new NDList(manager.create(ids(11, 0, 8)).expandDims(0)), false);
            long[] target = {0}; // without a cache
            for (int i = 0; i < tokens.length; i++) {
                NDList inputs = new NDList(manager.create(target).expandDims(0)).addAll(memory);
                tokens[i] = t5.decoder()
                        .forward(store, inputs, false)
                        .head()
                        .get("0, -1")
                        .argMax()
                        .getLong();
                target = Arrays.copyOf(target, i + 2);
                target[i + 1] = tokens[i];
            }
        }
        ChainedOptionsBuilder options =
                briefly("T5Benchmark").param("source", "8").param("tokens", "3");
        requireTokens(options, models, folder, new long[][] {tokens}, tokens);
    }

    /** Runs a benchmark with the right tokens, and then with one that is wrong. */
    private static void requireTokens(
            ChainedOptionsBuilder options, Path models, Path folder, Object expected, long... last) throws Exception {
        write(folder.resolve("tokens.json"), expected);
        run(options, models);
        last[last.length - 1]++;
        write(folder.resolve("tokens.json"), expected);
        assertThatThrownBy(() -> run(options, models)).hasStackTraceContaining("the library generates");
    }

    /** Of another model, since the tensors of ModernBERT are fused. */
    @Test
    void encoderHasTheExpectedVectors(@TempDir Path models) throws Exception {
        Path folder = Files.createDirectory(models.resolve("modernbert"));
        Map<String, Object> config = Map.of(
                "model_type",
                "bert",
                "vocab_size",
                11,
                "hidden_size",
                8,
                "num_attention_heads",
                2,
                "num_hidden_layers",
                1,
                "intermediate_size",
                16,
                "max_position_embeddings",
                80);
        float[] all;
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            Block encoder = HuggingFaceModel.load(RandomFolder.write(folder, config, manager), manager);
            NDList ids = new NDList(manager.create(ids(11, 0, 65)).expandDims(0));
            all = encoder.forward(new ParameterStore(manager, false), ids, false)
                    .head()
                    .toFloatArray();
        }
        int size = all.length / 65;
        float[][] vectors = {Arrays.copyOf(all, size), Arrays.copyOfRange(all, 64 * size, all.length)};
        requireVectors(
                briefly("ModernBertBenchmark").param("shape", "1x65"),
                models,
                folder.resolve("vectors.json"),
                vectors,
                vectors);
    }

    @Test
    @Tag("slow") // unpacks the published model
    void sentencesHaveTheExpectedVectors(@TempDir Path models) throws Exception {
        float[][] vectors = new float[2][];
        long[] longer = Arrays.stream(ids(20_000, 0, 16)).map(id -> 1000 + id).toArray();
        long[] shorter = Arrays.stream(ids(20_000, 16, 24)).map(id -> 1000 + id).toArray();
        try (SentenceEncoder encoder = SentenceEncoder.load(Engine.getEngine("PyTorch"), Device.cpu())) {
            encoder.encode(new TokenBatch(List.of(0), new long[][] {longer}), vectors);
            encoder.encode(new TokenBatch(List.of(1), new long[][] {shorter}), vectors);
        }
        requireVectors(
                briefly("SentenceBenchmark").param("shape", "2x8-16"),
                models,
                models.resolve("vectors.json"),
                Map.of("2x8-16", vectors),
                vectors);
    }

    /** Runs a benchmark with the right vectors, and then with a number that is wrong. */
    private static void requireVectors(
            ChainedOptionsBuilder options, Path models, Path file, Object expected, float[]... vectors)
            throws Exception {
        write(file, expected);
        run(options, models);
        vectors[1][7] += 1e-4f;
        write(file, expected);
        assertThatThrownBy(() -> run(options, models)).hasStackTraceContaining("number 7 of vector 1");
    }

    /** Token ids as the benchmarks have them. */
    private static long[] ids(int bound, int from, int to) {
        return LongStream.range(from, to).map(i -> i * 7919 % bound).toArray();
    }

    private static void write(Path file, Object value) throws IOException {
        Files.writeString(file, JsonUtils.GSON.toJson(value));
    }
}
