package io.github.djlpositional.huggingface;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.MalformedModelException;
import io.github.djlpositional.guide.Tables;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Published configurations, from {@code src/test/resources/configurations}, which have the names of the models, and
 * changes of them that are rejected. The expected rotations are those of {@code make_rope_configs.py}.
 */
class HuggingFaceConfigTest {

    /**
     * The relative error of a frequency of the independent code, base^-x in float64, is below ln(base) · x · 2^-53, so
     * 2e-15, and its mixtures add a few roundings.
     */
    private static final double ERROR = 1e-13;

    private static final String FULL = "full_attention";
    private static final String SLIDING = "sliding_attention";

    @TempDir
    private Path folder;

    /** A published configuration with other values. */
    private static HuggingFaceConfig changed(String model, Map<String, ?> values) throws Exception {
        Map<String, Object> config = HuggingFaceConfig.values(ModelTable.CONFIGURATIONS.resolve(model + ".json"));
        Map<String, Object> changed = new HashMap<>(config);
        changed.putAll(values);
        return HuggingFaceConfig.of(changed);
    }

    private static HuggingFaceConfig published(String model) throws Exception {
        return changed(model, Map.of());
    }

    /** Llama 2: heads of 128, all of which are rotated. */
    private static HuggingFaceConfig llama(String key, Object value) throws Exception {
        return changed("Llama-2-7b-hf", Collections.singletonMap(key, value));
    }

    /** Llama 2 for 2048 positions, with a section of scaled ones. */
    private static HuggingFaceConfig scaled(Map<String, ?> section) throws Exception {
        return changed("Llama-2-7b-hf", Map.of("max_position_embeddings", 2048, "rope_scaling", section));
    }

    private static HuggingFaceConfig scaled(String type, Object factor) throws Exception {
        return scaled(Map.of("type", type, "factor", factor));
    }

    /** LongRoPE whose factors for short and for long sequences are 2, with other values. */
    private static HuggingFaceConfig longRope(Map<String, ?> values) throws Exception {
        List<Double> factors = Collections.nCopies(64, 2.0);
        Map<String, Object> section = new HashMap<>(
                Map.of("rope_type", "longrope", "factor", 2, "short_factor", factors, "long_factor", factors));
        section.putAll(values);
        return scaled(section);
    }

    private static HuggingFaceConfig vision(String type, Map<String, ?> config) {
        return HuggingFaceConfig.ofVision(Map.of("model_type", type, "vision_config", config));
    }

    static List<Map<String, String>> rotations() throws Exception {
        return Tables.csv(ModelTable.CONFIGURATIONS + "/expected.csv");
    }

    private static Frequencies frequencies(RotaryEmbeddingBlock block) {
        Map<String, Object> arguments = block.getArguments();
        return arguments.get("frequencies") instanceof Map<?, ?> frequencies
                ? Frequencies.fromArguments(frequencies)
                : block.getScaling().frequencies(block.getRotarySize(), (double) arguments.get("base"));
    }

    private static String axes(RotaryEmbeddingBlock block) {
        return block.getAxes() == null
                ? ""
                : block.getAxes().axes().stream().map(String::valueOf).collect(Collectors.joining());
    }

    /** ModelTypesTest compares what the blocks compute. */
    @ParameterizedTest
    @MethodSource("rotations")
    void readsTheRotationsOfPublishedModels(Map<String, String> row) throws Exception {
        HuggingFaceConfig config =
                HuggingFaceConfig.read(ModelTable.CONFIGURATIONS.resolve(row.get("model") + ".json"));
        String layerType = row.get("layer_type");
        int length = Integer.parseInt(row.get("length"));
        RotaryEmbeddingBlock block =
                (layerType.isEmpty() ? config.rotary(length) : config.rotary(layerType, length)).build();
        Map<String, Object> arguments = block.getArguments();
        assertThat(block.getHeadSize()).isEqualTo(Integer.parseInt(row.get("head_size")));
        assertThat(arguments.get("rotaryStart")).hasToString(row.get("start"));
        assertThat(arguments.get("layout")).hasToString(row.get("layout").toUpperCase(Locale.ROOT));
        assertThat(axes(block)).isEqualTo(row.get("axes"));
        assertThat(block.getScaling().attentionFactor())
                .isCloseTo(Double.parseDouble(row.get("factor")), within(ERROR));
        String[] expected = row.get("frequencies").split(" ", -1);
        Frequencies frequencies = frequencies(block);
        assertThat(frequencies.size()).isEqualTo(expected.length);
        for (int pair = 0; pair < expected.length; pair++) {
            double frequency = Double.parseDouble(expected[pair]);
            assertThat(frequencies.get(pair)).as("pair %s", pair).isCloseTo(frequency, within(ERROR * frequency));
        }
    }

