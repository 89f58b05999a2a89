package io.github.djlpositional.examples.sentences;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.io.IOException;
import java.nio.LongBuffer;
import java.util.Map;

/**
 * The published model as ONNX Runtime computes it, for comparisons. Its signatures have no exceptions of ONNX Runtime,
 * so that the main program starts without this dependency.
 */
final class OnnxRuntime implements AutoCloseable {

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final OrtSession session;

    /**
     * Loads the model.
     *
     * @param threads the number of threads of a forward
     */
    OnnxRuntime(int threads) throws IOException {
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            options.setIntraOpNumThreads(threads);
            session = environment.createSession(SentenceEncoder.publishedModel(), options);
        } catch (OrtException e) {
            throw new IOException("ONNX Runtime cannot load the published model", e);
        }
    }

    String version() {
        return environment.getVersion();
    }

    /**
     * Computes the vectors of the tokens of a batch.
     *
     * @return the vectors (B, T, D), those of padding included; closed by the caller
     */
    OrtSession.Result forward(TokenBatch batch) {
        long[] shape = batch.shape().getShape();
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, batch.paddedIds(), shape);
                OnnxTensor mask = OnnxTensor.createTensor(environment, batch.mask(), shape);
                OnnxTensor types = OnnxTensor.createTensor(environment, LongBuffer.allocate(batch.tokens()), shape)) {
            return session.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types));
        } catch (OrtException e) {
            throw new IllegalStateException("ONNX Runtime failed for a batch of " + batch.shape(), e);
        }
    }

    @Override
    public void close() {
        try {
            session.close();
        } catch (OrtException e) {
            throw new IllegalStateException("ONNX Runtime cannot release the model", e);
        }
    }
}
