package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class VocabularyTest {

    private static final List<List<String>> SENTENCES =
            List.of(List.of("b", "a", "b"), List.of("c", "b", "a"), List.of("d"));

    @Test
    void hasTheMostFrequentWordsFirst() {
        assertThat(Vocabulary.mostFrequent(SENTENCES, 5).words()).containsExactly("b", "a", "c");
    }

    @Test
    void givesUnknownWordsOneId() {
        Vocabulary vocabulary = Vocabulary.mostFrequent(SENTENCES, 4);
        assertThat(vocabulary.size()).isEqualTo(4);
        assertThat(vocabulary.idsOf(List.of("b", "x", "a", "c"))).containsExactly(2, 1, 3, 1);
    }
}