    /** The axes of the pairs in order, and base^(-k / pairs) on each, from the classes of transformers 5.18. */
    @ParameterizedTest
    @CsvFileSource(
            resources = "/configurations/vision-towers.csv",
            delimiter = '|',
            quoteCharacter = '`',
            numLinesToSkip = 1)
    void readsVisionTowers(String type, String vision, int headSize, double base, String axes) throws Exception {
        String json = "{\"model_type\": \"" + type + "\", \"vision_config\": " + vision + "}";
        Path file = Files.writeString(folder.resolve("config.json"), json);
        HuggingFaceConfig config = HuggingFaceConfig.readVision(file);
        RotaryEmbeddingBlock block = config.rotary().build();
        int pairs = headSize / (2 * axes.length());
        assertThat(block.getHeadSize()).isEqualTo(headSize);
        assertThat(block.getArguments().get("layout"))
                .isEqualTo(type.equals("gemma4") ? "CONCATENATED_HALVES" : "CONCATENATED");
        assertThat(axes(block))
                .isEqualTo(axes.chars()
                        .mapToObj(axis -> Character.toString(axis).repeat(pairs))
                        .collect(Collectors.joining()));
        Frequencies frequencies = frequencies(block);
        for (int pair = 0; pair < axes.length() * pairs; pair++) {
            double expected = Math.pow(base, -(pair % pairs) / (double) pairs);
            assertThat(frequencies.get(pair)).isCloseTo(expected, within(ERROR));
        }
        assertThat(config.getScale()).isCloseTo(type.equals("gemma4") ? 1 : 1 / Math.sqrt(headSize), within(ERROR));
    }

    /** As in the paper: 0.1 ln 10 + 1. */
    @Test
    void yarnWithOnlyMscaleHasTheFactorOfThePaper() throws Exception {
        double factor = scaled(Map.of("type", "yarn", "factor", 10, "mscale", 1.0))
                .rotary()
                .build()
                .getScaling()
                .attentionFactor();
        assertThat(factor).isCloseTo(1 + 0.1 * Math.log(10), within(ERROR));
    }

    /** From its class; without the keys, the factor follows from the lengths or is set. */
    @Test
    void onlyPhiMoeHasAFactorForEachListOfLongRope() throws Exception {
        Map<String, Object> section =
                new HashMap<>(Map.of("original_max_position_embeddings", 1024, "attention_factor", 0.5));
        assertThat(attentionFactor(longRope(section), 1025)).isEqualTo(0.5);
        section.putAll(Map.of("short_mscale", 1.2, "long_mscale", 1.25));
        assertAll(rejected(() -> longRope(section), "\"short_mscale\"", "longrope"));
        Map<String, Object> phi = phiMoe(section, 2.0);
        assertThat(attentionFactor(HuggingFaceConfig.of(phi), 1024)).isEqualTo(1.2);
        assertThat(attentionFactor(HuggingFaceConfig.of(phi), 1025)).isEqualTo(1.25);
    }

    /**
     * Beyond the original length, the code published with the model takes the long factors, transformers 5.23 the short
     * ones.
     */
    @Test
    void rejectsLengthsForWhichPublishedCodeDisagrees() throws Exception {
        Map<String, Object> section =
                Map.of("original_max_position_embeddings", 1024, "short_mscale", 1.2, "long_mscale", 1.25);
        HuggingFaceConfig phi = HuggingFaceConfig.of(phiMoe(section, 3.0));
        assertThat(attentionFactor(phi, 1024)).isEqualTo(1.2);
        assertAll(rejected(() -> phi.rotary(1025), "1025", "1024", "short_factor", "long_factor"));
    }

