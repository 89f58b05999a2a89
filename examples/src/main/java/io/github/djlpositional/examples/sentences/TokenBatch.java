package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The token ids of texts of similar lengths, the longest first.
 *
 * @param texts the indices of the texts
 * @param ids the token ids of each of these texts
 */
record TokenBatch(List<Integer> texts, List<long[]> ids) {

    /**
     * Sorts texts by their number of tokens, and divides them into batches.
     *
     * @param ids the token ids of each text
     * @param maxTokens the maximum number of tokens in a batch, padding included; a longer text is a batch of its own
     * @return the batches, the longest texts first
     */
    static List<TokenBatch> sortedByLength(List<long[]> ids, int maxTokens) {
        List<Integer> order = IntStream.range(0, ids.size())
                .boxed()
                .sorted(Comparator.comparingInt((Integer text) -> ids.get(text).length)
                        .reversed())
                .toList();
        List<TokenBatch> batches = new ArrayList<>();
        for (int from = 0; from < order.size(); ) {
            int longest = ids.get(order.get(from)).length;
            int to = Math.min(order.size(), from + Math.max(1, Math.floorDiv(maxTokens, longest)));
            List<Integer> texts = order.subList(from, to);
            batches.add(new TokenBatch(texts, texts.stream().map(ids::get).toList()));
            from = to;
        }
        return batches;
    }

    int size() {
        return ids.size();
    }

    /** Returns the number of tokens in the longest text. */
    int length() {
        return ids.get(0).length;
    }

    /** Returns the number of tokens with padding. */
    int tokens() {
        return size() * length();
    }

    /** Returns the shape of the ids with padding. */
    Shape shape() {
        return new Shape(size(), length());
    }

    boolean hasPadding() {
        return ids.get(size() - 1).length < length();
    }

    /** Returns the ids with padding of 0, row by row. */
    LongBuffer paddedIds() {
        int length = length();
        LongBuffer padded = LongBuffer.allocate(size() * length);
        ids.forEach(text -> padded.put(Arrays.copyOf(text, length)));
        return padded.flip();
    }

    /** Returns 1 for each token and 0 for padding, row by row. */
    LongBuffer mask() {
        int length = length();
        LongBuffer mask = LongBuffer.allocate(size() * length);
        for (long[] text : ids) {
            for (int i = 0; i < length; i++) {
                mask.put(i < text.length ? 1 : 0);
            }
        }
        return mask.flip();
    }

    /** Returns the inputs of a {@link BertEncoder}: ids, and a mask if there is padding. */
    NDList inputs(NDManager manager) {
        NDList inputs = new NDList(manager.create(paddedIds(), shape()));
        if (hasPadding()) {
            inputs.add(manager.create(mask(), shape()));
        }
        return inputs;
    }
}
