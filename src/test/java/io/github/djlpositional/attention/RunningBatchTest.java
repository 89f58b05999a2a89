package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.conformance.RandomCases.one;
import static io.github.djlpositional.relative.EncodingType.ALIBI;
import static io.github.djlpositional.relative.EncodingType.ROTARY;
import static io.github.djlpositional.relative.EncodingType.T5;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Sequences that join and leave a running batch: each step of a {@link RunningBatch} compares each with itself alone.
 */
@Sampled(oneIn = 6)
class RunningBatchTest extends OnEachEngine {

    private static final List<UnaryOperator<MultiHeadAttentionBlock.Builder>> FORMS = List.of(
            attention -> attention,
            attention -> attention.optWindow(3),
            attention -> attention.optWindow(3).optWindowByPosition(true),
            attention -> attention.optChunkSize(3),
            attention -> attention.optWindow(2).optKeyValueHeadCount(1),
            attention -> attention.optFusedKernel(false));

    /** The form with a key head that is shared. */
    private static final UnaryOperator<MultiHeadAttentionBlock.Builder> GROUPED = FORMS.get(4);

    private static MultiHeadAttentionBlock.Builder widerValues(MultiHeadAttentionBlock.Builder attention) {
        return attention.optValueHeadSize(6);
    }

    private MultiHeadAttentionBlock causal(EncodingType type, UnaryOperator<MultiHeadAttentionBlock.Builder> form) {
        MultiHeadAttentionBlock block = filled(
                manager, form.apply(type.attention(HEADS).optCausal(true)).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        return block;
    }

    /** Attentions of the same tokens in all forms. */
    private List<MultiHeadAttentionBlock> attentions(EncodingType type) {
        // each head has its own frequencies
        boolean isByHead = type == EncodingType.LEARNED_ROTARY || type == EncodingType.ROPE_MIXED;
        return FORMS.stream()
                .filter(form -> !isByHead || form != GROUPED)
                .map(form -> causal(type, form))
                .toList();
    }

    private RunningBatch batch(EncodingType type) {
        return new RunningBatch(manager, attentions(type).toArray(MultiHeadAttentionBlock[]::new));
    }

    @ParameterizedTest
    @EnumSource
    void sequencesJoinAndLeaveWithEachEncoding(EncodingType type) {
        try (RunningBatch batch = batch(type)) {
            batch.join(1, 3).step(1).join(2, 1).step(1).join(1, 3).step(1).select(1, 3, 2);
            batch.step(1).join(1, 2, 1, 1).select(3, 0).step(1);
        }
    }

    @Test
    void longSequencesJoinAndLeave() {
        try (RunningBatch batch = batch(ROTARY)) {
            batch.join(1, 30).join(2, 7);
            for (int i = 0; i < 6; i++) {
                batch.step(1).join(1, 1 + 5 * i % 4).step(2).select(1, 2, 3);
            }
            try (RunningBatch others = batch.extract(0)) {
                others.step(3).step(1);
                batch.join(others).step(1).step(2);
            }
        }
    }

    @Test
    void sequencesOfTheSameLengthHaveNoPositions() {
        try (RunningBatch batch = batch(ALIBI)) {
            batch.join(1, 3).join(2, 3);
            assertThat(batch.cache().nextStep(1).contains(PositionalEncodingBlock.POSITIONS))
                    .isFalse();
            batch.cache().rewind(3);
            batch.step(1).select(1).step(2);
        }
    }

    @Test
    void sequencesOfDifferentLengthsRewindTogether() {
        try (RunningBatch batch = new RunningBatch(manager, causal(ROTARY, FORMS.get(0)), causal(T5, FORMS.get(0)))) {
            batch.join(1, 5).join(1, 3).rewindBy(2).step(2).step(1).rewindBy(1);
            assertAll(rejected(() -> batch.cache().rewind(2), "length 2", "at least 3"));
            batch.step(1).select(0).rewindBy(5).step(3);
        }
    }

    /** A window of 3 needs the two tokens before. */
    @Test
    void aWindowRewindsAsFarAsTheTokensOfAllSequences() {
        try (RunningBatch batch = new RunningBatch(manager, causal(ROTARY, FORMS.get(1)))) {
            batch.join(1, 2);
            for (int i = 0; i < 9; i++) {
                batch.step(1);
            }
            batch.join(1, 9).step(1).rewindBy(1).step(1);
            assertAll(rejected(() -> batch.cache().rewind(7), "length 7", "no longer cached"));
            batch.step(1).step(1).extract(1).rewindBy(1).step(1).close();
        }
    }

    /** The window of the first sequence has dropped tokens, which have no position. */
    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ROTARY_XPOS", "ALIBI"})
    void tokensOfAJoinedSequenceWithAWindowAreRemoved(EncodingType type) {
        try (RunningBatch batch = new RunningBatch(manager, causal(type, FORMS.get(1)))) {
            batch.join(1, 1).step(1).step(1).step(1).step(1).step(1).join(1, 7);
            batch.select(0).remove(0, 1).step(1).remove(1, 2).step(2);
        }
    }

    private NDList output(MultiHeadAttentionBlock attention, NDList inputs, PairList<String, Object> params) {
        return attention.forward(new ParameterStore(manager, false), inputs, false, params);
    }

    private NDArray tokens(long seed, long batch, long count) {
        return numbers(manager, seed, DataType.FLOAT64, batch, count, SIZE);
    }

    private static PairList<String, Object> with(PairList<String, Object> params, NDArray positions) {
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        return params;
    }

    /** Prompts that are padded on the left, as a batch has them. */
    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ALIBI"})
    void continuesThePositionsOfThePrompts(EncodingType type) {
        MultiHeadAttentionBlock attention = causal(type, FORMS.get(0));
        try (KeyValueCache cache = new KeyValueCache(manager);
                KeyValueCache other = new KeyValueCache(manager);
                KeyValueCache own = new KeyValueCache(manager)) {
            NDArray padded = tokens(1, 2, 5);
            NDArray mask = manager.create(new int[][] {{1, 1, 1, 1, 1}, {0, 0, 1, 1, 1}});
            NDArray positions = manager.create(new int[][] {{0, 1, 2, 3, 4}, {0, 0, 0, 1, 2}});
            output(attention, new NDList(padded, mask), with(cache.nextStep(), positions));
            output(attention, new NDList(tokens(2, 1, 3)), other.nextStep());
            cache.join(other);
            NDArray next = tokens(3, 3, 1);
            PairList<String, Object> params = cache.nextStep(1);
            assertThat(((NDArray) params.get(PositionalEncodingBlock.POSITIONS)).toIntArray())
                    .containsExactly(5, 3, 3);
            NDArray y = output(attention, new NDList(next), params).head();
            output(attention, new NDList(padded.get("1:2, 2:")), own.nextStep());
            NDArray alone = output(attention, new NDList(next.get("1:2")), own.nextStep())
                    .head();
            requireClose(y.get("1:2"), doubles(alone), 1e-12);
            try (KeyValueCache extracted = cache.extract(1)) {
                NDArray last = tokens(4, 1, 2);
                NDArray found = output(attention, new NDList(last), extracted.nextStep(2))
                        .head();
                requireClose(
                        found,
                        doubles(output(attention, new NDList(last), own.nextStep())
                                .head()),
                        1e-12);
            }
        }
    }

    /** Several tokens may have one position, as those of a picture, so that a window of positions has many. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void positionsMayBeChosenAfterSequencesJoined(int form) {
        MultiHeadAttentionBlock attention = causal(ROTARY, FORMS.get(form));
        try (KeyValueCache cache = new KeyValueCache(manager);
                KeyValueCache other = new KeyValueCache(manager)) {
            NDArray long4 = tokens(1, 1, 4);
            NDArray short2 = tokens(2, 1, 2);
            output(attention, new NDList(long4), cache.nextStep());
            output(attention, new NDList(short2), other.nextStep());
            cache.join(other);
            NDArray at = manager.create(new int[][] {{4}, {2}});
            NDArray all = short2;
            for (int i = 0; i < 8; i++) {
                NDArray x = tokens(3 + i, 2, 1);
                NDArray y = output(attention, new NDList(x), with(cache.nextStep(), at))
                        .head();
                all = all.concat(x.get("1:2"), 1);
                NDArray positions = manager.create(IntStream.range(0, 3 + i)
                        .map(token -> Math.min(token, 2))
                        .toArray());
                NDArray alone = output(attention, new NDList(all), with(new PairList<>(), positions))
                        .head();
                requireClose(y.get("1:2"), doubles(alone.get(":, -1:")), 1e-12);
            }
        }
    }

    /** Only a window of positions or chunks may reach back to them. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void positionsAreRejectedAfterTokensThatTheyMayBeNearWereDropped(int form) {
        MultiHeadAttentionBlock attention = causal(ROTARY, FORMS.get(form));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 8; i++) {
                output(attention, new NDList(tokens(i, 1, 1)), cache.nextStep());
            }
            NDArray next = tokens(8, 1, 1);
            NDArray at = manager.create(new int[] {3});
            if (form > 1) {
                assertAll(rejected(
                        () -> output(attention, new NDList(next), with(cache.nextStep(), at)), "8 tokens", "clear()"));
            }
            output(attention, new NDList(next), cache.nextStep());
        }
    }

    @Test
    void positionsThatWerePassedAfterSequencesJoinedStay() {
        MultiHeadAttentionBlock attention = causal(ROTARY, FORMS.get(0));
        try (RunningBatch batch = new RunningBatch(manager, attention)) {
            KeyValueCache cache = batch.join(1, 3).join(1, 2).select(0).cache();
            NDArray x = tokens(1, 1, 2);
            output(attention, new NDList(x), with(cache.nextStep(), manager.create(new int[][] {{100, 101}})));
            cache.remove(1, 3);
            assertThat(((NDArray) cache.nextStep(1).get(PositionalEncodingBlock.POSITIONS)).toIntArray())
                    .containsExactly(102);
        }
    }

    @Test
    void realPositionsAreNotContinued() {
        MultiHeadAttentionBlock attention = causal(EncodingType.ALIBI, FORMS.get(0));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            output(attention, new NDList(tokens(1, 1, 2)), with(cache.nextStep(), manager.create(new double[] {0.5, 2
            })));
            assertAll(rejected(() -> cache.nextStep(1), "(1, 2)", "float64", "integers", "nextStep()"));
            output(attention, new NDList(tokens(2, 1, 1)), with(cache.nextStep(), manager.create(new double[] {3})));
        }
    }

    /** A memory of another sequence, or of another process, has other positions. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void positionsOfAMemoryAreGivenAgain(boolean isSaved) throws Exception {
        MultiHeadAttentionBlock self = causal(ROTARY, FORMS.get(0));
        MultiHeadAttentionBlock cross = filled(manager, T5.attention(HEADS).build(), DataType.FLOAT64);
        cross.freezeParameters(true);
        NDArray memory = tokens(9, 1, 3);
        NDArray at = manager.create(new int[] {4, 0, 7});
        List<KeyValueCache> caches = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            caches.add(new KeyValueCache(manager));
            PairList<String, Object> params = caches.get(i).nextStep();
            output(self, new NDList(tokens(1 + i, 1, 2)), params);
            params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, at);
            output(cross, new NDList(memory, tokens(1 + i, 1, 2), memory), params);
        }
        KeyValueCache cache = caches.get(0);
        NDArray all = memory;
        if (isSaved) {
            Block model = SavedCache.model(self, cross);
            cache = SavedCache.loaded(SavedCache.saved(cache, model), model, manager);
            caches.add(cache);
        } else {
            cache.join(caches.get(1));
            all = memory.repeat(0, 2);
        }
        PairList<String, Object> params = cache.nextStep(1);
        NDArray next = tokens(5, all.size(0), 1);
        NDArray again = all;
        output(self, new NDList(next), params);
        assertAll(rejected(() -> output(cross, new NDList(again, next, again), params), "memoryPositions", "expected"));
        params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, at);
        NDArray y = output(cross, new NDList(again, next, again), params).head();
        PairList<String, Object> whole = new PairList<>();
        whole.add(PositionalEncodingBlock.START_POSITION, 2);
        whole.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, at);
        requireClose(
                y, doubles(output(cross, new NDList(again, next, again), whole).head()), 1e-12);
        caches.forEach(KeyValueCache::close);
    }

    /** Its second attention has not processed the prompt. */
    @Test
    void aPromptThatFailedDoesNotJoin() {
        MultiHeadAttentionBlock one = causal(ROTARY, FORMS.get(0));
        MultiHeadAttentionBlock two = causal(ROTARY, FORMS.get(0));
        try (RunningBatch batch = new RunningBatch(manager, one, two);
                KeyValueCache failed = new KeyValueCache(manager);
                KeyValueCache empty = new KeyValueCache(manager)) {
            batch.join(1, 4);
            PairList<String, Object> params = failed.nextStep();
            output(one, new NDList(tokens(1, 1, 3)), params);
            NDArray wrong = manager.ones(new Shape(1, 3, 9));
            assertAll(rejected(() -> output(two, new NDList(tokens(1, 1, 3), wrong), params), "9"));
            assertAll(
                    rejected(() -> batch.cache().join(failed), "attentions", "expected"),
                    rejected(() -> empty.join(failed), "attentions", "expected"),
                    rejected(() -> batch.cache().join(batch.cache()), "itself", "fork()"));
            batch.step(1);
        }
    }

    @Test
    void nothingIsExtractedFromACacheWithoutTokens() {
        MultiHeadAttentionBlock attention = causal(ROTARY, FORMS.get(0));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            assertAll(rejected(() -> cache.extract(0), "no tokens"));
            NDArray wrong = manager.ones(new Shape(1, 9));
            assertAll(rejected(() -> output(attention, new NDList(tokens(1, 1, 3), wrong), cache.nextStep()), "9"));
            assertAll(rejected(() -> cache.extract(0), "no tokens"));
        }
    }