    private static Map<String, Object> phiMoe(Map<String, Object> section, double longFactor) {
        Map<String, Object> scaling = new HashMap<>(section);
        scaling.put("type", "longrope");
        scaling.put("short_factor", Collections.nCopies(64, 2.0));
        scaling.put("long_factor", Collections.nCopies(64, longFactor));
        return Map.of("model_type", "phimoe", "max_position_embeddings", 2048, "rope_scaling", scaling);
    }

    private static double attentionFactor(HuggingFaceConfig config, int length) {
        return config.rotary(length).build().getScaling().attentionFactor();
    }

    /** Cohere 2 rotates in layers with windows only. */
    @Test
    void theOnlyLayersWithARotaryEncodingNeedNoName() throws Exception {
        HuggingFaceConfig cohere = published("c4ai-command-r7b-12-2024");
        assertThat(cohere.rotary().build().getArguments())
                .isEqualTo(cohere.rotary(SLIDING).build().getArguments());
        assertAll(
                rejected(() -> cohere.rotary(FULL), "\"full_attention\"", "sliding_attention", "optRelativeEncoding"));
    }

    /**
     * Frequencies and head size of nomic-embed-text's own code, which has these names of the keys; its published
     * configuration has some keys under both names, and a longer {@code n_positions}.
     */
    @Test
    void readsTheNamesOfKeysThatTheCodeOfAModelTypeReads() throws Exception {
        Map<String, Object> nomic =
                new HashMap<>(Map.of("model_type", "nomic_bert", "n_embd", 1024, "n_head", 8, "n_positions", 512));
        nomic.put("rotary_emb_base", 10_000);
        RotaryEmbeddingBlock block = HuggingFaceConfig.of(nomic).rotary().build();
        assertThat(block.getHeadSize()).isEqualTo(128);
        assertThat(block.getArguments()).containsEntry("base", 10_000.0).containsEntry("maxSequenceLength", 512);
        nomic.putAll(Map.of("hidden_size", 1024, "n_positions", 8192, "max_position_embeddings", 2048));
        nomic.put("rope_parameters", Map.of("rope_theta", 10_000, "rope_type", "default"));
        assertThat(HuggingFaceConfig.of(nomic).rotary().build().getHeadSize()).isEqualTo(128);
        nomic.put("hidden_size", 768);
        assertAll(rejected(() -> HuggingFaceConfig.of(nomic), "n_embd 1024", 768));
        assertThat(changed("falcon-7b", Map.of("n_embed", 4544))
                        .rotary()
                        .build()
                        .getHeadSize())
                .isEqualTo(64);
        assertThat(changed("gpt-j-6b", Map.of("hidden_size", 4096))
                        .rotary()
                        .build()
                        .getHeadSize())
                .isEqualTo(256);
    }

    /**
     * From the class of Voxtral in transformers 5.23, whose text has another base and head size than a Llama without
     * keys.
     */
    @Test
    void aTextConfigHasTheDefaultsOfItsModel() {
        for (Map<String, ?> text : List.<Map<String, ?>>of(Map.of(), Map.of("model_type", "qwen2"))) {
            RotaryEmbeddingBlock block = HuggingFaceConfig.of(Map.of("model_type", "voxtral", "text_config", text))
                    .rotary()
                    .build();
            assertThat(block.getHeadSize()).isEqualTo(128);
            assertThat(block.getArguments()).containsEntry("base", 1e8).containsEntry("autoExtend", 131_072);
        }
    }

