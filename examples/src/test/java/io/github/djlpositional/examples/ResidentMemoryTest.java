package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class ResidentMemoryTest {

    @Test
    void growthIsTheMedianSlopeOfTheSecondHalf() {
        ResidentMemory memory = new ResidentMemory();
        double[] megabytes = {100, 300, 400, 400, 405, 900, 415, 420, 425};
        for (int i = 0; i < megabytes.length; i++) {
            memory.add(i / 2.0, megabytes[i]);
        }
        assertThat(memory.growth()).isEqualTo("+10.0 MB per minute; from first to last +20 MB");
        assertThat(memory.latest()).isEqualTo("425 MB");
    }

    @Test
    void growthOfHoursIsThatOfTheSecondHalf() {
        ResidentMemory memory = new ResidentMemory();
        int seconds = 24 * 60 * 60;
        for (int i = 0; i < seconds; i++) {
            // steep in the first half, then 0.5 MB per minute
            memory.add(i / 60.0, i < seconds / 2 ? i : seconds / 2.0 + (i - seconds / 2.0) / 120);
        }
        assertThat(memory.growthPerMinute()).isCloseTo(0.5, within(0.01));
        assertThat(memory.latest()).isEqualTo("43560 MB");
    }

    @Test
    void isUnknownWithoutSamples() {
        assertThat(new ResidentMemory().growth()).isEqualTo("unknown");
        assertThat(new ResidentMemory().growthPerMinute()).isNaN();
        assertThat(new ResidentMemory().latest()).isEqualTo("unknown");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void readsTheMemoryOfThisProcess() throws Exception {
        ResidentMemory memory = new ResidentMemory();
        memory.sample(0);
        int megabytes = Integer.parseInt(memory.latest().replace(" MB", ""));
        // no JVM that runs tests is smaller
        assertThat(megabytes).isBetween(30, 64 * 1024);
    }
}
