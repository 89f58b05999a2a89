package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.PartOfSpeech;
import org.junit.jupiter.api.Test;

class DefinitionTest {

    @Test
    void haveNoExamples() throws Exception {
        assertThat(Definition.read(Definition.COUNT))
                .hasSize(Definition.COUNT)
                .contains(
                        new Definition(PartOfSpeech.ADVERB, "a cappella", "without musical accompaniment"),
                        new Definition(
                                PartOfSpeech.ADVERB,
                                "AD",
                                "in the Christian era; used before dates after the supposed year Christ was born"),
                        new Definition(PartOfSpeech.ADJECTIVE, "galore", "in great numbers"))
                .noneMatch(definition -> definition.text().contains("\""));
        assertThat(Definition.read(100))
                .as("spread over all")
                .hasSize(100)
                .extracting(Definition::partOfSpeech)
                .contains(PartOfSpeech.values());
    }
}
