package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Settings without a tensor of their own, which a program that builds a model by hand loads without if it forgets them:
 * a configuration and its model type set each.
 */
class ForgottenSettingsTest {

    private static final String SIZES =
            "'vocab_size': 100, 'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 4,"
                    + " 'num_key_value_heads': 2, 'head_dim': 24, 'intermediate_size': 96, 'rms_norm_eps': 1e-5,"
                    + " 'layer_norm_eps': 1e-5, 'rope_theta': 500000";

    private static final Map<String, String> OTHER_SIZES = Map.of(
            "gpt2", "'vocab_size': 100, 'n_embd': 64, 'n_layer': 4, 'n_head': 4",
            "gpt_neox", "'vocab_size': 100, 'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 4",
            "opt", "'vocab_size': 100, 'hidden_size': 64, 'num_hidden_layers': 4, 'num_attention_heads': 4");

    /**
     * The arguments of a stack by their paths. A layer that stands for several is counted once, in "layers.0".
     *
     * @param path such as layers.0.attention.causal
     * @param expected its value; empty for none
     */
    @ParameterizedTest(name = "{0}: {2} is {3}")
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
                    llama    |                                    | layers.0.attention.relativeEncoding.0.layout | CONCATENATED
                    llama    |                                    | layers.0.attention.relativeEncoding.0.base   | 500000.0
                    llama    | 'rope_scaling': {'type': 'linear', 'factor': 4} | layers.0.attention.relativeEncoding.0.scaling.factor | 4.0
                    llama    |                                    | layers.0.attention.causal            | true
                    llama    |                                    | layers.0.attention.keyValueHeadCount | 2
                    llama    |                                    | layers.0.attention.bias              | false
                    llama    |                                    | layers.0.epsilon                     | 1.0E-5
                    llama    |                                    | layers.0.feedForward.nonlinearity    | SWIGLU
                    llama    |                                    | layers.0.norm                        | RMS
                    llama    |                                    | layers.0.normPlacement               | BEFORE_PART
                    llama    |                                    | layers.0.arrangement                 | SEQUENTIAL
                    qwen3    |                                    | layers.0.attention.queryNorm.epsilon | 1.0E-5
                    mistral  | 'sliding_window': 8                | layers.0.attention.window            | 8
                    mistral  | 'sliding_window': null             | layers.0.attention.window            |
                    cohere   |                                    | layers.0.norm                        | LAYER
                    cohere   |                                    | layers.0.normPlacement               | BEFORE_PART
                    cohere   |                                    | layers.0.arrangement                 | PARALLEL_WITH_ONE_NORM
                    cohere   | 'logit_scale': 0.25                | scoreScale                           | 0.25
                    smollm3  | 'no_rope_layers': [1, 0, 1, 1]     | layers.1.attention.relativeEncoding.0.layout |
                    granite  | 'embedding_multiplier': 3          | input.tokenScale                     | 3.0
                    granite  | 'residual_multiplier': 0.4         | layers.0.residualFactor              | 0.4
                    granite  | 'logits_scaling': 2                | scoreScale                           | 0.5
                    granite  | 'attention_multiplier': 0.1        | layers.0.attention.scale             | 0.1
                    gemma    |                                    | input.scaleEmbedding                 | true
                    gemma2   |                                    | layers.0.normPlacement               | AROUND_PART
                    gemma2   | 'hidden_activation': 'gelu_pytorch_tanh' | layers.0.feedForward.nonlinearity | GEGLU_TANH
                    gemma2   | 'query_pre_attn_scalar': 16        | layers.0.attention.scale             | 0.25
                    gemma2   | 'attn_logit_softcapping': 5        | layers.0.attention.scoreCap          | 5.0
                    gemma2   | 'final_logit_softcapping': 4       | scoreCap                             | 4.0
                    gemma2   | 'sliding_window': 8                | layers.0.attention.window            | 8
                    gemma2   | 'sliding_window': 8                | layers.1.attention.window            |
                    olmo     | 'clip_qkv': 0.8                    | layers.0.attention.projectionLimit   | 0.8
                    gpt_neox |                                    | layers.0.arrangement      | PARALLEL
                    gpt_neox |                                    | layers.0.attention.relativeEncoding.0.rotarySize | 4
                    gpt2     |                                    | layers.0.feedForward.nonlinearity    | GELU_TANH
                    opt      |                                    | input.positionsFromPadding | 0
                    """)
    void isSet(String type, String settings, String path, String expected) {
        String json = "{'model_type': '" + type + "', " + OTHER_SIZES.getOrDefault(type, SIZES)
                + (settings == null ? "" : ", " + settings) + "}";
        Map<String, Object> values = JsonUtils.GSON.fromJson(json, new TypeToken<Map<String, Object>>() {}.getType());
        HuggingFaceConfig config = HuggingFaceConfig.of(values);
        TransformerStackBlock stack = config.withHead(config.stack()).build();
        Map<String, Object> found = new TreeMap<>();
        flatten("", stack.getArguments(), found);
        assertThat(String.valueOf(found.get(path))).as("%s", found).isEqualTo(String.valueOf(expected));
    }

    private static void flatten(String path, Object value, Map<String, Object> found) {
        if (value instanceof Map<?, ?> map) {
            map.forEach((key, each) -> flatten(path.isEmpty() ? key.toString() : path + "." + key, each, found));
        } else if (value instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) {
                flatten(path + "." + i, list.get(i), found);
            }
        } else {
            found.put(path, value);
        }
    }
}
