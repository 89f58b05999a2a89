package io.github.djlpositional.examples.experiments;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WordOrderDatasetTest {

    private static final List<int[]> SENTENCES =
            List.of(new int[] {5, 6}, new int[] {2, 3, 4}, new int[] {7, 7, 8, 9, 1}, new int[] {3, 2, 3});

    /** Returns every example of an epoch as "label: ids". */
    private static List<String> examples(NDManager manager, WordOrderDataset dataset) {
        List<String> examples = new ArrayList<>();
        for (Batch batch : dataset.getData(manager)) {
            NDArray ids = batch.getData().singletonOrThrow();
            int[] labels = batch.getLabels().singletonOrThrow().toIntArray();
            for (int i = 0; i < labels.length; i++) {
                int[] sentence = Arrays.stream(ids.get(i).toIntArray())
                        .filter(id -> id != 0)
                        .toArray();
                examples.add(labels[i] + ": " + Arrays.toString(sentence));
            }
            batch.close();
        }
        return examples;
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void hasEverySentenceInOrderAndShuffled(String engine) {
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            List<String> examples = examples(manager, new WordOrderDataset(SENTENCES, 3, 1, true, false));
            assertThat(examples).hasSize(8);
            for (int[] sentence : SENTENCES) {
                assertThat(examples)
                        .contains("1: " + Arrays.toString(sentence))
                        .doesNotContain("0: " + Arrays.toString(sentence));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void trainingHasNewShufflesInEveryEpochAndEvaluationDoesNot(String engine) {
        List<int[]> sentences = List.of(new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9});
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            WordOrderDataset training = new WordOrderDataset(sentences, 2, 1, true, false);
            assertThat(new TreeSet<>(examples(manager, training)))
                    .isNotEqualTo(new TreeSet<>(examples(manager, training)));
            WordOrderDataset measuring = new WordOrderDataset(sentences, 2, 1, false, false);
            assertThat(examples(manager, measuring)).isEqualTo(examples(manager, measuring));
        }
    }
}
