package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Decoders with the configurations of published models have the published numbers of parameters. */
class PublishedSizesTest {

    private static final Path CONFIGURATIONS = Path.of("..", "..", "src", "test", "resources", "configurations");

    /**
     * The stored configurations have only the keys of the attention; the other sizes and the numbers are of the model
     * cards.
     */
    @ParameterizedTest
    @CsvSource({
        "Llama-2-7b-hf, 32000, 11008, false, 6738415616",
        "Meta-Llama-3-8B, 128256, 14336, false, 8030261248",
        "Llama-3.1-8B, 128256, 14336, false, 8030261248",
        "Llama-3.2-1B, 128256, 8192, true, 1235814400",
        "Mistral-7B-v0.1, 32000, 14336, false, 7241732096",
        "Mistral-7B-v0.3, 32768, 14336, false, 7248023552",
        "Qwen2-7B, 152064, 18944, false, 7615616512",
        "Qwen2.5-7B-Instruct-with-YaRN, 152064, 18944, false, 7615616512",
        "Qwen3-8B, 151936, 12288, false, 8190735360",
        "vicuna-7b-v1.5-16k, 32000, 11008, false, 6738415616"
    })
    void numberOfParametersIsThePublishedOne(
            String model, int vocabularySize, int hiddenSize, boolean isTied, long parameters) throws IOException {
        Map<String, Object> config;
        try (Reader reader = Files.newBufferedReader(CONFIGURATIONS.resolve(model + ".json"))) {
            config = JsonUtils.GSON.fromJson(reader, new TypeToken<LinkedHashMap<String, Object>>() {});
        }
        config.put("vocab_size", vocabularySize);
        config.put("intermediate_size", hiddenSize);
        config.put("tie_word_embeddings", isTied);
        LlamaDecoder decoder = new LlamaDecoder(LlamaConfig.of(config), 20);
        assertThat(decoder.getParameters().values().stream()
                        .map(Parameter::getShape)
                        .mapToLong(shape -> shape.size())
                        .sum())
                .isEqualTo(parameters);
    }
}
