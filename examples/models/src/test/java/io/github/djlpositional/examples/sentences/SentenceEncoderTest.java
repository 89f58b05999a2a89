package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterStore;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The published encoder beside ONNX Runtime, which runs the published file. */
class SentenceEncoderTest {

    /**
     * Both compute six layers in floats, and round about 40 sums in each, of numbers up to 6, in another order. Either
     * was seen to differ by 5e-6 from float64; a wrong epsilon, GELU or token type differs by more than 1e-3.
     */
    private static final float TOLERANCE = 5e-5f;

    private static final OrtEnvironment ENVIRONMENT = OrtEnvironment.getEnvironment();
    private static OrtSession reference;
    private static List<String> texts;

    @BeforeAll
    static void load() throws Exception {
        reference = ENVIRONMENT.createSession(SentenceEncoder.publishedModel());
        texts = Definition.read(500).stream().map(Definition::text).toList();
    }

    @AfterAll
    static void close() throws OrtException {
        reference.close();
    }

    /** Returns texts with some numbers of tokens, the first and the last of which are special. */
    private static TokenBatch batch(int... lengths) throws Exception {
        try (HuggingFaceTokenizer tokenizer = SentenceEncoder.tokenizer(100_000)) {
            long[] tokens = tokenizer.encode(String.join(" ", texts)).getIds();
            List<long[]> ids = new ArrayList<>();
            int from = 1;
            for (int length : lengths) {
                long[] text = Arrays.copyOfRange(tokens, from, from + length);
                text[0] = tokens[0];
                text[length - 1] = tokens[tokens.length - 1];
                ids.add(text);
                from += length;
            }
            return TokenBatch.sortedByLength(ids, Integer.MAX_VALUE).get(0);
        }
    }

    private static float[] expected(TokenBatch batch) throws OrtException {
        long[] shape = batch.shape().getShape();
        try (OnnxTensor ids = OnnxTensor.createTensor(ENVIRONMENT, batch.paddedIds(), shape);
                OnnxTensor mask = OnnxTensor.createTensor(ENVIRONMENT, batch.mask(), shape);
                OnnxTensor types = OnnxTensor.createTensor(ENVIRONMENT, LongBuffer.allocate(batch.tokens()), shape);
                OrtSession.Result result =
                        reference.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))) {
            float[] values = new float[batch.tokens() * SentenceEncoder.SIZE];
            ((OnnxTensor) result.get(0)).getFloatBuffer().get(values);
            return values;
        }
    }

    @ParameterizedTest
    @CsvSource({"PyTorch, 128 128 128 128 128", "PyTorch, 128 128 97 60 5", "PyTorch, 512 300", "MXNet, 128 128 97 60 5"
    })
    void everyHiddenValueOfATokenIsThatOfOnnxRuntime(String engine, String lengths) throws Exception {
        TokenBatch batch = batch(Arrays.stream(lengths.split(" ", -1))
                .mapToInt(Integer::parseInt)
                .toArray());
        try (NDManager manager = Engines.newManager(engine)) {
            BertEncoder encoder = SentenceEncoder.published(manager);
            NDArray hidden = encoder.forward(new ParameterStore(manager, false), batch.inputs(manager), false)
                    .singletonOrThrow();
            assertThat(ofTokens(batch, hidden.toFloatArray()))
                    .containsExactly(ofTokens(batch, expected(batch)), within(TOLERANCE));
        }
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"MXNet, 128 128 128 128 128", "MXNet, 512 300"})
    void everyHiddenValueOfALongTextIsThatOfOnnxRuntime(String engine, String lengths) throws Exception {
        everyHiddenValueOfATokenIsThatOfOnnxRuntime(engine, lengths);
    }

    @EngineTest
    void textsOfSimilarMeaningsHaveSimilarVectors(String name) throws Exception {
        Engines.assumeAvailable(name);
        Engine engine = Engine.getEngine(name);
        // tag::encode[]
        try (SentenceEncoder encoder = SentenceEncoder.load(engine, Device.cpu())) {
            float[][] vectors = encoder.encode(List.of("a large cat", "any big feline", "the price of oil"));
            double similar = cosine(vectors[0], vectors[1]);
            double different = cosine(vectors[0], vectors[2]);
            // end::encode[]
            assertThat(similar).isGreaterThan(different + 0.3);
            // tag::encode[]
        }
        // end::encode[]
    }

    private static double cosine(float[] a, float[] b) {
        return IntStream.range(0, a.length)
                .mapToDouble(i -> a[i] * (double) b[i])
                .sum();
    }

    @EngineTest
    void vectorsAreTheNormalizedMeansOfTheTokensInTheOrderOfTheTexts(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        List<String> few = texts.subList(0, 20);
        try (SentenceEncoder encoder = SentenceEncoder.load(Engine.getEngine(engine), Device.cpu())) {
            float[][] vectors = encoder.encode(few);
            for (int i = 0; i < few.size(); i++) {
                TokenBatch alone = encoder.batches(List.of(few.get(i))).get(0);
                assertThat(vectors[i]).containsExactly(expectedVector(alone), within(TOLERANCE));
            }
        }
    }

    /** Leaves out the vectors of padding, which have no meaning, and follow from no training. */
    private static float[] ofTokens(TokenBatch batch, float[] hidden) {
        FloatBuffer kept = FloatBuffer.allocate(hidden.length);
        for (int i = 0; i < batch.ids().size(); i++) {
            int length = SentenceEncoder.SIZE * batch.ids().get(i).length;
            kept.put(hidden, SentenceEncoder.SIZE * batch.ids().get(0).length * i, length);
        }
        return Arrays.copyOf(kept.array(), kept.position());
    }

    /** Computes the vector of a text without padding. */
    private static float[] expectedVector(TokenBatch batch) throws OrtException {
        float[] hidden = expected(batch);
        float[] vector = new float[SentenceEncoder.SIZE];
        for (int i = 0; i < hidden.length; i++) {
            vector[i % vector.length] += hidden[i];
        }
        float norm = (float) Math.sqrt(cosine(vector, vector));
        for (int i = 0; i < vector.length; i++) {
            vector[i] /= norm;
        }
        return vector;
    }
}
