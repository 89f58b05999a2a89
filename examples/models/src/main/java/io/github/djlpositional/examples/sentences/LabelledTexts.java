package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.examples.Minibatches;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Texts with classes, in batches of similar lengths. Each epoch has another order of the batches. */
final class LabelledTexts extends Minibatches {

    private static final int TOKENS_PER_BATCH = 512;

    private final List<Text> texts;
    private final List<TokenBatch> batches;
    private final Random random;

    /** A text and its class. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Text(long[] ids, int label) {}

    LabelledTexts(List<Text> texts, int seed) {
        this(texts, TokenBatch.sortedByLength(texts.stream().map(Text::ids).toList(), TOKENS_PER_BATCH), seed);
    }

    private LabelledTexts(List<Text> texts, List<TokenBatch> batches, int seed) {
        super(batches.size(), 1);
        this.texts = texts;
        this.batches = batches;
        random = new Random(seed);
    }

    @Override
    protected Iterable<Batch> getData(NDManager manager) {
        List<TokenBatch> order = new ArrayList<>(batches);
        Collections.shuffle(order, random);
        return () -> order.stream()
                .map(batch -> batch(manager.newSubManager(), batch))
                .iterator();
    }

    private Batch batch(NDManager manager, TokenBatch batch) {
        int[] labels = batch.texts().stream().mapToInt(i -> texts.get(i).label).toArray();
        return batch(manager, batch.inputs(manager), labels);
    }
}
