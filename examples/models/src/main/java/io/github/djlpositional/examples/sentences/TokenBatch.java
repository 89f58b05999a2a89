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
public record TokenBatch(List<Integer> texts, List<long[]> ids) {

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
                .sorted(Comparator.comparingInt(text -> -ids.get(text).length))
                .toList();
        List<TokenBatch> batches = new ArrayList<>();
        for (int from = 0; from < order.size(); ) {
            int fitting = Math.max(1, Math.floorDiv(maxTokens, ids.get(order.get(from)).length));
            int to = Math.min(order.size(), from + fitting);
            List<Integer> texts = order.subList(from, to);
            batches.add(new TokenBatch(texts, texts.stream().map(ids::get).toList()));
            from = to;
        }
        return batches;
    }

    /** Returns the shape of the ids with padding. */
    public Shape shape() {
        return new Shape(ids.size(), ids.get(0).length);
    }

    /** Returns the number of tokens with padding. */
    public int tokens() {
        return Math.toIntExact(shape().size());
    }

    /** Returns the ids with padding of 0, row by row. */
    public LongBuffer paddedIds() {
        LongBuffer padded = LongBuffer.allocate(tokens());
        ids.forEach(text -> padded.put(Arrays.copyOf(text, ids.get(0).length)));
        return padded.flip();
    }

    /** Returns 1 for each token and 0 for padding, row by row. */
    public LongBuffer mask() {
        LongBuffer mask = LongBuffer.allocate(tokens());
        for (long[] text : ids) {
            IntStream.range(0, ids.get(0).length).forEach(i -> mask.put(i < text.length ? 1 : 0));
        }
        return mask.flip();
    }

    /** Returns the inputs of a {@link BertEncoder}: ids, and a mask if there is padding. */
    NDList inputs(NDManager manager) {
        NDList inputs = new NDList(manager.create(paddedIds(), shape()));
        if (ids.get(ids.size() - 1).length < ids.get(0).length) {
            inputs.add(manager.create(mask(), shape()));
        }
        return inputs;
    }
}
