package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/serving.md that serves a decoder. */
class ServingCodeTest extends OnEachEngine {

    private static final int VOCABULARY = 100;

    /** Scores differ by the rounding of sums of at most 64 products of numbers below 4. */
    private static final float TOLERANCE = 64 * 16 * 0x1p-24f;

    /** With sinusoids at the input, too: rotary positions alone would not show that all positions are off by one. */
    private Block model() {
        TransformerStackBlock layers = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(64)
                        .optPositionalEncoding(PositionalEncodingBlock.builder()
                                .setEmbeddingSize(64)
                                .build())
                        .build())
                .setLayers(2, LanguageModel::layer)
                .build();
        Block model = new LanguageModel(layers, VOCABULARY);
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        return model;
    }

    // tag::request[]
    /** A prompt, the number of tokens to generate, and those so far. */
    record Request(List<Long> prompt, int most, List<Long> answer) {
        boolean isFinished() {
            return answer.size() == most;
        }
    }

    // end::request[]

    @Test
    void requestsThatComeAndGo() {
        Block model = model();
        ParameterStore store = new ParameterStore(manager, false);
        Deque<Request> waiting = new ArrayDeque<>();
        for (int i = 0; i < 7; i++) {
            List<Long> prompt = IntStream.rangeClosed(0, 5 * i % 7)
                    .mapToObj(token -> 11L + token)
                    .toList();
            waiting.add(new Request(prompt, 1 + 3 * i % 8, new ArrayList<>()));
        }
        List<Request> all = List.copyOf(waiting);
        NDManager device = manager;
        // tag::batching[]
        List<Request> running = new ArrayList<>(); // in the rows of the batch
        try (KeyValueCache batch = new KeyValueCache(device)) {
            while (!waiting.isEmpty() || !running.isEmpty()) {
                try (NDManager step = device.newSubManager()) {
                    while (running.size() < 3 && !waiting.isEmpty()) {
                        Request request = waiting.remove();
                        try (KeyValueCache prompt = new KeyValueCache(step)) {
                            NDArray ids = step.create(longs(request.prompt())).expandDims(0); // (1, T)
                            NDArray scores = model.forward(store, new NDList(ids), false, prompt.nextStep())
                                    .head();
                            request.answer().add(scores.get("0, -1").argMax().getLong());
                            batch.join(prompt); // shorter rows are padded on the left
                            running.add(request);
                        }
                    }
                    int[] others = IntStream.range(0, running.size())
                            .filter(row -> !running.get(row).isFinished())
                            .toArray();
                    if (others.length == 0) {
                        batch.clear();
                    } else if (others.length < running.size()) {
                        batch.select(step.create(others));
                    }
                    running.removeIf(Request::isFinished);
                    if (!running.isEmpty()) {
                        List<Long> last = running.stream()
                                .map(request ->
                                        request.answer().get(request.answer().size() - 1))
                                .toList();
                        NDArray ids = step.create(longs(last)).expandDims(1); // (B, 1)
                        NDArray scores = model.forward(
                                        store, new NDList(ids), false, batch.nextStep(1)) // with positions
                                .head();
                        long[] next = scores.get(":, -1")
                                .argMax(1)
                                .toType(DataType.INT64, false)
                                .toLongArray();
                        for (int row = 0; row < next.length; row++) {
                            running.get(row).answer().add(next[row]);
                        }
                    }
                }
            }
        }
        // end::batching[]
        TokenGenerator alone = TokenGenerator.builder().setDecoder(model).build();
        for (Request request : all) {
            assertThat(longs(request.answer())).isEqualTo(alone.generate(longs(request.prompt()), request.most()));
        }
    }

    /** With one layer, whose keys do not depend on other tokens, the scores are those of the kept tokens only. */
    @Test
    void aTextLongerThanTheCache() {
        Block model = new LanguageModel(
                TransformerStackBlock.builder()
                        .optInput(InputEmbeddingBlock.builder()
                                .setVocabularySize(VOCABULARY)
                                .setEmbeddingSize(64)
                                .optNoPositions()
                                .build())
                        .setLayers(1, LanguageModel::layer)
                        .build(),
                VOCABULARY);
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        ParameterStore store = new ParameterStore(manager, false);
        List<Long> kept = new ArrayList<>();
        long[] prompt = {5, 17, 3, 9, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        int removals = 0;
        // tag::shift[]
        int first = 4; // attention sinks
        int limit = 16; // of the cache
        int latest = (limit - first) / 2; // that stay with them; in StreamingLLM limit - 1 - first
        NDArray ids = manager.create(prompt).expandDims(0); // (1, T), then (1, 1)
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < 40; step++) {
                if (cache.getLength() >= limit) {
                    cache.remove(first, cache.getLength() - latest); // the latest tokens move back
                    // end::shift[]
                    kept.subList(first, kept.size() - latest).clear();
                    removals++;
                    // tag::shift[]
                }
                NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                        .head();
                // end::shift[]
                for (long id : ids.toLongArray()) {
                    kept.add(id);
                }
                NDArray whole = manager.create(longs(kept)).expandDims(0);
                NDArray expected = Forward.infer(manager, model, whole);
                requireClose(scores.get("0, -1"), doubles(expected.get("0, -1")), TOLERANCE);
                // tag::shift[]
                ids = scores.get(":, -1:").argMax(2).toType(DataType.INT64, false);
            }
        }
        // end::shift[]
        assertThat(removals).isEqualTo(7);
    }

    private static long[] longs(List<Long> tokens) {
        return tokens.stream().mapToLong(Long::longValue).toArray();
    }

    @Test
    void aPromptCacheOnDisk(@TempDir Path folder) throws Exception {
        Block model = model();
        ParameterStore store = new ParameterStore(manager, false);
        Path file = folder.resolve("prompt.cache");
        long[] before = {5, 17, 3, 9, 8, 4};
        long[] prompt = {5, 17, 3, 9, 20, 21, 22};
        try (KeyValueCache served = new KeyValueCache(manager)) {
            NDArray all = manager.create(before).expandDims(0);
            model.forward(store, new NDList(all), false, served.nextStep());
            // tag::save[]
            served.save(file, model); // the keys and values of the tokens `before`
            // end::save[]
        }
        // tag::load[]
        try (KeyValueCache cache = KeyValueCache.load(file, model, manager)) {
            int prefix = cache.rewindToPrefix(before, prompt); // 4
            long[] rest = Arrays.copyOfRange(prompt, prefix, prompt.length);
            NDArray ids = manager.create(rest).expandDims(0);
            NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                    .head();
            // end::load[]
            assertThat(prefix).isEqualTo(4);
            NDArray expected =
                    Forward.infer(manager, model, manager.create(prompt).expandDims(0));
            requireClose(scores.get("0, -1"), doubles(expected.get("0, -1")), TOLERANCE);
            // tag::load[]
        }
        // end::load[]
    }

    @Test
    void aPromptThatBeginsLikeAnother() {
        Block model = model();
        ParameterStore store = new ParameterStore(manager, false);
        long[] before = {5, 17, 3, 9, 8, 4};
        long[] prompt = {5, 17, 3, 9, 20, 21, 22};
        try (KeyValueCache served = new KeyValueCache(manager)) {
            NDArray all = manager.create(before).expandDims(0);
            model.forward(store, new NDList(all), false, served.nextStep());
            // tag::prefix[]
            try (KeyValueCache cache = served.fork()) { // of the tokens `before`
                int prefix = cache.rewindToPrefix(before, prompt); // 4
                long[] rest = Arrays.copyOfRange(prompt, prefix, prompt.length);
                NDArray ids = manager.create(rest).expandDims(0);
                NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                        .head();
                // end::prefix[]
                assertThat(prefix).isEqualTo(4);
                assertThat(scores.get("0, -1").argMax().getLong())
                        .isEqualTo(TokenGenerator.builder()
                                .setDecoder(model)
                                .build()
                                .generate(prompt, 1)[0]);
                // tag::prefix[]
            }
            // end::prefix[]
        }
    }
}