    @Test
    void rejectsKeysThatOnlyOtherModelTypesRead() throws Exception {
        assertAll(
                rejected(() -> llama("rotary_dim", 32), "rotary_dim 32", "llama"),
                rejected(() -> llama("n_embd", 2048), "n_embd 2048", 4096),
                rejected(() -> llama("n_head", 8), "n_head 8", 32),
                rejected(() -> llama("rotary_emb_base", 1000), "rotary_emb_base 1000", 10_000),
                rejected(() -> llama("rotary_pct", 0.5), "rotary_pct 0.5", 1),
                rejected(() -> llama("partial_rotary_factor", 0.5), "partial_rotary_factor 0.5", 1, "vLLM"),
                rejected(() -> llama("swa_rope_theta", 1000), "swa_rope_theta 1000"),
                rejected(() -> llama("no_rope_layers", List.of(1, 0)), "no_rope_layers [1, 0]"),
                rejected(() -> llama("position_embedding_type", "nope"), "position_embedding_type nope"),
                rejected(() -> llama("alibi", true), "alibi true"),
                rejected(() -> changed("gpt-j-6b", Map.of("rope_scaling", Map.of("type", "yarn"))), "rope_scaling"));
        // they say what is read elsewhere, or nothing
        for (Map<String, Object> same : List.<Map<String, Object>>of(
                Map.of("n_embd", 4096, "n_head", 32, "n_positions", 4096, "kv_channels", 128, "rotary_pct", 1.0),
                Map.of("rotary_emb_base", 10_000, "no_rope_layers", List.of(), "alibi", false, "rotary_dim", List.of()),
                Map.of("position_embedding_type", "absolute", "rope_interleave", false))) {
            assertThat(changed("Llama-2-7b-hf", same).rotary().build().getArguments())
                    .isEqualTo(published("Llama-2-7b-hf").rotary().build().getArguments());
        }
    }

    /**
     * transformers ignores attn_factor and a lone mscale; vLLM multiplies by the one, DeepSeek's code reads the other.
     */
    @Test
    void attentionFactorSaysWhichOfTwoReadingsIsMeant() throws Exception {
        double published = 1 + 0.1 * Math.log(4);
        Map<String, Object> section = new HashMap<>(Map.of("type", "yarn", "factor", 4, "attn_factor", 0.5));
        assertAll(
                rejected(() -> scaled(section), "attn_factor 0.5", published, published / 2, "attention_factor"),
                rejected(
                        () -> scaled(Map.of("type", "yarn", "factor", 4, "mscale", 0.5)),
                        "mscale 0.5",
                        published,
                        1 + 0.05 * Math.log(4)));
        section.put("attn_factor", 1);
        assertThat(attentionFactor(scaled(section), 1)).isCloseTo(published, within(ERROR));
        section.putAll(Map.of("attn_factor", 0.5, "attention_factor", published / 2));
        assertThat(attentionFactor(scaled(section), 1)).isEqualTo(published / 2);
    }

    /** The class of Gemma 3 reads these keys within a section only, or does not find them there. */
    @Test
    void rejectsKeysThatSectionsOfLayerTypesDoNotHave() {
        Map<String, Object> yarn =
                Map.of("rope_type", "yarn", "rope_theta", 1e6, "factor", 8, "original_max_position_embeddings", 1024);
        Map<String, Object> exact = new HashMap<>(yarn);
        exact.put("truncate", false);
        Map<String, Object> gemma = Map.of("model_type", "gemma3_text");
        assertAll(
                rejected(
                        () -> HuggingFaceConfig.of(with(
                                gemma, "rope_parameters", Map.of(FULL, yarn), "original_max_position_embeddings", 512)),
                        "original_max_position_embeddings 512",
                        1024),
                rejected(
                        () -> HuggingFaceConfig.of(
                                with(gemma, "rope_scaling", yarn, "original_max_position_embeddings", 512)),
                        512,
                        1024),
                rejected(
                        () -> HuggingFaceConfig.of(with(gemma, "rope_parameters", Map.of(FULL, exact), "a", 1)),
                        "truncate false",
                        "transformers 4"),
                () -> assertThat(HuggingFaceConfig.of(with(
                                        gemma,
                                        "rope_parameters",
                                        Map.of(FULL, yarn),
                                        "original_max_position_embeddings",
                                        1024))
                                .rotary(FULL)
                                .build()
                                .getScaling()
                                .getArguments())
                        .containsEntry("originalLength", 1024));
    }

