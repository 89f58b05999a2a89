package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

/** The slope and scatter of known samples. */
class SoakMemoryTest {

    /** Grows quickly for ten minutes, then by 2 MB a minute; every seventh sample is an outlier. */
    private static SoakMemory samples() {
        SoakMemory memory = new SoakMemory();
        for (int minute = 0; minute < 20; minute++) {
            double warm = minute < 10 ? 50 * minute : 500;
            memory.add(minute, warm + 2 * minute + (minute % 7 == 4 ? 30 : 0));
        }
        return memory;
    }

    @Test
    void slopeIsThatOfTheSecondHalfWithoutOutliers() {
        assertThat(samples().slope()).isCloseTo(2, within(1e-9));
    }

    @Test
    void riseIsOverTheSecondHalf() {
        // from minute 10 to minute 19
        assertThat(samples().rise()).isCloseTo(18, within(1e-9));
    }

    @Test
    void scatterIsOfTheFarthestSamples() {
        assertThat(samples().scatter()).isCloseTo(30, within(1e-9));
    }
}