    @Test
    void rejectsSequencesThatDoNotFit() {
        MultiHeadAttentionBlock one = causal(ROTARY, FORMS.get(0));
        MultiHeadAttentionBlock two = causal(ROTARY, FORMS.get(0));
        try (RunningBatch batch = new RunningBatch(manager, one);
                RunningBatch others = new RunningBatch(manager, two).join(1, 2);
                RunningBatch both = new RunningBatch(manager, one, two).join(1, 2);
                KeyValueCache empty = new KeyValueCache(manager)) {
            batch.join(1, 3);
            assertAll(
                    rejected(() -> batch.cache().join(empty), "without tokens", "nextStep()"),
                    rejected(() -> batch.cache().join(others.cache()), "same attentions"),
                    rejected(() -> batch.cache().join(both.cache()), "2 attentions", "1"),
                    rejected(() -> batch.cache().extract(), "no rows"),
                    rejected(() -> batch.cache().extract(0, 1), "row 1"),
                    rejected(() -> batch.cache().nextStep(0), "count", "0"),
                    rejected(() -> batch.cache().rewindToPrefix(new long[2], new long[2]), "2 ids", "3"),
                    rejected(() -> batch.cache().rewindToPrefix(new long[3], new long[0]), "no ids"));
            batch.step(1).join(1, 2).step(1);
            assertAll(
                    rejected(() -> batch.cache().rewindToPrefix(new long[5], new long[2]), "different lengths"),
                    rejected(
                            () -> new RunningBatch(manager, one)
                                    .join(2, 3)
                                    .cache()
                                    .rewindToPrefix(new long[3], new long[2]),
                            "2 sequences",
                            "extract()"),
                    rejected(
                            () -> one.forward(
                                    new ParameterStore(manager, false),
                                    new NDList(numbers(manager, 1, DataType.FLOAT64, 2, 1, SIZE)),
                                    false,
                                    batch.cache().nextStep()),
                            "without positions"));
            batch.cache().rewind(5);
            batch.step(1);
        }
    }

