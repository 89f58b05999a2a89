package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.ResidentMemory;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A model of 192 million BF16 numbers, 384 MB, is loaded into 768 MB of FLOAT32 numbers. */
class LoadingMemoryTest {

    private static final Map<String, Object> CONFIG = Map.of(
            "model_type", "llama",
            "vocab_size", 32_000,
            "hidden_size", 1024,
            "intermediate_size", 4096,
            "num_hidden_layers", 8,
            "num_attention_heads", 8,
            "num_key_value_heads", 2);

    /** Code that is loaded meanwhile, buffers of 8 MB, and a heap of at most 64 MB; 60 to 75 MB were seen. */
    private static final long OTHERS = 100 << 20;

    /** Writes a file of zeros, which takes no room on the disk. */
    private static void write(Path folder) throws IOException {
        HuggingFaceConfig config = HuggingFaceConfig.of(CONFIG);
        TransformerStackBlock model = config.withHead(config.stack()).build();
        TensorNames names = config.tensorNames();
        Map<String, Object> header = new LinkedHashMap<>();
        long[] size = {0};
        Stream.of(names.tensors(model), names.outputTensors(model))
                .flatMap(List::stream)
                .forEach(tensor -> {
                    Parameter only = tensor.parameters().get(0);
                    long end = size[0] + 2 * only.getShape().size();
                    String prefix = tensor.name().startsWith(names.getHead()) ? "" : names.getPrefix();
                    header.put(
                            prefix + tensor.name(),
                            Map.of("dtype", "BF16", "shape", only.getShape().getShape(), "data_offsets", new long[] {
                                size[0], end
                            }));
                    size[0] = end;
                });
        byte[] json = JsonUtils.GSON.toJson(header).getBytes(StandardCharsets.UTF_8);
        try (RandomAccessFile file =
                new RandomAccessFile(folder.resolve("model.safetensors").toFile(), "rw")) {
            file.write(ByteBuffer.allocate(Long.BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(json.length)
                    .array());
            file.write(json);
            file.setLength(Long.BYTES + json.length + size[0]);
        }
        Files.writeString(folder.resolve("config.json"), JsonUtils.GSON.toJson(CONFIG));
    }

    /** Prints the bytes of the parameters, those of the largest one, and how much the peak of memory grew. */
    public static void main(String[] args) throws Exception {
        try (NDManager manager = TestEngine.of(args[0]).newCpuManager()) {
            manager.ones(new Shape(1)).toFloatArray(); // loads the engine
            long before = ResidentMemory.resetPeak();
            TransformerStackBlock model = HuggingFaceModel.load(Path.of(args[1]), manager);
            long grown = ResidentMemory.peak() - before;
            List<Long> sizes = model.getParameters().values().stream()
                    .map(parameter -> Float.BYTES * parameter.getShape().size())
                    .toList();
            long total = sizes.stream().mapToLong(size -> size).sum();
            long largest = sizes.stream().mapToLong(size -> size).max().orElseThrow();
            System.out.println(total + " " + largest + " " + grown);
        }
    }

    @ParameterizedTest
    @EnumSource
    @Tag("slow")
    void aFolderInBf16TakesTheMemoryOfTheModelAndOfItsLargestTensor(TestEngine engine, @TempDir Path folder)
            throws Exception {
        assumeTrue(ResidentMemory.bytes() > 0, "the system does not report resident memory");
        engine.assumeAvailable();
        write(folder);
        String[] printed = JavaProgram.run(
                        List.of("-Xmx64m"), LoadingMemoryTest.class, engine.engineName(), folder.toString())
                .strip()
                .split(" ", -1);
        long total = Long.parseLong(printed[0]);
        long largest = Long.parseLong(printed[1]);
        assertThat(Long.parseLong(printed[2]))
                .as("growth for %d MiB and a tensor of %d MiB", total >> 20, largest >> 20)
                .isBetween(total / 2, total + largest + OTHERS);
    }
}
