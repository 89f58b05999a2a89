package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.guide.Tables;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.weights.Weights;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The relevant part of published configurations, from {@code src/test/resources/configurations}, which have the names
 * of the models. The expected rotations are those of {@code make_rope_configs.py}.
 */
class HuggingFaceRopeTest {

    /**
     * The relative error of a frequency of the independent code, base^-x in float64, is below ln(base) · x · 2^-53, so
     * 2e-15, and its mixtures add a few roundings. Sines and cosines add an ulp each.
     */
    private static final double ERROR = 1e-13;

    @TempDir
    private Path folder;

    private static Path path(String model) {
        return ModelTable.CONFIGURATIONS.resolve(model + ".json");
    }

    private static HuggingFaceRope read(String model) throws Exception {
        return HuggingFaceRope.read(path(model));
    }

    private static List<Map<String, String>> rows(String file) throws Exception {
        return Tables.csv(ModelTable.CONFIGURATIONS.resolve(file).toString());
    }

    /** What a block does to each pair at position 1, and on one axis. */
    private record Rotation(List<Double> frequencies, List<Double> factors, List<Double> others) {

        static Rotation of(NDManager manager, RotaryEmbeddingBlock block, PairLayout layout, int start, int axis) {
            int headSize = block.getHeadSize();
            int pairs = block.getRotarySize() / 2;
            double[] x = new double[headSize];
            Arrays.fill(x, 0.5);
            Arrays.fill(x, start, start + 2 * pairs, 0);
            for (int pair = 0; pair < pairs; pair++) {
                x[start + layout.firstIndex(pair, pairs)] = 1;
            }
            NDArray input = manager.create(x, new Shape(1, 1, 1, headSize));
            NDArray tokens = manager.create(new long[] {1});
            if (axis >= 0) {
                tokens = manager.zeros(new Shape(3, 1, 1), DataType.INT64);
                tokens.set(new NDIndex(axis + ", 0"), manager.create(new long[] {1}));
            }
            double[] rotated = Forward.infer(manager, block, input, tokens).toDoubleArray();
            List<Double> frequencies = new ArrayList<>();
            List<Double> factors = new ArrayList<>();
            for (int pair = 0; pair < pairs; pair++) {
                double first = rotated[start + layout.firstIndex(pair, pairs)];
                double second = rotated[start + layout.secondIndex(pair, pairs)];
                frequencies.add(Math.atan2(second, first));
                factors.add(Math.hypot(first, second));
            }
            List<Double> others = IntStream.range(0, headSize)
                    .filter(i -> i < start || i >= start + 2 * pairs)
                    .mapToObj(i -> rotated[i])
                    .toList();
            return new Rotation(frequencies, factors, others);
        }
    }

    private static double[] numbers(String text) {
        return Stream.of(text.split(" ", -1)).mapToDouble(Double::parseDouble).toArray();
    }

    private static void assertClose(List<Double> actual, double[] expected, double error, String name) {
        assertThat(actual).as(name).hasSize(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(actual.get(i)).as("%s, pair %s", name, i).isCloseTo(expected[i], within(error * expected[i]));
        }
    }

    @EngineTest
    void rotatesAsPublishedModels(NDManager manager) throws Exception {
        for (Map<String, String> row : rows("expected.csv")) {
            String layerType = row.get("layer_type");
            String name = row.get("model") + " " + layerType + " at length " + row.get("length");
            HuggingFaceRope config = read(row.get("model"));
            int length = Integer.parseInt(row.get("length"));
            PairLayout layout = PairLayout.valueOf(row.get("layout").toUpperCase(Locale.ROOT));
            int start = Integer.parseInt(row.get("start"));
            RotaryEmbeddingBlock.Builder builder =
                    layerType.isEmpty() ? config.rotary(length) : config.rotary(layerType, length);
            RotaryEmbeddingBlock block = builder.optMaxSequenceLength(2).build();
            assertThat(block.getHeadSize()).as(name).isEqualTo(Integer.parseInt(row.get("head_size")));
            double[] expected = numbers(row.get("frequencies"));
            double[] factors = new double[expected.length];
            Arrays.fill(factors, Double.parseDouble(row.get("factor")));
            List<Double> unchanged = Collections.nCopies(block.getHeadSize() - 2 * expected.length, 0.5);
            String axes = row.get("axes");
            for (int axis = axes.isEmpty() ? -1 : 0; axis < (axes.isEmpty() ? 0 : 3); axis++) {
                Rotation rotation = Rotation.of(manager, block, layout, start, axis);
                int current = axis;
                double[] frequencies = IntStream.range(0, expected.length)
                        .mapToDouble(pair -> current < 0 || axes.charAt(pair) - '0' == current ? expected[pair] : 0)
                        .toArray();
                assertClose(rotation.frequencies, frequencies, ERROR, name);
                assertClose(rotation.factors, factors, ERROR, name);
                assertThat(rotation.others).as(name).isEqualTo(unchanged);
            }
            block.clear();
        }
    }

    private static double attentionFactor(Map<String, ?> section, int length) throws Exception {
        Map<String, Object> config = HuggingFaceRope.values(path("Llama-2-7b-hf"));
        config.put("rope_scaling", section);
        return HuggingFaceRope.of(config).rotary(length).build().getScaling().attentionFactor();
    }

    /** Phi-3.5-MoE has a factor for each list, in place of the factor that follows from the lengths or is set. */
    @ParameterizedTest
    @CsvSource({"true, 1024, 1.243163121016122", "true, 1025, 1.25", "false, 1025, 0.5"})
    void longRopeTakesTheFactorOfItsList(boolean hasTwo, int length, double factor) throws Exception {
        List<Double> divisors = Collections.nCopies(64, 2.0);
        Map<String, Object> section = new HashMap<>(Map.of("rope_type", "longrope", "factor", 20.0));
        section.putAll(Map.of("short_factor", divisors, "long_factor", divisors, "attention_factor", 0.5));
        section.putAll(hasTwo ? Map.of("short_mscale", 1.243163121016122, "long_mscale", 1.25) : Map.of());
        section.put("original_max_position_embeddings", 1024);
        assertThat(attentionFactor(section, length)).isEqualTo(factor);
    }

    @Test
    void yarnWithOneForMscaleHasItsOwnFactor() throws Exception {
        assertThat(attentionFactor(Map.of("type", "yarn", "factor", 10, "mscale", 1.0), 2))
                .isCloseTo(0.1 * Math.log(10) + 1, within(ERROR));
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

    @Test
    void pathsWithoutAFileAreRefused() {
        Weights.assertRejected(() -> HuggingFaceRope.read(folder), folder.toString());
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> HuggingFaceRope.read(folder.resolve("none.json")))
                .isInstanceOf(NoSuchFileException.class);
    }
}