    @Test
    void keepsTheLongestPrefixOfAPrompt() {
        try (RunningBatch batch = new RunningBatch(manager, causal(ROTARY, FORMS.get(0)))) {
            KeyValueCache cache = batch.join(1, 5).cache();
            assertThat(cache.fork().rewindToPrefix(row(7, 8, 9, 4, 5), row(7, 8, 3, 4)))
                    .isEqualTo(2);
            assertThat(cache.fork().rewindToPrefix(row(7, 8, 9, 4, 5), row(7, 8)))
                    .isEqualTo(1);
            assertThat(cache.fork().rewindToPrefix(row(7, 8, 9, 4, 5), row(7, 8, 9, 4, 5, 6)))
                    .isEqualTo(5);
            assertThat(cache.rewindToPrefix(row(7, 8, 9, 4, 5), row(1))).isZero();
            assertThat(cache.getLength()).isZero();
        }
    }

    @Test
    void withAWindowThatReachesBackNoPrefixIsKept() {
        try (RunningBatch batch = new RunningBatch(manager, causal(ROTARY, FORMS.get(1)))) {
            batch.join(1, 4).step(2).step(1).step(1);
            assertThat(batch.cache().fork().rewindToPrefix(row(1, 2, 3, 4, 5, 6, 7, 8), row(1, 2, 3, 4, 5, 6, 7, 9)))
                    .isEqualTo(7);
            assertThat(batch.cache().rewindToPrefix(row(1, 2, 3, 4, 5, 6, 7, 8), row(1, 2, 3, 9)))
                    .isZero();
        }
    }

