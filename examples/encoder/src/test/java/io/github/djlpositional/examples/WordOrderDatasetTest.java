package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WordOrderDatasetTest {

    private static final List<int[]> SENTENCES =
            List.of(new int[] {5, 6}, new int[] {2, 3, 4}, new int[] {7, 7, 8, 9, 1}, new int[] {3, 2, 3});

    /** Returns every example of an epoch as "label: ids". */
    private static List<String> examples(NDManager manager, WordOrderDataset dataset) {
        List<String> examples = new ArrayList<>();
        for (Batch batch : dataset.getData(manager)) {
            NDArray ids = batch.getData().singletonOrThrow();
            int[] labels = batch.getLabels().singletonOrThrow().toIntArray();
            int length = (int) ids.getShape().get(1);
            int[] values = ids.toIntArray();
            for (int i = 0; i < labels.length; i++) {
                int[] padded = Arrays.copyOfRange(values, i * length, (i + 1) * length);
                int[] sentence = Arrays.stream(padded)
                        .filter(id -> id != TransformerEncoder.PADDING)
                        .toArray();
                examples.add(labels[i] + ": " + Arrays.toString(sentence));
            }
            batch.close();
        }
        return examples;
    }

    @EngineTest
    void hasEverySentenceInOrderAndShuffled(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            List<String> examples = examples(manager, new WordOrderDataset(SENTENCES, 3, 1, true, false));
            assertThat(examples).hasSize(8);
            for (int[] sentence : SENTENCES) {
                assertThat(examples)
                        .contains("1: " + Arrays.toString(sentence))
                        .doesNotContain("0: " + Arrays.toString(sentence));
            }
        }
    }

    @EngineTest
    void trainingHasNewShufflesInEveryEpochAndEvaluationDoesNot(String engine) {
        List<int[]> sentences = List.of(new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9});
        try (NDManager manager = Engines.newManager(engine)) {
            WordOrderDataset training = new WordOrderDataset(sentences, 2, 1, true, false);
            assertThat(new TreeSet<>(examples(manager, training)))
                    .isNotEqualTo(new TreeSet<>(examples(manager, training)));
            WordOrderDataset measuring = new WordOrderDataset(sentences, 2, 1, false, false);
            assertThat(examples(manager, measuring)).isEqualTo(examples(manager, measuring));
        }
    }

    private static List<Set<Long>> lengths(NDManager manager, boolean mixesLengths) {
        List<int[]> sentences = IntStream.range(0, 400)
                .mapToObj(i -> IntStream.rangeClosed(1, 2 + i % 4).toArray())
                .toList();
        List<Set<Long>> lengths = new ArrayList<>();
        for (Batch batch : new WordOrderDataset(sentences, 40, 1, true, mixesLengths).getData(manager)) {
            NDArray isToken = batch.getData().singletonOrThrow().neq(0);
            lengths.add(Arrays.stream(isToken.sum(new int[] {1}).toLongArray())
                    .boxed()
                    .collect(Collectors.toSet()));
            batch.close();
        }
        return lengths;
    }

    @Test
    void batchHasSentencesOfOneLengthOrOfAll() {
        try (NDManager manager = Engines.newManager("PyTorch")) {
            assertThat(lengths(manager, false)).hasSize(20).allMatch(ofBatch -> ofBatch.size() == 1);
            assertThat(lengths(manager, true)).hasSize(20).allMatch(ofBatch -> ofBatch.size() == 4);
        }
    }
}
