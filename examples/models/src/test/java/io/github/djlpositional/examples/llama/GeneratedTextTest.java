package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.github.djlpositional.huggingface.StoredModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** llama_2 has a tokenizer of characters with bytes for unknown ones, llama_3 one of bytes. */
class GeneratedTextTest {

    /** The texts that appear after each token of a text, and at the end; the first two tokens are the prompt. */
    private static List<String> pieces(String model, String text) throws IOException {
        Path file = StoredModel.folder(model).resolve("tokenizer.json");
        try (HuggingFaceTokenizer tokenizer = HuggingFaceTokenizer.newInstance(file)) {
            long[] ids = tokenizer.encode(text).getIds();
            GeneratedText generated = new GeneratedText(some -> tokenizer.decode(some, true), Arrays.copyOf(ids, 2));
            List<String> pieces = new ArrayList<>();
            for (int i = 2; i < ids.length; i++) {
                pieces.add(generated.add(ids[i]));
            }
            pieces.add(generated.rest());
            return pieces;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama_2", "llama_3"})
    void wordsKeepTheSpacesBetweenThem(String model) throws IOException {
        // the tokens: begin, the, cat, sat
        assertThat(pieces(model, "the cat sat")).containsExactly(" cat", " sat", "");
        assertThat(String.join("", pieces(model, "the cat ü€ 😀 sat on the mat")))
                .isEqualTo(" cat ü€ 😀 sat on the mat");
    }

    @Test
    void charactersAppearWholeUnlessTheTextEnds() throws IOException {
        assertThat(pieces("llama_3", "aü€😀a")).containsExactly("", "ü", "", "", "€", "", "", "", "😀", "a", "");
        GeneratedText text = new GeneratedText(ids -> "a".repeat(ids.length - 1) + "\uFFFD", 1);
        assertThat(text.add(2)).isEmpty();
        assertThat(text.rest()).isEqualTo("\uFFFD");
    }
}