    // removal

    /** Those whose attentions see all tokens: a window would reach back to dropped ones. */
    private static final int[] WHOLE = {0, 5};

    private RunningBatch wholeBatch(EncodingType type) {
        return new RunningBatch(
                manager,
                IntStream.of(WHOLE).mapToObj(i -> causal(type, FORMS.get(i))).toArray(MultiHeadAttentionBlock[]::new));
    }

    @ParameterizedTest
    @EnumSource
    void tokensAreRemovedWithEachEncoding(EncodingType type) {
        try (RunningBatch batch = wholeBatch(type)) {
            batch.join(2, 5, 1, 0, 1, 1, 1);
            if (type == EncodingType.ROTARY_BY_DIMENSION) {
                assertAll(rejected(() -> batch.cache().remove(1, 3), "RotaryEmbeddingBlock", "its own angle"));
                batch.step(1);
                return;
            }
            batch.remove(1, 3)
                    .step(2)
                    .remove(0, 1)
                    .step(1)
                    .remove(3, 5)
                    .step(1)
                    .remove(2, 2)
                    .step(1);
        }
    }

    // saving

    /** Also values of another size, which an encoding of values does not have. */
    @ParameterizedTest
    @EnumSource
    void sequencesAreSavedAndLoadedWithEachEncoding(EncodingType type) {
        List<MultiHeadAttentionBlock> all = new ArrayList<>(attentions(type));
        if (!all.get(0).terms().haveValues()) {
            all.add(causal(type, RunningBatchTest::widerValues));
        }
        RunningBatch batch = new RunningBatch(manager, all.toArray(MultiHeadAttentionBlock[]::new));
        batch = batch.join(1, 3).reloaded().step(1).join(2, 1).reloaded().step(1);
        batch = batch.select(1, 2).reloaded().rewindBy(1).reloaded().step(2);
        batch = batch.join(1, 2, 1, 1)
                .select(2, 0)
                .reloaded()
                .step(1)
                .extract(1)
                .reloaded();
        batch.step(2).close();
    }

