package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Sampling;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The code of docs/decoding.md, except that of a service. */
class GenerationCodeTest extends OnEachEngine {

    private static final int STEPS = 4;

    private static final int VOCABULARY = 100;

    /** Scores differ by the rounding of sums of at most 64 products of numbers below 4. */
    private static final float TOLERANCE = 64 * 16 * 0x1p-24f;

    /** With sinusoids at the input, too: rotary positions alone would not show that all positions are off by one. */
    private static Block withSinusoids(NDManager manager) {
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
        return initialized(manager, new LanguageModel(layers, VOCABULARY));
    }

    private static Block initialized(NDManager manager, Block model) {
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        return model;
    }

    /** The tokens that {@link TokenGenerator} writes, and each the best one of a forward of all tokens before it. */
    @Test
    void loopWithACache() {
        Block model = initialized(manager, LanguageModel.llama());
        ParameterStore store = new ParameterStore(manager, false);
        long[] prompt = {5, 17, 3};
        List<Long> found = new ArrayList<>();
        // tag::loop[]
        NDArray ids = manager.create(prompt).expandDims(0); // (1, T), the prompt
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                NDList scores = model.forward(store, new NDList(ids), false, cache.nextStep());
                long next = scores.head().get("0, -1").argMax().getLong(); // of (1, T, V)
                // end::loop[]
                found.add(next);
                // tag::loop[]
                ids = manager.create(new long[][] {{next}}); // (1, 1)
            }
        }
        // end::loop[]
        long[] all = LongStream.concat(LongStream.of(prompt), found.stream().mapToLong(id -> id))
                .toArray();
        for (int i = 0; i < STEPS; i++) {
            long[] before = Arrays.copyOf(all, prompt.length + i);
            assertThat(lastScores(manager, model, before).argMax().getLong()).isEqualTo(found.get(i));
        }
        assertThat(TokenGenerator.builder().setDecoder(model).build().generate(prompt, STEPS))
                .endsWith(found.stream().mapToLong(id -> id).toArray());
    }

    @Test
    void generatedTokens() {
        Block model = initialized(manager, LanguageModel.llama());
        long[] prompt = {5, 17, 3};
        List<Long> streamed = new ArrayList<>();
        LongConsumer show = streamed::add;
        // tag::generate[]
        TokenGenerator generator = TokenGenerator.builder()
                .setDecoder(model)
                // without it, the best token
                .optSampling(Sampling.builder().optTemperature(0.8).optTopP(0.9).build())
                .optEndTokens(List.of(2L))
                .build();
        long[] tokens = generator.generate(prompt, 100); // at most 100
        generator.generate(prompt, 100, token -> {
            show.accept(token); // as soon as it is chosen
            return streamed.size() < 20; // false stops
        });
        // end::generate[]
        assertThat(tokens).hasSizeLessThanOrEqualTo(100).doesNotContain(2);
        assertThat(streamed).hasSizeLessThanOrEqualTo(20);
    }

    @Test
    void packedDocuments() {
        Block model = withSinusoids(manager);
        ParameterStore store = new ParameterStore(manager, false);
        // tag::packed[]
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 8, 9, 4, 1}}); // (B, T)
        PairList<String, Object> params = new PairList<>();
        // for the input and every attention
        params.add(PositionalEncodingBlock.DOCUMENTS, Documents.ofLengths(3, 4));
        NDArray scores = model.forward(store, new NDList(ids), false, params).singletonOrThrow();
        // end::packed[]
        for (String document : new String[] {":, :3", ":, 3:"}) {
            NDArray expected = Forward.infer(manager, model, ids.get(document));
            requireClose(scores.get(document), doubles(expected), TOLERANCE);
        }
    }

    @Test
    void packedRowsOfDifferentDocuments() {
        Block model = withSinusoids(manager);
        ParameterStore store = new ParameterStore(manager, false);
        // tag::packed-rows[]
        NDArray ids = manager.create(new int[][] {{5, 17, 3, 8, 9, 4}, {7, 2, 6, 3, 1, 1}}); // (B, T)
        // hides the padding
        NDArray mask = manager.create(new int[][] {{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 0, 0}});
        Documents documents = Documents.ofRows(Documents.ofLengths(3, 3), Documents.ofLengths(4, 2));
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.DOCUMENTS, documents);
        NDArray scores =
                model.forward(store, new NDList(ids, mask), false, params).singletonOrThrow();
        // end::packed-rows[]
        for (String document : new String[] {":1, :3", ":1, 3:", "1:, :4"}) {
            NDArray expected = Forward.infer(manager, model, ids.get(document));
            requireClose(scores.get(document), doubles(expected), TOLERANCE);
        }
    }

    @Test
    void leftPaddedPrompts() {
        Block model = withSinusoids(manager);
        assertThat(leftPadded(manager, model, new long[][] {{5, 17, 3, 9, 9, 4}, {1, 1, 1, 8, 30, 2}}))
                .containsExactly(
                        leftPadded(manager, model, new long[][] {{5, 17, 3, 9, 9, 4}})
                                .get(0),
                        leftPadded(manager, model, new long[][] {{8, 30, 2}}).get(0));
    }

    /** After each rewind, the scores are those of the kept text alone. */
    @Test
    void endlessText() {
        Block model = initialized(manager, LanguageModel.llama());
        ParameterStore store = new ParameterStore(manager, false);
        List<Long> context = new ArrayList<>();
        int rewinds = 0;
        // tag::endless[]
        int first = 4;
        int window = 6;
        int limit = 16; // of the cache
        List<Long> text = new ArrayList<>(List.of(5L, 17L, 3L, 9L, 8L));
        List<Long> next = text; // the prompt, then one token
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            while (text.size() < 40) {
                if (cache.getLength() + next.size() > limit) {
                    cache.rewind(first);
                    next = text.subList(text.size() - window, text.size()); // at positions 4 to 9
                }
                long[][] row = {next.stream().mapToLong(Long::longValue).toArray()};
                NDArray scores = model.forward(store, new NDList(manager.create(row)), false, cache.nextStep())
                        .head();
                // end::endless[]
                if (cache.getLength() == first + window && text.size() > limit) {
                    rewinds++;
                    context = new ArrayList<>(text.subList(0, first));
                    context.addAll(next);
                    long[][] kept = {context.stream().mapToLong(Long::longValue).toArray()};
                    NDArray expected = Forward.infer(manager, model, manager.create(kept));
                    requireClose(scores.get(":, -1"), doubles(expected.get(":, -1")), TOLERANCE);
                }
                // tag::endless[]
                text.add(scores.get("0, -1").argMax().getLong());
                next = text.subList(text.size() - 1, text.size());
            }
        }
        // end::endless[]
        assertThat(rewinds).isGreaterThan(2);
    }

    private static List<List<Long>> emptyLists(int count) {
        return Stream.generate(() -> (List<Long>) new ArrayList<Long>())
                .limit(count)
                .toList();
    }

    private static List<List<Long>> leftPadded(NDManager manager, Block model, long[][] prompts) {
        ParameterStore store = new ParameterStore(manager, false);
        List<List<Long>> generated = emptyLists(prompts.length);
        // tag::left-padded[]
        NDArray ids = manager.create(prompts); // (B, T), shorter prompts have padding (1) on the left
        NDArray mask = ids.neq(1).toType(DataType.INT64, false); // (B, T): 1 for tokens, 0 for padding
        // from 0 on; add(1) instead of sub(1) for OPT
        NDArray positions = mask.cumSum(1).sub(1).mul(mask);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, positions);
                NDArray scores = model.forward(store, new NDList(ids, mask), false, params)
                        .head();
                // (B, 1), the next tokens
                ids = scores.get(":, -1:").argMax(2).toType(DataType.INT64, false);
                // end::left-padded[]
                for (int row = 0; row < prompts.length; row++) {
                    generated.get(row).add(ids.getLong(row, 0));
                }
                // tag::left-padded[]
                mask = ids.onesLike();
                positions = positions.max(new int[] {1}, true).add(1); // (B, 1)
            }
        }
        // end::left-padded[]
        return generated;
    }

    /** With padding on the right, the first step has the scores of each sequence at its last token. */
    @Test
    void rightPaddedPrompts() {
        Block model = withSinusoids(manager);
        long[][] prompts = {{5, 17, 3, 9}, {8, 30, 1, 1}};
        int[] lengths = {4, 2};
        NDArray ids = manager.create(prompts);
        NDArray mask = ids.neq(1).toType(DataType.INT64, false);
        NDArray positions = mask.cumSum(1).sub(1);
        long[][] next = {{7}, {11}};
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            NDArray first = step(model, cache, ids, mask, positions);
            NDArray ones = manager.create(next).onesLike();
            NDArray second = step(
                    model,
                    cache,
                    manager.create(next),
                    ones,
                    positions.max(new int[] {1}, true).add(1));
            for (int row = 0; row < 2; row++) {
                long[] prompt = Arrays.copyOf(prompts[row], lengths[row]);
                requireClose(first.get(row, lengths[row] - 1), doubles(lastScores(manager, model, prompt)), TOLERANCE);
                long[] longer = LongStream.concat(LongStream.of(prompt), LongStream.of(next[row]))
                        .toArray();
                requireClose(second.get(row, 0), doubles(lastScores(manager, model, longer)), TOLERANCE);
            }
        }
    }

    private NDArray step(Block model, KeyValueCache cache, NDArray ids, NDArray mask, NDArray positions) {
        PairList<String, Object> params = cache.nextStep();
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        return Forward.infer(manager, model, params, ids, mask);
    }

    @Test
    void beamSearch() {
        Block model = initialized(manager, LanguageModel.llama());
        ParameterStore store = new ParameterStore(manager, false);
        long[] prompt = {5, 17, 3};
        // tag::beams[]
        int beams = 3;
        List<List<Long>> found = List.of(List.of()); // tokens
        NDArray ids = manager.create(prompt).expandDims(0); // (1, T), then (beams, 1)
        NDArray total = manager.zeros(new Shape(1, 1)); // log probabilities
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < STEPS; step++) {
                NDArray scores = model.forward(store, new NDList(ids), false, cache.nextStep())
                        .head();
                NDArray sums = scores.get(":, -1").logSoftmax(1).add(total).flatten(); // (rows · V)
                float[] all = sums.toFloatArray();
                long[] order =
                        sums.argSort(0, false).toType(DataType.INT64, false).toLongArray();
                long[] rows = new long[beams];
                long[][] tokens = new long[beams][1];
                float[][] totals = new float[beams][1];
                List<List<Long>> longer = new ArrayList<>();
                for (int beam = 0; beam < beams; beam++) {
                    int index = (int) order[beam];
                    rows[beam] = index / VOCABULARY;
                    tokens[beam][0] = index % VOCABULARY;
                    totals[beam][0] = all[index];
                    longer.add(new ArrayList<>(found.get(index / VOCABULARY)));
                    longer.get(beam).add(tokens[beam][0]);
                }
                cache.select(manager.create(rows));
                found = longer;
                ids = manager.create(tokens);
                total = manager.create(totals);
            }
        }
        // end::beams[]
        for (int beam = 0; beam < beams; beam++) {
            long[] sequence = prompt;
            float expected = 0;
            for (long token : found.get(beam)) {
                expected += lastScores(manager, model, sequence).logSoftmax(0).getFloat(token);
                sequence = LongStream.concat(LongStream.of(sequence), LongStream.of(token))
                        .toArray();
            }
            assertThat(total.getFloat(beam, 0)).isCloseTo(expected, within(STEPS * TOLERANCE));
        }
    }

    /** The scores of the token after some, (V). */
    private static NDArray lastScores(NDManager manager, Block model, long... ids) {
        return Forward.infer(manager, model, manager.create(ids).expandDims(0)).get("0, -1");
    }

    @Test
    void encoderAndDecoder() {
        Supplier<MultiHeadAttentionBlock.Builder> attention =
                () -> MultiHeadAttentionBlock.builder().setEmbeddingSize(16).setHeadCount(4);
        TransformerStackBlock encoder = TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(attention.get().build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(16)
                                        .setHiddenSize(16)
                                        .build()))
                .build();
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(attention.get().optCausal(true).build())
                                .optCrossAttention(attention.get().build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(16)
                                        .setHiddenSize(16)
                                        .build()))
                .build();
        NDArray source = manager.randomUniform(-1, 1, new Shape(2, 5, 16));
        NDArray target = manager.randomUniform(-1, 1, new Shape(2, 3, 16));
        NDArray isToken =
                manager.create(new boolean[][] {{true, true, true, true, true}, {true, true, true, false, false}});
        encoder.initialize(manager, DataType.FLOAT32, source.getShape());
        decoder.initialize(manager, DataType.FLOAT32, target.getShape(), source.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        NDList steps = new NDList();
        // tag::cross[]
        NDArray memory =
                encoder.forward(store, new NDList(source, isToken), false).head(); // (B, S, D)
        NDArray none = manager.create(new Shape(2, 0)); // no mask of x
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < 3; step++) {
                NDArray x = target.get(":, {}:{}", step, step + 1); // (B, 1, D)
                NDList inputs = new NDList(x, memory, none, isToken);
                NDArray y =
                        decoder.forward(store, inputs, false, cache.nextStep()).head();
                // end::cross[]
                steps.add(y);
                // tag::cross[]
            }
        }
        // end::cross[]
        NDArray whole = Forward.infer(manager, decoder, target, memory, none, isToken);
        requireClose(NDArrays.concat(steps, 1), doubles(whole), TOLERANCE);
    }

    @Test
    void positionsOfTheMemory() {
        Supplier<MultiHeadAttentionBlock.Builder> attention = () -> MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(4)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(4).build());
        TransformerLayerBlock decoder = TransformerLayerBlock.builder()
                .setAttention(attention.get().optCausal(true).build())
                .optCrossAttention(attention.get().build())
                .build();
        NDArray memory = manager.randomUniform(-1, 1, new Shape(2, 5, 16));
        NDArray target = manager.randomUniform(-1, 1, new Shape(2, 3, 16));
        NDArray positions = manager.create(new double[][] {{0, 1.5, 2, 4, 8}, {0, 0.5, 1, 1.5, 2}});
        decoder.initialize(manager, DataType.FLOAT32, target.getShape(), memory.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        NDList steps = new NDList();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < 3; step++) {
                NDList inputs = new NDList(target.get(":, {}:{}", step, step + 1), memory);
                // tag::memory[]
                PairList<String, Object> params = cache.nextStep();
                if (step == 0) {
                    params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, positions); // (S) or (B, S)
                }
                NDArray y = decoder.forward(store, inputs, false, params).head();
                // end::memory[]
                steps.add(y);
            }
        }
        PairList<String, Object> ofAll = Forward.params(MultiHeadAttentionBlock.MEMORY_POSITIONS, positions);
        NDArray whole = Forward.infer(manager, decoder, ofAll, target, memory);
        requireClose(NDArrays.concat(steps, 1), doubles(whole), TOLERANCE);
    }
}
