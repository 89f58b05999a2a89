package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.MalformedModelException;
import io.github.djlpositional.guide.Tables;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The relevant part of published configurations, from {@code src/test/resources/configurations}, which have the names
 * of the models. The expected rotations are those of {@code make_rope_configs.py}.
 */
class HuggingFaceRopeTest {

    /**
     * The relative error of a frequency of the independent code, base^-x in float64, is below ln(base) · x · 2^-53, so
     * 2e-15, and its mixtures add a few roundings.
     */
    private static final double ERROR = 1e-13;

    @TempDir
    private Path folder;

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
                : block.getAxes().axisOfPair().stream().map(String::valueOf).collect(Collectors.joining());
    }

    /** ModelTypesTest compares what the blocks compute. */
    @ParameterizedTest
    @MethodSource("rotations")
    void readsTheRotationsOfPublishedModels(Map<String, String> row) throws Exception {
        HuggingFaceRope config = HuggingFaceRope.read(ModelTable.CONFIGURATIONS.resolve(row.get("model") + ".json"));
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
        HuggingFaceRope config = HuggingFaceRope.readVision(file);
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

    /** JsonTest has more texts that are not JSON. */
    @Test
    void damagedAndHugeFilesAreRejected() throws Exception {
        String huge = "{" + " ".repeat(5 << 20) + "}";
        for (String text :
                List.of("", "{\"hidden_size\": 1, \"hidden_size\": 2}", "{\"rope_theta\": 1e99999999999}", huge)) {
            Path file = Files.writeString(folder.resolve("config.json"), text);
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> HuggingFaceRope.read(file))
                    .withMessageContainingAll(file.toString(), ": expected ", "; ")
                    .satisfies(e -> assertThat(e.getMessage()).hasLineCount(1));
        }
    }
}
