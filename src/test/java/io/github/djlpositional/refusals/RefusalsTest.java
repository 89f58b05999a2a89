package io.github.djlpositional.refusals;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The refused calls of the case files, and the calls at the limits that are accepted. */
class RefusalsTest {

    /** Builders, arguments and numbers. */
    private static final Map<String, Refusals.Row> ARGUMENTS = Refusals.read("math.txt", "arguments.txt");

    /** Initializations, forwards, and files that do not fit. */
    private static final Map<String, Refusals.Row> FORWARDS =
            Refusals.read("forwards.txt", "attention.txt", "model-files.txt", "files.txt");

    /** Calls at the limits, and what they give. */
    private static final Map<String, Refusals.Row> ACCEPTED = Refusals.read("accepted.txt");

    static Stream<String> accepted() {
        return ACCEPTED.keySet().stream().filter(row -> EngineTestExtension.IS_NIGHTLY || !row.startsWith("slow: "));
    }

    static Collection<String> arguments() {
        return ARGUMENTS.keySet();
    }

    static Collection<String> names() {
        return FORWARDS.keySet();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("accepted")
    void notAtTheLimits(String row) {
        ACCEPTED.get(row).checkAccepted();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("arguments")
    void ofArguments(String row) {
        ARGUMENTS.get(row).check(null);
    }

    @EngineTest
    void ofForwards(NDManager manager, String row) {
        Refusals.Row refusal = FORWARDS.get(row);
        assumeTrue(!refusal.isOnCpu() || !manager.getDevice().isGpu(), "values are not read on a GPU");
        refusal.check(manager);
    }

    static Stream<String> structuresOfAttentions() {
        return Refusals.read("attention.txt").entrySet().stream()
                .filter(entry -> !entry.getValue().isOnCpu())
                .map(Map.Entry::getKey);
    }

    /** The structure of a call decides, on a GPU as on a CPU. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("structuresOfAttentions")
    @EnabledIf("io.github.djlpositional.DevicesTest#hasPyTorch")
    void ofForwardsOnAGpu(String row) {
        try (NDManager gpu = new SimulatedGpuEngine().newBaseManager(Device.gpu(0))) {
            FORWARDS.get(row).check(gpu);
        }
    }

    /** Refuses an attention of two heads of size 4 whose encoding has other arguments; null leaves an argument out. */
    private static void requireRefused(EncodingType type, Map<?, ?> replaced, String... values) {
        Map<Object, Object> arguments = new HashMap<>(((HasArguments) type.block()).getArguments());
        arguments.putAll(replaced);
        arguments.values().removeIf(Objects::isNull);
        MultiHeadAttentionBlock.Builder attention =
                MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
        assertThatIllegalArgumentException()
                .as("%s %s", type, replaced)
                .isThrownBy(() -> attention
                        .optRelativeEncoding(RelativeEncoding.fromArguments(arguments))
                        .build())
                .withMessageContainingAll(": expected ", "; ")
                .withMessageContainingAll(values);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void ofEncodings(EncodingType type) {
        for (String size : List.of("headCount", "headSize", "embeddingSize")) {
            if (((HasArguments) type.block()).getArguments().get(size) instanceof Integer number) {
                requireRefused(type, Map.of(size, 2 * number), size, "" + 2 * number);
                requireRefused(type, Map.of(size, 0), size, "0");
                requireRefused(type, Map.of(size, -1), size, "-1");
                requireRefused(type, Collections.singletonMap(size, null), "'" + size + "'", "missing");
            }
        }
    }
}
