package io.github.djlpositional.benchmarks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.github.djlpositional.examples.sentences.Definition;
import io.github.djlpositional.examples.sentences.MiniLmArtifact;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.examples.sentences.TokenBatch;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * The sentence encoder all-MiniLM-L6-v2, built from this library's blocks and in ONNX Runtime, with the same batches:
 * one of (sentences, tokens), or those of 1,000 definitions with at most (tokens) each. This library's time includes
 * the mean over the tokens and the normalization.
 */
final class Sentences {

    private static final int DEFINITIONS = 1000;

    static final Operation ENCODE = new Operation("ENCODE_SENTENCES", "", setting -> {
        SentenceEncoder encoder = encoder(setting);
        return call(batches(setting, encoder), batch -> encoder.encode(batch, new float[DEFINITIONS][]));
    });

    static final Operation ENCODE_WITH_ONNX = new Operation("ENCODE_WITH_ONNX", "ONNX Runtime", setting -> {
        int threads = Integer.parseInt(System.getenv().getOrDefault("OMP_NUM_THREADS", "2"));
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        options.setIntraOpNumThreads(threads);
        OrtSession session = setting.own(environment.createSession(MiniLmArtifact.onnx(), options));
        return call(batches(setting, encoder(setting)), batch -> run(environment, session, batch));
    });

    private Sentences() {}

    private static Callable<NDResource> call(List<TokenBatch> batches, Consumer<TokenBatch> encode) {
        return () -> {
            batches.forEach(encode);
            return new NDList();
        };
    }

    private static void run(OrtEnvironment environment, OrtSession session, TokenBatch batch) {
        long[][] noTypes = new long[batch.ids().length][batch.ids()[0].length];
        try (OnnxTensor ids = OnnxTensor.createTensor(environment, batch.ids());
                OnnxTensor mask = OnnxTensor.createTensor(environment, batch.mask());
                OnnxTensor types = OnnxTensor.createTensor(environment, noTypes)) {
            session.run(Map.of("input_ids", ids, "attention_mask", mask, "token_type_ids", types))
                    .close();
        } catch (OrtException e) {
            throw new IllegalStateException("ONNX Runtime cannot run the model", e);
        }
    }

    private static SentenceEncoder encoder(Setting setting) throws IOException {
        Engine engine = Engine.getEngine(setting.of().engine());
        return setting.own(SentenceEncoder.load(engine, setting.manager().getDevice()));
    }

    private static List<TokenBatch> batches(Setting setting, SentenceEncoder encoder) throws IOException {
        int size = setting.size(0);
        if (setting.shape().dimension() == 1) {
            List<Definition> definitions = Definition.read(Math.min(DEFINITIONS, size));
            return encoder.batches(definitions.stream().map(Definition::text).toList(), size);
        }
        long[][] ids = new long[size][];
        Arrays.fill(ids, LongStream.range(1000, 1000 + setting.size(1)).toArray());
        return List.of(new TokenBatch(IntStream.range(0, size).boxed().toList(), ids));
    }
}
