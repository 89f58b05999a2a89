package io.github.djlpositional.huggingface;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Configurations whose layers are rotated in several ways, with the rope sections of published models.
 * {@code ConfigurationPeersTest} compares more of them with transformers.
 */
class LayersOfSeveralKindsTest {

    private static final String SLIDING = "sliding_attention";
    private static final String FULL = "full_attention";

    private static final String STEP = """
            {"model_type": "step3p5", "num_hidden_layers": 4, "sliding_window": 512, "partial_rotary_factors": [0.5, 1.0, 0.5, 1.0],
            "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"],
            "yarn_only_types": ["full_attention"], "rope_scaling": {"rope_type": "llama3", "factor": 2.0,
            "original_max_position_embeddings": 131072, "low_freq_factor": 1.0, "high_freq_factor": 32.0},
            "rope_theta": %s}""";

    private static HuggingFaceConfig of(String json) throws Exception {
        return HuggingFaceConfig.of(Json.read(json.getBytes(StandardCharsets.UTF_8)));
    }

    private static void requireRotation(RotaryEmbeddingBlock rotary, double base, int size, RotaryScaling scaling) {
        assertThat(rotary.getArguments()).containsEntry("base", base);
        assertThat(rotary.getRotarySize()).isEqualTo(size);
        assertThat(rotary.getScaling()).isEqualTo(scaling);
    }

    /** Step 3.5: the bases and shares of layers, and a scaling of those that see all tokens. */
    @Test
    void readsListsByLayer() throws Exception {
        HuggingFaceConfig step = of(STEP.formatted(List.of(5e6, 1e4, 5e6, 1e4)));
        requireRotation(step.rotary(FULL).build(), 5e6, 64, RotaryScaling.llama3(2, 1, 32, 131072));
        requireRotation(step.rotary(SLIDING).build(), 1e4, 128, RotaryScaling.none());
        assertThat(step.layerType(1)).isEqualTo(SLIDING);
    }

    /** Qwen3-Next: three of four layers have a recurrence instead. */
    @Test
    void hasNoAttentionOfOtherLayers() throws Exception {
        HuggingFaceConfig config = of("{\"model_type\": \"qwen3_next\"}");
        assertThat(config.attention(3).build().getGateProjection()).isNotNull();
        assertAll(rejected(() -> config.attention(2), "layer 2", "linear_attention", FULL));
    }

    /** Laguna: a number of heads for each layer. */
    @Test
    void readsHeadsOfEachLayer() throws Exception {
        String laguna = """
                {"model_type": "laguna", "num_hidden_layers": 2, "num_attention_heads_per_layer": [48, %s]}""";
        HuggingFaceConfig config = of(laguna.formatted("64"));
        assertThat(config.attention(0).build().getHeadCount()).isEqualTo(48);
        assertThat(config.attention(1).build().getHeadCount()).isEqualTo(64);
        assertAll(rejected(() -> of(laguna.formatted("\"x\"")).attention(1), "num_attention_heads_per_layer", "x"));
    }

    /** MiMo-V2-Flash: layers with windows have sinks, and twice as many key heads. */
    @Test
    void readsSinksAndKeyHeadsOfLayersWithWindows() throws Exception {
        HuggingFaceConfig config = of("{\"model_type\": \"mimo_v2_flash\"}");
        MultiHeadAttentionBlock full = config.attention(0).build();
        MultiHeadAttentionBlock sliding = config.attention(1).build();
        assertThat(full.getSinks()).isNull();
        assertThat(full.getKeyValueHeadCount()).isEqualTo(4);
        assertThat(full.getValueHeadSize()).isEqualTo(128);
        assertThat(sliding.getSinks()).isNotNull();
        assertThat(sliding.getKeyValueHeadCount()).isEqualTo(8);
        assertThat(sliding.getArguments()).containsEntry("window", 129).containsEntry("valueScale", 0.707);
    }

    /** Muse and Granite 4: 0 stands for no rotation. */
    @Test
    void readsBasesOfLayers() throws Exception {
        String granite = """
                {"model_type": "granite_swa", "num_hidden_layers": 4, "layer_rope_theta": [500000.0, 20000.0, 20000.0, %s]}""";
        HuggingFaceConfig config = of(granite.formatted("0.0"));
        requireRotation(config.rotary(FULL).build(), 5e5, 128, RotaryScaling.none());
        requireRotation(config.rotary(SLIDING).build(), 2e4, 128, RotaryScaling.none());
        assertThat(IntStream.range(0, 4).filter(config::isRotated)).containsExactly(0, 1, 2);
        assertThatIllegalArgumentException()
                .isThrownBy(config::rotary)
                .withMessageContaining("rotates layers of the types [full_attention, sliding_attention] differently");
        assertAll(
                rejected(() -> of(granite.formatted("30000.0")), "[20000.0, 30000.0]", "one number"),
                rejected(() -> of(granite.replace(", %s", "")), "number of layer_rope_theta 3", "4 or more"));
    }

    @Test
    void rejectsBasesThatTheClassDoesNotRead() {
        String muse = """
                {"model_type": "muse_glimmer_text", "num_hidden_layers": 2, "layer_rope_theta": [20000.0, 0],
                "layer_types": ["sliding_attention", "full_attention"]}""";
        assertAll(
                rejected(() -> of(muse).rotary(SLIDING), "layer_rope_theta 20000.0", "rope_theta 10000.0", "the same"),
                rejected(() -> of(STEP.formatted(List.of(5e6, 1e4, 4e4, 1e4))), "[5000000.0, 40000.0]", FULL),
                rejected(() -> of(STEP.formatted(List.of(5e6))), "number of rope_theta"));
    }

