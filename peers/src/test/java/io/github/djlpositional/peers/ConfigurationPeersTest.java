package io.github.djlpositional.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.withinPercentage;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares {@link HuggingFaceConfig} with the models that transformers builds from the same files, as
 * {@code configurations.py} describes: which layers are rotated, the factors of queries and keys, the frequencies, and
 * queries and keys before and after the rotation. Every tenth file is also compared on MXNet.
 */
@WithDumps
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConfigurationPeersTest {

    /** The results of a file, which are columns of the table. */
    private enum Result {
        EQUAL,
        REFUSED,
        NOT_RUN
    }

    /** Of factors and frequencies in percent: some roundings of transformers' powers in FLOAT32, 6e-8 each. */
    private static final double PERCENT = 1e-4;

    /** Of rotated numbers at position 0, some roundings of a sine and of two products. */
    private static final double LIMIT = 1e-5;

    /** How messages say which key is at fault where a file that transformers runs is refused. */
    private static final List<String> REFUSALS = List.of(
            // values are rotated
            "^rotary_value true of .*: expected false",
            // published code disagrees about the meaning of the key, or about its default
            "^attn_factor .*: expected attention_factor, since published code disagrees",
            "^mscale .* with mscale_all_dim .*: expected attention_factor, since published code disagrees",
            "^original_max_position_embeddings \\d+ of rope type \"dynamic\" with max_position_embeddings \\d+: expected the same",
            "^partial_rotary_factor [.\\d]+ of .*: expected 1, since the class",
            "^truncate false of the rope section of a type of layers: expected true",
            "^rope_theta is missing: expected a value",
            "^length \\d+ of .* with LongRoPE: expected at most",
            // the class of the model type does not read the key
            "^original_max_position_embeddings \\d+ outside the rope section of a type of layers, which has \\d+: expected the same",
            "^\\w+ .* of .*: expected no such key, since the code of this model type does not read it",
            "^key \"short_mscale\" of rope type \"longrope\": expected one of",
            "^rope_type \"\\w+\": expected one of .*, which the model type is known with",
            "^rope_scaling .* of HuggingFaceConfig\\((modernbert|cohere2_moe)\\): expected null",
            "^rope_theta \\d+ of HuggingFaceConfig\\((olmo3|mimo_v2_flash)\\): expected 500000",
            "^layer_rope_theta .* with rope_theta .*: expected the same, or 0 for no rotation",
            // layers of one type are rotated differently
            "^\\w+ \\[.*\\] of layers of the type \\w+: expected one number for all of them",
            "^rope_scaling_layers .*: expected all layers",
            // the sections of types of layers that the model does not have
            "^\\d+ LongRoPE factors for rotary size \\d+: expected",
            // transformers rotates another number of dimensions than the key says
            "^mrope_section .*: expected \\d+ pairs together, half of the rotated dimensions",
            "^rotarySize 21 from rotaryStart 0 with headSize 42: expected an even number",
            // max_position_embeddings of Gemma 3 is the length after the scaling; transformers has no limit
            "^position \\d+ at index \\d+ of .*: expected -\\d+ to 131071",
            // sections that contradict each other, or do not name their layers
            "^rope_scaling .* and rope_parameters .*: expected one of them",
            "^rope_parameters or rope_scaling .*: expected a section for each type of layers",
            "^keys .* beside the rope sections of layer types: expected sections only");

    private final List<PeerCase> cases;
    private final Map<String, Map<Result, Integer>> counts = new LinkedHashMap<>();
    private final Map<String, Comparison> comparisons = new HashMap<>();
    private final Set<String> known = new TreeSet<>();
    private final Set<String> unknown = new TreeSet<>();

    @TempDir
    Path folder;

    ConfigurationPeersTest() throws IOException, MalformedModelException {
        cases = PeerCase.of(Path.of(System.getProperty("peers")), "configurations");
    }

    private static boolean isUnknown(PeerCase peer) {
        return peer.kind().startsWith("unknown ");
    }

    Stream<PeerCase> unknownTypes() {
        return cases.stream().filter(ConfigurationPeersTest::isUnknown);
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("unknownTypes")
    void refusesAnUnknownType(PeerCase peer) throws IOException {
        Path file = Files.writeString(folder.resolve("config.json"), peer.text("file"));
        String type = peer.kind().substring("unknown ".length());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> HuggingFaceConfig.read(file))
                .withMessageStartingWith("model_type \"" + type + "\": expected one of ");
        unknown.add(type);
    }

    /** The groups of layers of each file of the known types. */
    Stream<Arguments> files() {
        Map<String, List<PeerCase>> files = new LinkedHashMap<>();
        cases.stream()
                .filter(peer -> !isUnknown(peer))
                .forEach(peer -> files.computeIfAbsent(peer.kind() + peer.text("file"), file -> new ArrayList<>())
                        .add(peer));
        return files.values().stream()
                .map(layers -> Arguments.of(
                        Stream.of("scaling", "changed")
                                .map(layers.get(0)::text)
                                .collect(Collectors.joining(": ", layers.get(0).kind() + ", ", "")),
                        layers));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void isEqualOrRefused(String name, List<PeerCase> layers) throws Exception {
        PeerCase first = layers.get(0);
        Path file = Files.writeString(folder.resolve("config.json"), first.text("file"));
        Result result = first.has("error") ? Result.NOT_RUN : Result.EQUAL;
        if (result == Result.EQUAL) {
            try {
                HuggingFaceConfig config = first.kind().startsWith("vision of ")
                        ? HuggingFaceConfig.readVision(file)
                        : HuggingFaceConfig.read(file);
                for (PeerCase each : layers) {
                    compare(config, each, "PyTorch");
                    if (name.hashCode() % 10 == 0) {
                        compare(config, each, "MXNet");
                    }
                }
            } catch (IllegalArgumentException e) {
                assertThat(REFUSALS)
                        .as("%s: %s", e.getMessage(), first.text("file"))
                        .anySatisfy(refusal -> assertThat(e.getMessage()).containsPattern(refusal));
                result = Result.REFUSED;
            }
        }
        if (first.text("changed").equals("all keys")) { // the file that transformers writes
            assertThat(result).isEqualTo(Result.EQUAL);
        }
        known.add(first.kind());
        counts.computeIfAbsent(first.text("scaling"), scaling -> new HashMap<>())
                .merge(result, 1, Integer::sum);
    }

    private void compare(HuggingFaceConfig config, PeerCase peer, String engine)
            throws IOException, MalformedModelException {
        boolean isRotated = peer.is("rotated");
        for (double layer : peer.numbers("layers")) {
            assertThat(config.isRotated((int) layer))
                    .as("layer %s is rotated", layer)
                    .isEqualTo(isRotated);
        }
        if (peer.is("typed")) {
            for (double layer : peer.numbers("layers")) {
                assertThat(config.layerType((int) layer))
                        .as("type of layer %s", layer)
                        .isEqualTo(peer.text("layer_type"));
            }
        }
        if (peer.has("scale")) {
            assertThat(config.getScale())
                    .as("scale of %s", peer.kind())
                    .isCloseTo(peer.number("scale"), withinPercentage(PERCENT));
        }
        assertThat(config.getKeyMultiplier()).isEqualTo(peer.number("key_multiplier"));
        if (!isRotated) {
            return;
        }
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), engine)) {
            NDArray positions = peer.array(manager, "positions");
            int length = 1 + (int) positions.max().getLong();
            RotaryEmbeddingBlock block = block(config, peer.text("layer_type"), length);
            requireAgreement(config, length, block);
            if (peer.has("frequencies")) {
                requireFrequencies(block, peer);
            }
            // transformers computes angles in FLOAT32: of position p, its error is up to 7 roundings of p, 6e-8 each
            NDArray weights = positions.getShape().dimension() == 1 ? positions : positions.max(new int[] {0});
            weights = weights.toType(DataType.FLOAT32, false)
                    .mul(0.04f)
                    .add(1)
                    .pow(-1)
                    .expandDims(-1);
            block.initialize(manager, DataType.FLOAT32, peer.array(manager, "x").getShape());
            NDArray axes = positions.getShape().dimension() == 1 ? positions : positions.expandDims(1);
            NDArray rotated = block.forward(
                            new ParameterStore(manager, false), new NDList(peer.array(manager, "x"), axes), false)
                    .head();
            comparisons
                    .computeIfAbsent(peer.text("scaling"), scaling -> new Comparison())
                    .requireEqual(rotated.mul(weights), peer.array(manager, "y").mul(weights), LIMIT);
        }
    }

    /** The encoding of a type of layers, without a length unless its frequencies depend on it. */
    private static RotaryEmbeddingBlock block(HuggingFaceConfig config, String layerType, int length) {
        try {
            return config.rotary(layerType).build();
        } catch (IllegalArgumentException e) {
            if (e.getMessage().startsWith("no length")) {
                return config.rotary(layerType, length).build();
            }
            throw e;
        }
    }

    /** Requires that the encoding of all layers is that of these layers, or refused since others have another one. */
    private static void requireAgreement(HuggingFaceConfig config, int length, RotaryEmbeddingBlock block) {
        try {
            assertThat(config.rotary(length).build().getArguments()).isEqualTo(block.getArguments());
        } catch (IllegalArgumentException e) {
            assertThat(e).hasMessageContaining("no layer type, but ");
        }
    }

    private static void requireFrequencies(RotaryEmbeddingBlock block, PeerCase peer) {
        Map<String, Object> arguments = block.getArguments();
        Frequencies frequencies = arguments.get("frequencies") instanceof Map<?, ?> custom
                ? Frequencies.fromArguments(custom)
                : block.getScaling().frequencies(block.getRotarySize(), (double) arguments.get("base"));
        double[] expected = peer.numbers("frequencies");
        assertThat(frequencies.size()).isLessThanOrEqualTo(expected.length);
        for (int pair = 0; pair < expected.length; pair++) {
            double frequency = pair < frequencies.size() ? frequencies.get(pair) : 0;
            assertThat(frequency).as("pair %s", pair).isCloseTo(expected[pair], withinPercentage(PERCENT));
        }
        if (peer.has("attention_factor")) {
            assertThat(block.getScaling().attentionFactor())
                    .isCloseTo(peer.number("attention_factor"), withinPercentage(PERCENT));
        }
    }

    @AfterAll
    void theTableSaysWhatWasCompared() throws IOException {
        List<List<String>> table = new ArrayList<>();
        counts.forEach((scaling, results) -> table.add(List.of(
                scaling,
                count(results, Result.EQUAL),
                count(results, Result.REFUSED),
                count(results, Result.NOT_RUN),
                comparisons.getOrDefault(scaling, new Comparison()).largest())));
        table.add(List.of("model types and vision towers", "" + known.size(), "" + unknown.size(), "0", ""));
        TrustPage.requireTable(
                "Configurations",
                List.of("files", "equal", "refused", "transformers cannot run", "largest error"),
                table);
    }

    private static String count(Map<Result, Integer> results, Result result) {
        return "" + results.getOrDefault(result, 0);
    }
}
