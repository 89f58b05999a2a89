package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RotaryAxesTest {

    /** T, H and W for the axes 0, 1 and 2. */
    private static String letters(RotaryAxes axes) {
        return axes.axisOfPair().stream()
                .map(axis -> String.valueOf("THW".charAt(axis)))
                .collect(Collectors.joining());
    }

    @Test
    void sectionsFollowEachOther() {
        RotaryAxes axes = RotaryAxes.sections(2, 3, 1);
        assertThat(letters(axes)).isEqualTo("TTHHHW");
        assertThat(axes.axisCount()).isEqualTo(3);
    }

    @Test
    void interleavedAxesAlternateAndEndWithTheFirst() {
        // Qwen3-VL's configuration
        assertThat(letters(RotaryAxes.interleaved(64, 24, 20, 20))).isEqualTo("THW".repeat(20) + "TTTT");
        assertThat(letters(RotaryAxes.interleaved(8, 4, 3, 1))).isEqualTo("THWTHTTH");
        assertThat(letters(RotaryAxes.interleaved(3, 3))).isEqualTo("TTT");
    }
}