    private static Map<String, Object> with(
            Map<String, Object> config, String key, Object value, String other, Object otherValue) {
        Map<String, Object> copy = new HashMap<>(config);
        copy.put(key, value);
        copy.put(other, otherValue);
        return copy;
    }

    /** One section says nothing about layers of other types. */
    @Test
    void rejectsLayersThatTheSectionsDoNotName() {
        Map<String, Object> qwen =
                Map.of("model_type", "qwen3", "layer_types", List.of(FULL, SLIDING), "num_hidden_layers", 2);
        Map<String, Object> sections = new HashMap<>(Map.of(FULL, Map.of("rope_theta", 1e6)));
        sections.put(SLIDING, null);
        HuggingFaceConfig config =
                HuggingFaceConfig.of(with(qwen, "rope_parameters", sections, "use_sliding_window", true));
        assertThat(config.rotary(FULL).build().getArguments()).containsEntry("base", 1e6);
        assertAll(
                rejected(config::rotary, FULL, SLIDING),
                rejected(() -> config.rotary(5), FULL, SLIDING),
                rejected(() -> config.rotary(SLIDING), SLIDING));
    }

    /** From the class of Llama 4: every fourth layer has no rotary encoding, and another type. */
    @Test
    void saysWhichLayersRotate() throws Exception {
        HuggingFaceConfig llama = HuggingFaceConfig.of(Map.of("model_type", "llama4_text"));
        assertThat(llama.isRotated(2)).isTrue();
        assertThat(llama.isRotated(3)).isFalse();
        assertThat(published("Llama-2-7b-hf").isRotated(31)).isTrue();
        assertAll(
                rejected(() -> llama.rotary(FULL), "\"full_attention\"", "chunked_attention", "optRelativeEncoding"),
                rejected(() -> llama.isRotated(48), "layer 48", 47),
                rejected(() -> llama.isRotated(-1), "layer -1"),
                rejected(
                        () -> HuggingFaceConfig.of(
                                        Map.of("model_type", "granitemoehybrid", "position_embedding_type", "nope"))
                                .rotary(FULL),
                        "position_embedding_type",
                        "nope",
                        "optRelativeEncoding"));
    }

    /** The class of Falcon-H1 multiplies the keys before their rotation; the scale of its scores is 1 / √H. */
    @Test
    void theFactorOfTheKeysIsNotInTheScale() throws Exception {
        HuggingFaceConfig falcon = HuggingFaceConfig.of(
                Map.of("model_type", "falcon_h1", "rope_theta", 1e11, "head_dim", 64, "key_multiplier", 0.390625));
        assertThat(falcon.getScale()).isEqualTo(0.125);
        assertThat(falcon.getKeyMultiplier()).isEqualTo(0.390625);
        assertThat(published("falcon-7b").getKeyMultiplier()).isEqualTo(1);
    }

    @Test
    void rejectsModelTypesThatAreNotKnown() {
        Map<String, ?> text = Map.of("model_type", "llama", "hidden_size", 4096, "num_attention_heads", 32);
        assertAll(
                rejected(() -> llama("model_type", "mamba"), "\"mamba\"", "llama", "qwen3"),
                rejected(() -> HuggingFaceConfig.of(Map.of()), "model_type", "llama"),
                rejected(
                        () -> HuggingFaceConfig.of(
                                Map.of("model_type", "llama4", "text_config", Map.of("model_type", "mamba"))),
                        "\"mamba\""),
                // nothing says what this model does with the positions of its text
                rejected(() -> HuggingFaceConfig.of(Map.of("model_type", "other", "text_config", text)), "\"other\""),
                rejected(
                        () -> HuggingFaceConfig.of(Map.of("model_type", "inkling_text")), "\"inkling_text\"", "rotary"),
                rejected(() -> HuggingFaceConfig.of(Map.of("model_type", "glm5_next")), "\"glm5_next\"", "rotary"));
    }

