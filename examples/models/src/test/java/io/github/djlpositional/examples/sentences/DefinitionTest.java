package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.PartOfSpeech;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class DefinitionTest {

    /** The counts are those of the lines of the data files that begin with a digit. */
    @Test
    void areOneForEachSetOfSynonyms() throws Exception {
        Map<PartOfSpeech, Long> counts = Definition.readAll().stream()
                .collect(Collectors.groupingBy(Definition::partOfSpeech, Collectors.counting()));
        assertThat(counts)
                .isEqualTo(Map.of(
                        PartOfSpeech.NOUN, 82_192L,
                        PartOfSpeech.VERB, 13_789L,
                        PartOfSpeech.ADJECTIVE, 18_185L,
                        PartOfSpeech.ADVERB, 3625L));
    }

    @Test
    void haveNoExamples() throws Exception {
        List<Definition> all = Definition.readAll();
        assertThat(all)
                .contains(
                        new Definition(PartOfSpeech.ADVERB, "a cappella", "without musical accompaniment"),
                        new Definition(
                                PartOfSpeech.ADVERB,
                                "AD",
                                "in the Christian era; used before dates after the supposed year Christ was born"),
                        new Definition(PartOfSpeech.ADJECTIVE, "galore", "in great numbers"))
                .noneMatch(definition -> definition.text().contains("\""));
    }

    @Test
    void someAreSpreadOverAll() throws Exception {
        assertThat(Definition.read(100))
                .hasSize(100)
                .extracting(Definition::partOfSpeech)
                .contains(PartOfSpeech.values());
    }
}