    @ParameterizedTest
    @EnumSource
    void tokensAreSavedAfterARemovalWithEachEncoding(EncodingType type) {
        if (type != EncodingType.ROTARY_BY_DIMENSION) {
            RunningBatch batch = wholeBatch(type).join(2, 5, 1, 0, 1, 1, 1).remove(1, 3);
            batch.reloaded().step(2).remove(0, 1).reloaded().step(1).close();
        }
    }

    private static long[] row(long... ids) {
        return ids;
    }

    @Test
    void requestsComeAndGo() {
        checkRequests(6);
    }

    @Test
    @Tag("slow")
    void manyRequestsComeAndGo() {
        checkRequests(3_000);
    }

    private void checkRequests(int cases) {
        assumeCpu();
        Map<EncodingType, List<MultiHeadAttentionBlock>> blocks = new EnumMap<>(EncodingType.class);
        RandomCases.check(cases, random -> {
            EncodingType type = one(random, List.of(EncodingType.values()));
            List<MultiHeadAttentionBlock> all = blocks.computeIfAbsent(type, each -> attentions(each));
            MultiHeadAttentionBlock[] some = IntStream.range(0, all.size())
                    .filter(i -> random.nextInt(3) == 0)
                    .mapToObj(all::get)
                    .toArray(MultiHeadAttentionBlock[]::new);
            try (NDManager own = manager.newSubManager()) {
                RunningBatch batch =
                        new RunningBatch(own, some.length == 0 ? new MultiHeadAttentionBlock[] {all.get(0)} : some);
                for (int i = 0; i < 8; i++) {
                    batch = changed(batch, longest(type), random);
                }
            }
        });
    }