    @Test
    void rejectsRopeTypesAndKeysThatAreNotKnown() {
        assertAll(
                rejected(() -> scaled(Map.of("rope_type", "spiral", "factor", 2)), "rope_type", "\"spiral\"", "yarn"),
                rejected(() -> scaled(Map.of("type", "spiral")), "type", "\"spiral\""),
                rejected(() -> scaled(Map.of("type", "axial")), "\"axial\"", "yarn"),
                rejected(
                        () -> scaled(Map.of("type", "yarn", "factor", 2, "extrapolation_factor", 1)),
                        "\"extrapolation_factor\"",
                        "yarn"),
                rejected(
                        () -> scaled(Map.of("type", "linear", "factor", 2, "beta_fast", 32)),
                        "\"beta_fast\"",
                        "linear"),
                rejected(() -> scaled(Map.of("factor", 2)), "\"factor\"", "default"),
                rejected(
                        () -> scaled(Map.of("type", "mrope", "mrope_section", List.of(16, 24, 24))),
                        "\"mrope_section\""),
                rejected(() -> scaled(Map.of("type", "dynamic", "factor", 2, "alpha", 1000)), "\"alpha\"", "dynamic"));
    }

    @Test
    void rejectsSectionsThatContradictEachOther() {
        assertAll(
                rejected(
                        () -> scaled(Map.of("rope_type", "yarn", "type", "linear", "factor", 2)),
                        "\"yarn\"",
                        "\"linear\""),
                rejected(() -> scaled(Map.of(FULL, Map.of("rope_theta", 1e4), "factor", 2)), "factor=2"),
                rejected(
                        () -> changed(
                                "Llama-2-7b-hf",
                                Map.of(
                                        "rope_scaling", Map.of("type", "linear", "factor", 2),
                                        "rope_parameters", Map.of("type", "linear", "factor", 4))),
                        "factor=2",
                        "factor=4"),
                rejected(
                        () -> scaled(Map.of("type", "dynamic", "factor", 2, "original_max_position_embeddings", 512)),
                        512,
                        2048),
                // published code disagrees about this factor
                rejected(
                        () -> scaled(Map.of("type", "yarn", "factor", 2, "mscale", 0.5)),
                        "mscale 0.5",
                        "mscale_all_dim 0.0"));
    }

    @Test
    void rejectsValuesOfOtherTypes() {
        Map<String, ?> factors = Map.of("type", "su", "short_factor", Map.of());
        assertAll(
                rejected(() -> llama("hidden_size", "big"), "hidden_size", "big"),
                rejected(() -> llama("hidden_size", 1.5), "'hidden_size'", 1.5),
                rejected(() -> llama("rope_theta", "high"), "rope_theta", "high"),
                rejected(() -> changed("DeepSeek-V3", Map.of("rope_interleave", "yes")), "rope_interleave", "yes"),
                rejected(() -> scaled("linear", "two"), "'factor'", "two"),
                rejected(() -> scaled(Map.of("type", List.of("linear"))), "'type'"),
                rejected(() -> longRope(Map.of("short_factor", Arrays.asList(1, null))), "'short_factor'", null),
                rejected(
                        () -> changed(
                                "Llama-2-7b-hf", Map.of("model_type", "qwen2", "rope_scaling", Map.of(FULL, factors))),
                        "'short_factor'",
                        "list"));
    }

    /** As JSON names them; the values are objects of Java's classes. */
    @Test
    void namesTheTypesOfJson() throws Exception {
        Path file =
                Files.writeString(folder.resolve("config.json"), "{\"model_type\": \"llama\", \"rope_scaling\": [2]}");
        Map<String, ?> wrong = Map.of(
                "rope_scaling",
                "yarn",
                "rope_parameters",
                List.of(1),
                "hidden_size",
                Map.of("a", 1),
                "rope_theta",
                true,
                "max_position_embeddings",
                "long");
        assertAll(
                rejected(() -> HuggingFaceConfig.read(file), "'rope_scaling'", "array", "object"),
                () -> wrong.forEach((key, value) -> assertThatIllegalArgumentException()
                        .isThrownBy(() -> llama(key, value))
                        .withMessageContaining("'" + key + "'")
                        .satisfies(e -> assertThat(e.getMessage())
                                .doesNotContainPattern("(?i)Map|BigDecimal|java|argument|HuggingFaceConfig"))));
    }

