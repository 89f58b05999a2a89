package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The token ids of texts of similar lengths, the longest first.
 *
 * @param texts the indices of the texts
 * @param ids the token ids of each of these texts, and 0 for padding
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record TokenBatch(List<Integer> texts, long[][] ids) {

    /**
     * Sorts texts by their number of tokens, and divides them into batches, the longest texts first. A batch has at
     * most a number of tokens, padding included; a longer text is a batch of its own.
     */
    static List<TokenBatch> sortedByLength(List<long[]> ids, int maxTokens) {
        List<Integer> order = IntStream.range(0, ids.size())
                .boxed()
                .sorted(Comparator.comparingInt(text -> -ids.get(text).length))
                .toList();
        List<TokenBatch> batches = new ArrayList<>();
        for (int from = 0; from < order.size(); ) {
            int length = ids.get(order.get(from)).length;
            int to = Math.min(order.size(), from + Math.max(1, Math.floorDiv(maxTokens, length)));
            List<Integer> texts = order.subList(from, to);
            batches.add(new TokenBatch(
                    texts,
                    texts.stream()
                            .map(text -> Arrays.copyOf(ids.get(text), length))
                            .toArray(long[][]::new)));
            from = to;
        }
        return batches;
    }

    /** Returns the number of tokens with padding. */
    public int tokens() {
        return ids.length * ids[0].length;
    }

    /** Returns 1 for each token and 0 for padding. */
    public long[][] mask() {
        return Arrays.stream(ids)
                .map(text -> Arrays.stream(text).map(id -> id == 0 ? 0 : 1).toArray())
                .toArray(long[][]::new);
    }

    /** Returns the inputs of the encoder: ids, and a mask if there is padding. */
    NDList inputs(NDManager manager) {
        NDList inputs = new NDList(manager.create(ids));
        long[] shortest = ids[ids.length - 1];
        if (shortest[shortest.length - 1] == 0) {
            inputs.add(manager.create(mask()));
        }
        return inputs;
    }
}
