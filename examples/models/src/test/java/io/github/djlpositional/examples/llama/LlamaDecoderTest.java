package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares with models that {@code src/test/python/make_llama.py} computed from the papers. */
class LlamaDecoderTest {

    /**
     * A logit, below 16, is a sum of some 32 products after two layers, whose sums have at most 64 terms; in float32
     * each term is rounded by 2^-24 of at most 16: 100 roundings are 1e-4.
     */
    private static final float TOLERANCE = 1e-4f;

    private static final Path CONFIGURATIONS = Path.of("..", "..", "src", "test", "resources", "configurations");

    static Stream<Arguments> models() throws IOException {
        return StoredModel.names().stream()
                .flatMap(model -> Stream.of(Arguments.of("PyTorch", model), Arguments.of("MXNet", model)));
    }

    private static NDArray logits(LlamaDecoder decoder, NDManager manager, long... ids) {
        NDList batch = new NDList(manager.create(new long[][] {ids}));
        return decoder.forward(new ParameterStore(manager, false), batch, false).singletonOrThrow();
    }

    @ParameterizedTest
    @MethodSource("models")
    void logitsAndContinuationsAreThoseOfThePapers(String engine, String model) throws IOException {
        StoredModel stored = StoredModel.of(model);
        // LongRoPE and dynamic NTK depend on the length: each number is that of a decoder for its length
        LlamaDecoder decoder = load(model, stored.prompt().size());
        float[] expected = new float[stored.logits().size() * decoder.getVocabularySize()];
        List<Double> flat = stored.logits().stream().flatMap(List::stream).toList();
        for (int i = 0; i < expected.length; i++) {
            expected[i] = flat.get(i).floatValue();
        }
        NDArray logits = logits(decoder, stored.promptIds());
        assertThat(logits.getShape()).isEqualTo(new Shape(1, stored.prompt().size(), decoder.getVocabularySize()));
        assertThat(logits.toFloatArray()).hasSize(flat.size()).containsExactly(expected, within(TOLERANCE));

        List<Long> ids = new ArrayList<>(stored.prompt());
        for (long next : stored.continuation()) {
            long[] all = ids.stream().mapToLong(id -> id).toArray();
            NDArray last = logits(load(model, all.length), all).get("0, -1");
            assertThat((long) Sampling.greedy().applyAsInt(last.toFloatArray())).isEqualTo(next);
            ids.add(next);
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void theCacheChangesNoToken(String model) throws IOException {
        StoredModel stored = StoredModel.of(model);
        int length = stored.prompt().size() + stored.continuation().size();
        LlamaDecoder decoder = load(model, length);
        List<Long> cached = new ArrayList<>(stored.prompt());
        decoder.generate(stored.promptIds(), Sampling.greedy(), id -> {
            cached.add(id);
            return cached.size() < length;
        });
        long[] all = cached.stream().mapToLong(id -> id).toArray();
        NDArray logits = logits(decoder, all);
        for (int at = stored.prompt().size(); at < length; at++) {
            float[] ofNext = logits.get("0, {}", at - 1).toFloatArray();
            assertThat((long) Sampling.greedy().applyAsInt(ofNext)).isEqualTo(cached.get(at));
        }
        if (!List.of("rope_dynamic", "rope_longrope").contains(model)) {
            assertThat(cached.subList(stored.prompt().size(), length)).isEqualTo(stored.continuation());
        }
    }

    private LlamaDecoder load(String model, int length) throws IOException {
        return LlamaDecoder.load(StoredModel.folder(model), length, manager);
    }

    @Test
    void leavesNoArraysOpen() throws IOException {
        long[] prompt = StoredModel.of("llama_3").promptIds();
        LlamaDecoder decoder = LlamaDecoder.load(StoredModel.folder("llama_3"), 20, manager);
        decoder.generate(prompt, Sampling.greedy(), id -> false); // creates the table of positions
        int open = manager.getManagedArrays().size();
        decoder.generate(prompt, Sampling.greedy(), id -> false);
        NDArray ids = manager.create(prompt);
        NDList batch = new NDList(ids.expandDims(0));
        decoder.forward(new ParameterStore(manager, false), batch, false).close();
        batch.close();
        ids.close();
        assertThat(manager.getManagedArrays()).hasSize(open);
    }
}