    @Test
    void rejectsValuesOutOfRangeAndMissingOnes() {
        assertAll(
                rejected(() -> llama("num_attention_heads", 0), "num_attention_heads 0"),
                rejected(() -> llama("num_attention_heads", -1), "num_attention_heads -1"),
                rejected(() -> llama("head_dim", 1 << 21), "head size 2097152"),
                rejected(() -> llama("max_position_embeddings", null), "max_position_embeddings"),
                rejected(() -> scaled(Map.of("type", "linear")), "factor"),
                rejected(() -> scaled("linear", 0.5), 0.5),
                rejected(
                        () -> changed(
                                "HunyuanImage-2.1-reprompt",
                                Map.of("rope_scaling", Map.of("type", "dynamic", "alpha", 0.5))),
                        0.5),
                rejected(() -> longRope(Map.of("long_factor", List.of(1, 2), "short_factor", List.of(1, 2))), 2, 128));
        // as ints, their sum would be 64
        List<Integer> sections = Stream.concat(Collections.nCopies(4096, 1 << 20).stream(), Stream.of(64))
                .toList();
        Map<String, ?> rope = Map.of("type", "mrope", "mrope_section", sections);
        assertAll(rejected(
                () -> changed("Qwen2-VL-7B-Instruct", Map.of("rope_scaling", rope)), "mrope_section [1048576, ", 64));
    }

    /** Values that change an attention in another way than its rotary encoding describes. */
    @Test
    void rejectsValuesThatAreNotSupported() {
        assertAll(
                rejected(
                        () -> changed("falcon-7b", Map.of("alibi", true)).rotary(),
                        "alibi=true",
                        "optRelativeEncoding"),
                rejected(
                        () -> changed("roformer_chinese_base", Map.of("rotary_value", true)),
                        "rotary_value true",
                        false));
    }

    /** Values with which the code of a model type computes what no block of the library does. */
    @ParameterizedTest
    @CsvSource({
        "bert, position_embedding_type, relative_key, absolute",
        "bert, is_decoder, true, false",
        "roberta, pad_token_id, 0, 1",
        "albert, num_hidden_groups, 2, 1",
        "modernbert, norm_bias, true, false",
        "nomic_bert, prenorm, true, false",
        "deberta-v2, conv_kernel_size, 3, 0",
        "bert, hidden_act, mish, one of"
    })
    void rejectsLayersThatCannotBeBuilt(String type, String key, String value, String expected) {
        Object given = value.matches("true|false") ? Boolean.valueOf(value) : value;
        HuggingFaceConfig config = HuggingFaceConfig.of(Map.of("model_type", type, "vocab_size", 100, key, given));
        assertAll(rejected(() -> config.layer(0), key, value, expected));
    }

    /** Published files have a list, or names between bars. */
    @ParameterizedTest
    @CsvSource({"c2p, true, false", "p2c, false, true", "p2c|c2p, true, true"})
    void readsTheTermsOfDeberta(String types, boolean contentToPosition, boolean positionToContent) {
        HuggingFaceConfig config = deberta(types);
        HasArguments encoding = (HasArguments)
                config.layer(0).build().getAttention().getRelativeEncodings().get(0);
        assertThat(encoding.getArguments())
                .containsEntry("contentToPosition", contentToPosition)
                .containsEntry("positionToContent", positionToContent);
    }

    @Test
    void rejectsDebertaWithoutTerms() {
        assertAll(rejected(() -> deberta("p2p").layer(0), "pos_att_type", "p2p", "c2p"));
    }

    private static HuggingFaceConfig deberta(String types) {
        return HuggingFaceConfig.of(Map.of(
                "model_type", "deberta-v2", "vocab_size", 100, "relative_attention", true, "pos_att_type", types));
    }

