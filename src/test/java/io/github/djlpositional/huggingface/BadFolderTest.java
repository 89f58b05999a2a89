package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.support.FileDamage;
import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A folder that is not that of a complete model is refused with one line that says what is wrong. */
class BadFolderTest {

    @TempDir
    private Path folder;

    private void assertRefused(Path model, String... values) {
        try (NDManager manager = TestEngine.PYTORCH.newCpuManager()) {
            assertThatExceptionOfType(Exception.class)
                    .isThrownBy(() -> HuggingFaceModel.load(model, 20, manager))
                    .satisfies(BadFolderTest::requireMessage)
                    .satisfies(e -> assertThat(e.getMessage()).contains(values));
        }
    }

    private static void requireMessage(Exception e) {
        assertThat(e).isInstanceOfAny(IllegalArgumentException.class, MalformedModelException.class);
        assertThat(e.getMessage()).hasLineCount(1).contains(": expected ", "; ");
    }

    @ParameterizedTest
    @CsvSource({
        "qwen_2, config.json",
        "qwen_2, model.safetensors",
        "llama_2, model-00002-of-00003.safetensors",
    })
    void missingFileIsRefused(String model, String file) throws IOException {
        assertRefused(folder.resolve("none"), "no file config.json");
        Files.delete(StoredModel.copy(model, folder).resolve(file));
        assertRefused(folder, "no file " + file);
    }

    @ParameterizedTest
    @CsvSource({
        // expected, edited
        "'\"weight_map\"', '\"weights\"', no weight_map",
        "model-00002-of-00003.safetensors, model-00001-of-00003.safetensors, no tensor",
        "model-00002-of-00003.safetensors, ../model.safetensors, ../model.safetensors",
        "model-00002-of-00003.safetensors, /model.safetensors, /model.safetensors",
        "{, [, no weight_map"
    })
    void indexThatDoesNotFitIsRefused(String before, String after, String message) throws IOException {
        Path index = StoredModel.copy("llama_2", folder).resolve("model.safetensors.index.json");
        StoredModel.edit(index, before, after);
        assertRefused(folder, message);
    }

    @ParameterizedTest
    @CsvSource({
        "'\"vocab_size\": 64', '\"vocab_size\": 63', model.embed_tokens.weight, '(64, 16)'",
        "'\"vocab_size\": 64', '\"vocab_size\": 2000000000', '32,', '5,776'",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 3', model.layers.2, expected",
        "'\"tie_word_embeddings\": true', '\"tie_word_embeddings\": false', lm_head.weight, expected",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 2000000000', num_hidden_layers, 1 to 4096",
        // 32 heads, the default of qwen2
        "'\"num_attention_heads\"', '\"heads\"', head size 0, 1 to 4096",
        "'\"rms_norm_eps\": ', '\"rms_norm_eps\": 1e999, \"other\": ', epsilon, Infinity",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 1', tensors unused, model.layers.1",
        "'\"model_type\": \"qwen2\"', '\"model_type\": \"llama\"', tensors unused, proj.bias",
        "'\"model_type\"', '\"other\"', model_type, is missing",
        "'\"model_type\": \"qwen2\"', '\"model_type\": \"gemma\"', 'numbers', '5,776'",
        "'\"hidden_act\": \"silu\"', '\"hidden_act\": \"xielu\"', hidden_act, xielu",
        "'\"use_cache\"', '\"quantization_config\": {}, \"use_cache\"', quantization_config, not quantized",
        "'\"use_cache\"', '\"rope_scaling\": 3, \"use_cache\"', rope_scaling, 3",
        "'\"vocab_size\": 64', '\"vocab_size\": \"many\"', vocab_size, many",
        "'\"vocab_size\": 64', '\"vocab_size\": 0', vocab_size 0, 1 or more"
    })
    void configurationThatDoesNotFitIsRefused(String before, String after, String cause, String expected)
            throws IOException {
        StoredModel.edit(StoredModel.copy("qwen_2", folder).resolve("config.json"), before, after);
        assertRefused(folder, cause, expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"llama_2", "qwen_3", "rope_longrope", "rope_yarn"})
    void damagedFilesAreLoadedOrRefused(String model) throws Exception {
        StoredModel.copy(model, folder);
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            // sorted, so that every run has the same cases
            files = all.filter(file -> !file.endsWith("tokenizer.json"))
                    .sorted()
                    .toList();
        }
        try (NDManager manager = TestEngine.PYTORCH.newCpuManager()) {
            RandomCases.check(25, random -> {
                Path file = RandomCases.one(random, files);
                byte[] whole = Files.readAllBytes(file);
                Files.write(file, FileDamage.of(random, whole));
                try (NDManager weights = manager.newSubManager()) {
                    HuggingFaceModel.load(folder, 20, weights);
                } catch (IllegalArgumentException | MalformedModelException e) {
                    requireMessage(e);
                }
                Files.write(file, whole);
            });
        }
    }
}
