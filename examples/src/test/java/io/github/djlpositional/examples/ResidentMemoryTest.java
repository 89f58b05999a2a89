package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class ResidentMemoryTest {

    @Test
    void growsAsMostOfTheSecondHalfDoes() {
        ResidentMemory memory = new ResidentMemory();
        double[] megabytes = {100, 300, 400, 400, 405, 900, 415, 420, 425};
        for (int i = 0; i < megabytes.length; i++) {
            memory.add(i / 2.0, megabytes[i]);
        }
        assertThat(memory.growth()).isEqualTo("+10.0 MB per minute; from first to last +20 MB");
        assertThat(memory.latest()).isEqualTo("425 MB");
    }

    @Test
    void hoursOfSamplesHaveTheSlopeOfTheirSecondHalf() {
        ResidentMemory memory = new ResidentMemory();
        int seconds = 24 * 60 * 60;
        for (int i = 0; i < seconds; i++) {
            // steep, and from the middle on 0.5 MB a minute
            memory.add(i / 60.0, i < seconds / 2 ? i : seconds / 2.0 + (i - seconds / 2.0) / 120);
        }
        // those from just before the middle are few
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
    void isThatOfThisProcess() throws Exception {
        ResidentMemory memory = new ResidentMemory();
        memory.sample(0);
        int megabytes = Integer.parseInt(memory.latest().replace(" MB", ""));
        // no JVM that runs tests is smaller
        assertThat(megabytes).isBetween(30, 64 * 1024);
    }
}
