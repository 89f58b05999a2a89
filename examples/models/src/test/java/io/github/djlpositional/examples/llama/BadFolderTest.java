package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.Engines;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A folder that is not that of a complete model is refused with one line that names the file and what is wrong. */
class BadFolderTest {

    @TempDir
    private Path folder;

    private void assertRefused(Path given, String... values) {
        try (NDManager manager = Engines.newManager("PyTorch")) {
            assertThatExceptionOfType(UserError.class)
                    .isThrownBy(() -> LlamaDecoder.load(given, 20, manager))
                    .satisfies(e -> assertThat(e.getMessage())
                            .contains(folder.toString())
                            .contains(values)
                            .doesNotContain("\n"));
            assertThat(manager.getManagedArrays()).isEmpty();
        }
    }

    @Test
    void missingFileIsRefused() throws IOException {
        assertRefused(folder, "no file config.json");
        assertRefused(folder.resolve("none"), "no file config.json");
        assertRefused(Files.createFile(folder.resolve("file")), "no file config.json");
        Files.delete(StoredModel.copy("qwen_2", folder).resolve("model.safetensors"));
        assertRefused(folder, "no file model.safetensors");
    }

    @Test
    void missingShardIsRefused() throws IOException {
        Files.delete(StoredModel.copy("llama_2", folder).resolve("model-00002-of-00003.safetensors"));
        assertRefused(folder, "no file model-00002-of-00003.safetensors");
    }

    @Test
    void truncatedWeightsAreRefused() throws IOException {
        Path weights = StoredModel.copy("qwen_2", folder).resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(weights);
        Files.write(weights, Arrays.copyOf(bytes, bytes.length - 1));
        assertRefused(folder, "model.safetensors", "truncated");
    }

    @ParameterizedTest
    @CsvSource({
        // expected, edited
        "'\"weight_map\"', '\"weights\"', no weight_map",
        "'\"lm_head.weight\"', '\"head.weight\"', no tensor lm_head.weight",
        "'model.layers.0.mlp.up_proj.weight\": \"model-00001', 'model.layers.0.mlp.up_proj.weight\": \"model-00003',"
                + " no tensor model.layers.0.mlp.up_proj.weight",
        "model-00002-of-00003.safetensors, ../model.safetensors, '../model.safetensors'",
        "model-00002-of-00003.safetensors, /model.safetensors, '/model.safetensors'",
        "model-00002-of-00003.safetensors, a\\u0000\\nb, names the file 'a  b'",
        "{, [, damaged"
    })
    void indexThatDoesNotFitIsRefused(String before, String after, String message) throws IOException {
        Path index = StoredModel.copy("llama_2", folder).resolve("model.safetensors.index.json");
        StoredModel.edit(index, before, after);
        assertRefused(folder, message);
    }

    @ParameterizedTest
    @CsvSource({
        "'\"vocab_size\": 64', '\"vocab_size\": 65', tensor model.embed_tokens.weight, '(64, 16)', '(65, 16)'",
        "'\"intermediate_size\": 32', '\"intermediate_size\": 48', tensor model.layers.0.mlp, '(32, 16)', '(48, 16)'",
        "'\"num_key_value_heads\": 1', '\"num_key_value_heads\": 2', self_attn.k_proj.weight, '(8, 16)', '(16, 16)'",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 3', no tensor, model.layers.2, config.json",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 2000000000', num_hidden_layers 2000000000, fewer, config.json",
        // 32 heads, the default of qwen2
        "'\"num_attention_heads\"', '\"heads\"', head size 0, 1 to 4096, config.json",
        "'\"rms_norm_eps\": ', '\"rms_norm_eps\": 1e999, \"other\": ', epsilon, Infinity, config.json",
        "'\"num_hidden_layers\": 2', '\"num_hidden_layers\": 1', a tensor, model.layers.1, config.json",
        "'\"tie_word_embeddings\": true', '\"tie_word_embeddings\": false', no tensor, lm_head.weight, config.json",
        "'\"model_type\": \"qwen2\"', '\"model_type\": \"llama\"', a tensor, proj.bias, config.json",
        "'\"model_type\": \"qwen2\"', '\"model_type\": \"gemma\"', model_type gemma, llama, config.json",
        "'\"model_type\": \"qwen2\"', '\"model_type\": [1]', model_type, llama, config.json",
        "'\"hidden_act\": \"silu\"', '\"hidden_act\": \"gelu\"', hidden_act gelu, silu, config.json",
        "'\"use_cache\"', '\"quantization_config\": {}, \"use_cache\"', quantization_config, not quantized, config.json",
        "'\"use_cache\"', '\"rope_scaling\": {\"rope_type\": \"magic\"}, \"use_cache\"', rope_type, magic, config.json",
        "'\"use_cache\"', '\"rope_scaling\": {\"type\": \"linear\"}, \"use_cache\"', factor, is missing, config.json",
        "'\"use_cache\"', '\"rope_scaling\": 3, \"use_cache\"', rope_scaling, 3, config.json",
        "'\"vocab_size\": 64', '\"vocab_size\": \"many\"', vocab_size, many, config.json",
        "'\"vocab_size\": 64', '\"vocab_size\": 0', vocab_size 0, 1 or more, config.json",
        "'\"eos_token_id\": 2', '\"eos_token_id\": \"end\"', eos_token_id, end, config.json",
        "'\"eos_token_id\": 2', '\"eos_token_id\": [2, null]', eos_token_id, null, config.json",
        "'\"use_cache\"', 'use_cache\"', damaged, JSON, config.json"
    })
    void configurationThatDoesNotFitIsRefused(String before, String after, String given, String expected, String third)
            throws IOException {
        StoredModel.edit(StoredModel.copy("qwen_2", folder).resolve("config.json"), before, after);
        assertRefused(folder, given, expected, third);
    }

    @ParameterizedTest
    @ValueSource(strings = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "model_type"})
    void missingKeyIsRefused(String key) throws IOException {
        StoredModel.edit(StoredModel.copy("qwen_2", folder).resolve("config.json"), '"' + key + '"', "\"other\"");
        assertRefused(folder, key, "config.json");
    }
}
