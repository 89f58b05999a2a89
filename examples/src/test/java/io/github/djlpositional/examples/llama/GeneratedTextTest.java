package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** llama_2 has a tokenizer of characters with bytes for unknown ones, llama_3 one of bytes. */
class GeneratedTextTest {

    private static HuggingFaceTokenizer tokenizer(String model) throws IOException {
        return HuggingFaceTokenizer.newInstance(StoredModel.folder(model).resolve("tokenizer.json"));
    }

    /** The texts that appear after each token of a text; its first tokens are the prompt. */
    private static List<String> pieces(String model, String text, int promptTokens) throws IOException {
        try (HuggingFaceTokenizer tokenizer = tokenizer(model)) {
            long[] ids = tokenizer.encode(text).getIds();
            GeneratedText generated =
                    new GeneratedText(some -> tokenizer.decode(some, true), Arrays.copyOf(ids, promptTokens));
            List<String> pieces = new ArrayList<>();
            for (int i = promptTokens; i < ids.length; i++) {
                pieces.add(generated.add(ids[i]));
            }
            pieces.add(generated.rest());
            return pieces;
        }
    }

    @Test
    void wordsKeepTheSpacesBetweenThem() throws IOException {
        // the tokens: begin, the, cat, sat
        assertThat(pieces("llama_2", "the cat sat", 2)).containsExactly(" cat", " sat", "");
        assertThat(pieces("llama_3", "the cat sat", 2)).containsExactly(" cat", " sat", "");
    }

    @Test
    void charactersAppearWhole() throws IOException {
        assertThat(pieces("llama_3", "aü€😀a", 2)).containsExactly("", "ü", "", "", "€", "", "", "", "😀", "a", "");
    }

    @ParameterizedTest
    @CsvSource({"llama_2, the cat ü€ 😀 sat on the mat", "llama_3, the cat ü€ 😀 sat on the mat"})
    void piecesAreTheTextTogether(String model, String text) throws IOException {
        assertThat(String.join("", pieces(model, text, 1))).isEqualTo(text);
    }

    @Test
    void incompleteCharacterAppearsAtTheEnd() throws IOException {
        try (HuggingFaceTokenizer tokenizer = tokenizer("llama_3")) {
            long[] ids = tokenizer.encode("a€").getIds();
            GeneratedText text = new GeneratedText(some -> tokenizer.decode(some, true), ids[0]);
            assertThat(text.add(ids[1])).isEqualTo("a");
            assertThat(text.add(ids[2])).isEmpty();
            assertThat(text.rest()).isEqualTo("\uFFFD");
        }
    }
}