    /** Laguna: a key beside the sections that those that read it have themselves. */
    @Test
    void readsKeysBesideSections() throws Exception {
        String laguna = """
                {"model_type": "laguna", "rope_parameters": {"original_max_position_embeddings": 8192,
                "full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 32, %s "beta_slow": 1.0, "beta_fast": 32.0,
                "attention_factor": 1.4852030263919618, "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_type": "default",
                "rope_theta": 10000.0, "partial_rotary_factor": 1.0}}}""";
        HuggingFaceConfig config = of(laguna.formatted("\"original_max_position_embeddings\": 8192,"));
        RotaryScaling yarn = new RotaryScaling.Yarn(32, 8192, 32, 1, true, 1.4852030263919618);
        requireRotation(config.rotary(FULL).build(), 5e5, 64, yarn);
        assertAll(rejected(
                () -> of(laguna.formatted("")), "original_max_position_embeddings=8192", "beside the rope sections"));
    }

    /** MiMo V2's numbers, ZAYA's names of layers, and DeepSeek V4's names of sections. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            mimo_v2 | "hybrid_layer_pattern": [0, 1, 1, 1] | 5000000 | 10000 | 64
            zaya | "layer_types": ["hybrid", "hybrid_sliding", "hybrid_sliding", "hybrid"] | 5000000 | 10000 | 64
            deepseek_v4 | "layer_types": ["compressed_sparse_attention", "sliding_attention", "heavily_compressed_attention", "sliding_attention"] | 160000 | 10000 | 64
            """)
    void readsOtherNames(String type, String layers, double full, double sliding, int size) throws Exception {
        HuggingFaceConfig config = of("{\"model_type\": \"%s\", \"num_hidden_layers\": 4, %s}".formatted(type, layers));
        assertThat(config.layerType(0)).isEqualTo(FULL);
        assertThat(config.layerType(1)).isEqualTo(SLIDING);
        requireRotation(config.rotary(FULL).build(), full, size, RotaryScaling.none());
        requireRotation(config.rotary(SLIDING).build(), sliding, size, RotaryScaling.none());
        assertThat(config.rotary("hybrid_sliding").build().getArguments())
                .isEqualTo(config.rotary(SLIDING).build().getArguments());
    }

    /** DeepSeek V4 scales only layers with compressed keys, and does not multiply what it rotates. */
    @Test
    void readsASectionOfOneTypeOfLayers() throws Exception {
        HuggingFaceConfig config = of("""
                {"model_type": "deepseek_v4", "rope_theta": 10000, "compress_rope_theta": 160000, "qk_rope_head_dim": 64,
                "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536, "beta_fast": 32,
                "beta_slow": 1}}""");
        RotaryEmbeddingBlock rotary = config.rotary("compress").build();
        requireRotation(rotary, 160_000, 64, new RotaryScaling.Yarn(16, 65536, 32, 1, true, 1.0));
        assertThat(rotary.getArguments()).containsEntry("rotaryStart", 448);
        requireRotation(config.rotary("main").build(), 1e4, 64, RotaryScaling.none());
    }

    /** Beam: null instead of a section. */
    @Test
    void readsNullAsNoRotation() throws Exception {
        HuggingFaceConfig config = of("{\"model_type\": \"beam\"}");
        assertThat(config.isRotated(5)).isFalse();
        assertThat(config.isRotated(6)).isTrue();
        assertAll(rejected(() -> config.rotary(FULL), "\"full_attention\"", SLIDING, "optRelativeEncoding"));
    }

    @Test
    void readsSizesOfSingleLayers() throws Exception {
        String gemma = """
                {"model_type": "gemma4_text", "num_hidden_layers": 4, "per_layer_config": {"1": {"head_dim": 384}, "03": {"head_dim": %s}},
                "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]}""";
        assertThat(of(gemma.formatted(384)).rotary(FULL).build().getHeadSize()).isEqualTo(384);
        assertThat(of(gemma.formatted(384)).rotary(SLIDING).build().getHeadSize())
                .isEqualTo(256);
        assertAll(
                rejected(() -> of(gemma.formatted(128)), "head_dim", "128", "384", "per_layer_config"),
                rejected(() -> of(gemma.formatted("null")), "head_dim", "null", "384"),
                rejected(() -> of(gemma.formatted(384).replace("03", "-1")), "layer of per_layer_config -1", "0 to 3"),
                rejected(() -> of(gemma.formatted(384).replace("03", "last")), "layer of per_layer_config", "last"));
    }

    @Test
    void rejectsSectionsOfAnotherOrder() {
        String ernie = "{\"model_type\": \"ernie4_5_vl_moe_text\", \"rope_scaling\": {\"mrope_section\": %s}}";
        assertAll(
                rejected(() -> of(ernie.formatted("[20, 24, 20]")), "[20, 24, 20]", "the same for rows and columns"),
                rejected(() -> of(ernie.formatted("[22, 22]")), "[22, 22]", "64 pairs"),
                rejected(() -> of("""
                                {"model_type": "hunyuan_vl_text", "head_dim": 128,
                                "rope_scaling": {"type": "xdrope", "alpha": 1000, "xdrope_section": [16, 16, 16]}}"""), "[16, 16, 16]", "64 pairs"));
    }

    @Test
    void saysWhyATypeIsNotKnown() {
        assertAll(
                rejected(() -> of("{\"model_type\": \"pixtral\"}"), "\"pixtral\"", "RotaryPresets.pixtral"),
                rejected(() -> of("""
                                {"model_type": "molmo2_text", "num_hidden_layers": 2, "rope_scaling_layers": [1],
                                "rope_scaling": {"rope_type": "linear", "factor": 2}}"""), "rope_scaling_layers [1]", "all layers"));
    }
}