    @Test
    void readsTheLengthAndTheTokensThatEndAText() throws Exception {
        HuggingFaceConfig llama = changed("Llama-3.1-8B", Map.of("eos_token_id", List.of(128_001, 128_008)));
        assertThat(llama.getMaxSequenceLength()).isEqualTo(131_072);
        assertThat(llama.getEndTokens()).containsExactly(128_001L, 128_008L);
        assertThat(changed("Llama-3.1-8B", Map.of("eos_token_id", 2)).getEndTokens())
                .containsExactly(2L);
        List<Object> withNull = Arrays.asList(2, null);
        assertAll(rejected(
                () -> changed("Llama-3.1-8B", Map.of("eos_token_id", withNull)).getEndTokens(),
                "eos_token_id",
                "null"));
    }

    @Test
    void dynamicNtkAndLongRopeNeedALength() throws Exception {
        HuggingFaceConfig dynamic = scaled("dynamic", 2);
        HuggingFaceConfig longRope = longRope(Map.of());
        assertAll(
                rejected(dynamic::rotary, "dynamic", "rotary(int)"),
                rejected(() -> dynamic.rotary(FULL), "dynamic", "rotary(String, int)"),
                rejected(() -> dynamic.rotary(0), "length 0"),
                rejected(longRope::rotary, "longrope", "rotary(int)"),
                rejected(() -> longRope.rotary(FULL), "longrope", "rotary(String, int)"),
                rejected(() -> longRope.rotary(0), "length 0"));
    }

    @Test
    void rejectsLayerTypesThatTheModelDoesNotHave() throws Exception {
        HuggingFaceConfig modernBert = published("ModernBERT-base");
        HuggingFaceConfig gemma = published("gemma-4-26B-A4B");
        assertAll(
                rejected(modernBert::rotary, "modernbert", FULL + ", " + SLIDING),
                rejected(() -> modernBert.rotary("linear_attention"), "\"linear_attention\"", SLIDING),
                rejected(() -> gemma.rotary("chunked_attention"), "chunked_attention", FULL));
    }

    @Test
    void rejectsVisionTowersThatAreNotKnown() {
        assertAll(
                rejected(() -> vision("llama", Map.of("hidden_size", 8)), "\"llama\"", "gemma4"),
                rejected(
                        () -> HuggingFaceConfig.ofVision(Map.of("model_type", "gemma4")),
                        "\"gemma4\"",
                        "vision_config"),
                rejected(() -> vision("gemma4", Map.of("head_dim", 66)), "headSize 66", 4),
                rejected(() -> vision("minimax_m3_vl", Map.of("hidden_size", 64)), "headSize 4", 6),
                rejected(
                        () -> vision("gemma4", Map.of("rope_parameters", Map.of("rope_type", "yarn"))),
                        "\"yarn\"",
                        "axial"),
                rejected(
                        () -> vision(
                                "gemma4",
                                Map.of("rope_parameters", Map.of("rope_type", "axial", "partial_rotary_factor", 0.5))),
                        "partial_rotary_factor 0.5"));
    }

    @Test
    void rejectsPathsWithoutAFile() throws Exception {
        Path loop = folder.resolve("loop.json");
        Files.createSymbolicLink(loop, loop);
        assertAll(
                rejected(FileSystemException.class, () -> HuggingFaceConfig.read(loop), "loop.json"),
                rejected(
                        FileSystemException.class,
                        () -> HuggingFaceConfig.read(loop.resolve("config.json")),
                        "loop.json"),
                rejected(NoSuchFileException.class, () -> HuggingFaceConfig.read(folder), "config.json"),
                rejected(
                        NoSuchFileException.class,
                        () -> HuggingFaceConfig.read(folder.resolve("none.json")),
                        "none.json"));
    }

    /** JsonTest has more texts that are not JSON. */
    @Test
    void rejectsDamagedAndHugeFiles() throws Exception {
        String huge = "{" + " ".repeat(5 << 20) + "}";
        for (String text :
                List.of("", "{\"hidden_size\": 1, \"hidden_size\": 2}", "{\"rope_theta\": 1e99999999999}", huge)) {
            Path file = Files.writeString(folder.resolve("config.json"), text);
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> HuggingFaceConfig.read(file))
                    .withMessageContaining(file.toString())
                    .satisfies(e -> assertThat(e.getMessage()).hasLineCount(1));
        }
    }
}
