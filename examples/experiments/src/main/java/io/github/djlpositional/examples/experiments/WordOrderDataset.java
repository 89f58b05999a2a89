package io.github.djlpositional.examples.experiments;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/** Sentences in order and shuffled. */
final class WordOrderDataset extends OrderDataset<int[]> {

    private final boolean mixesLengths;

    /**
     * Creates a dataset of token ids, at least two different ones in each sentence. Unless it mixes lengths, the
     * sentences of a batch are similar, so that there is little padding.
     */
    WordOrderDataset(List<int[]> sentences, int batchSize, long seed, boolean newEveryEpoch, boolean mixesLengths) {
        super(sentences, batchSize, seed, newEveryEpoch);
        this.mixesLengths = mixesLengths;
    }

    @Override
    void arrange(List<int[]> sentences) {
        if (!mixesLengths) {
            sentences.sort(Comparator.comparingInt(sentence -> sentence.length));
        }
    }

    @Override
    NDArray input(NDManager manager, List<int[]> sentences) {
        int length = sentences.stream().mapToInt(ids -> ids.length).max().orElseThrow();
        int[] ids = new int[sentences.size() * length];
        for (int i = 0; i < sentences.size(); i++) {
            int[] sentence = sentences.get(i);
            System.arraycopy(sentence, 0, ids, i * length, sentence.length);
        }
        return manager.create(ids, new Shape(sentences.size(), length));
    }

    @Override
    int[] shuffled(int[] sentence, Random random) {
        List<Integer> ids = new ArrayList<>(Arrays.stream(sentence).boxed().toList());
        List<Integer> inOrder = List.copyOf(ids);
        do {
            Collections.shuffle(ids, random);
        } while (ids.equals(inOrder));
        return ids.stream().mapToInt(Integer::intValue).toArray();
    }
}