    /** A window of cells has positions below 7. */
    private static int longest(EncodingType type) {
        return type.name().startsWith("WINDOW") ? 6 : 24;
    }

    private static RunningBatch changed(RunningBatch batch, int longest, SplittableRandom random) {
        int length = random.nextInt(1, 4);
        int[] mask =
                random.nextInt(3) > 0 ? new int[0] : random.ints(length, 0, 2).toArray();
        switch (batch.count() == 0 ? 0 : random.nextInt(7)) {
            case 0 -> batch.join(random.nextInt(1, 3), length, mask);
            case 1 -> batch.select(rows(batch, random));
            case 2 -> {
                return batch.extract(rows(batch, random));
            }
            case 3 -> {
                RunningBatch others = batch.fork();
                if (others.longest() + length <= longest) {
                    others.step(length, mask);
                }
                return batch.join(others);
            }
            case 4 -> remove(batch, random);
            case 5 -> {
                return batch.reloaded();
            }
            default -> {
                if (batch.longest() + length <= longest) {
                    batch.step(length, mask);
                }
            }
        }
        return batch.longest() + 1 > longest ? batch : batch.step(1);
    }

    /** A window may reach back to dropped tokens; the cache is then unchanged. */
    private static void remove(RunningBatch batch, SplittableRandom random) {
        int from = random.nextInt(batch.longest());
        int to = random.nextInt(from, batch.longest() + 1);
        if (batch.shortest() < batch.longest() || to - from == batch.longest()) {
            return;
        }
        try {
            batch.remove(from, to);
        } catch (IllegalArgumentException e) {
            assertThat(e.getMessage()).containsAnyOf("no longer cached", "would reach back", "its own angle");
        }
    }

    private static int[] rows(RunningBatch batch, SplittableRandom random) {
        return random.ints(random.nextInt(1, 4), 0, batch.count()).toArray();
    }
}
