package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The published encoder beside ONNX Runtime, which runs the published file. */
class SentenceEncoderTest {

    /**
     * Both compute six layers in floats, and round about 40 sums in each, of numbers up to 6, in another order. Either
     * was seen to differ by 5e-6 from float64; a wrong epsilon, GELU or token type differs by more than 1e-3.
     */
    private static final float TOLERANCE = 5e-5f;

    private static OrtSession onnxRuntime;

    @BeforeAll
    static void openThePublishedModel() throws Exception {
        onnxRuntime = OrtEnvironment.getEnvironment().createSession(MiniLmArtifact.onnx());
    }

    @AfterAll
    static void close() throws Exception {
        onnxRuntime.close();
    }

    /** Returns texts of random tokens. */
    private static TokenBatch batch(String lengths) {
        Random random = new Random(1);
        List<long[]> texts = Arrays.stream(lengths.split(" ", -1))
                .map(length ->
                        random.longs(Long.parseLong(length), 1000, 30_000).toArray())
                .toList();
        return TokenBatch.sortedByLength(texts, Integer.MAX_VALUE).get(0);
    }

    /** Returns the vectors of all tokens, (B, T, {@link SentenceEncoder#SIZE}), with those of padding. */
    private static float[][][] expected(TokenBatch batch) throws Exception {
        long[][] noTypes = new long[batch.ids().length][batch.ids()[0].length];
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, batch.ids());
                OnnxTensor mask = OnnxTensor.createTensor(environment, batch.mask());
                OnnxTensor types = OnnxTensor.createTensor(environment, noTypes);
                OrtSession.Result result =
                        onnxRuntime.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))) {
            return (float[][][]) result.get(0).getValue();
        }
    }

    @ParameterizedTest
    @CsvSource({"PyTorch, 128 97 60 5", "MXNet, 97 60 5"})
    void everyHiddenValueOfATokenIsThatOfOnnxRuntime(String engine, String lengths) throws Exception {
        TokenBatch batch = batch(lengths);
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            TransformerStackBlock encoder = SentenceEncoder.published(manager);
            ParameterStore store = new ParameterStore(manager, false);
            NDList inputs = batch.inputs(manager);
            NDList x = encoder.getInput().forward(store, new NDList(inputs.head()), false);
            for (Block layer : encoder.getLayers()) {
                x = layer.forward(store, x.addAll(inputs.subNDList(1)), false);
            }
            NDArray hidden = x.head();
            float[][][] expected = expected(batch);
            long[][] mask = batch.mask();
            for (int text = 0; text < mask.length; text++) {
                for (int token = 0; token < mask[text].length; token++) {
                    // the vectors of padding have no meaning, and follow from no training
                    if (mask[text][token] == 1) {
                        assertThat(hidden.get(text, token).toFloatArray())
                                .containsExactly(expected[text][token], within(TOLERANCE));
                    }
                }
            }
        }
    }

    @Tag("slow")
    @ParameterizedTest
    @CsvSource({"PyTorch, 512 300", "MXNet, 128 128 128 128 128", "MXNet, 512 300"})
    void everyHiddenValueOfALongTextIsThatOfOnnxRuntime(String engine, String lengths) throws Exception {
        everyHiddenValueOfATokenIsThatOfOnnxRuntime(engine, lengths);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void vectorsAreTheNormalizedMeansOfTheTokens(String name) throws Exception {
        TestEngine.of(name).assumeAvailable();
        Engine engine = Engine.getEngine(name);
        // tag::encode[]
        try (SentenceEncoder encoder = SentenceEncoder.load(engine, Device.cpu())) {
            float[][] vectors = encoder.encode(List.of("a large cat", "any big feline", "the price of oil"));
            double similar = cosine(vectors[0], vectors[1]);
            double different = cosine(vectors[0], vectors[2]);
            // end::encode[]
            assertThat(similar).isGreaterThan(different + 0.3);
            assertThat(vectors[1]).containsExactly(expected(encoder, "any big feline"), within(TOLERANCE));
            assertThat(vectors[2]).containsExactly(expected(encoder, "the price of oil"), within(TOLERANCE));
            // tag::encode[]
        }
        // end::encode[]
    }

    private static double cosine(float[] a, float[] b) {
        return IntStream.range(0, a.length)
                .mapToDouble(i -> a[i] * (double) b[i])
                .sum();
    }

    private static float[] expected(SentenceEncoder encoder, String text) throws Exception {
        float[][] tokens = expected(encoder.batches(List.of(text), 100).get(0))[0];
        float[] vector = new float[SentenceEncoder.SIZE];
        for (int d = 0; d < vector.length; d++) {
            for (float[] token : tokens) {
                vector[d] += token[d];
            }
        }
        double norm = Math.sqrt(cosine(vector, vector));
        IntStream.range(0, vector.length).forEach(d -> vector[d] /= (float) norm);
        return vector;
    }
}
