package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Where the halves of four pairs, (a0, b0) to (a3, b3), are in a vector. */
class PairLayoutTest {

    static Stream<Arguments> vectors() {
        return Stream.of(
                arguments(PairLayout.INTERLEAVED, List.of("a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3")),
                arguments(PairLayout.CONCATENATED, List.of("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3")),
                arguments(PairLayout.CONCATENATED_HALVES, List.of("a0", "a1", "b0", "b1", "a2", "a3", "b2", "b3")));
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void halvesOfPairsAreInTheirPlaces(PairLayout layout, List<String> vector) {
        for (int pair = 0; pair < 4; pair++) {
            assertThat(vector.get(layout.firstIndex(pair, 4))).isEqualTo("a" + pair);
            assertThat(vector.get(layout.secondIndex(pair, 4))).isEqualTo("b" + pair);
        }
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void eachIndexIsOfItsPair(PairLayout layout, List<String> vector) {
        for (int index = 0; index < 8; index++) {
            assertThat(vector.get(index)).endsWith("" + layout.pair(index, 4));
        }
    }
}
