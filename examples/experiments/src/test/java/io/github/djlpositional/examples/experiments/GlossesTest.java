package io.github.djlpositional.examples.experiments;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class GlossesTest {

    @Test
    void areTheDefinitionsOfWordNet() throws Exception {
        List<List<String>> glosses = Glosses.read();
        // WordNet 3.1 has 117,791 synsets; definitions of one word, and repeated ones, drop out
        assertThat(glosses).hasSizeBetween(110_000, 117_791).allMatch(gloss -> new HashSet<>(gloss).size() > 1);
        // the first line of data.noun
        assertThat(glosses.get(0))
                .isEqualTo(List.of(
                        "that which is perceived or known or inferred to have its own distinct existence living or nonliving"
                                .split(" ", -1)));
    }

    @Test
    void wordsAreLowerCaseWithoutPunctuation() {
        assertThat(Glosses.words("(of a person's) Well-being, in 1945: café!"))
                .containsExactly("of", "a", "person's", "well-being", "in", "1945", "café");
    }
}
