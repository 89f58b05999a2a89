package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import org.junit.jupiter.api.Test;

/** On which devices values are checked. */
class RangeChecksTest {

    @Test
    void withoutAChoiceOnlyACpuIsRead() {
        assertThat(RangeChecks.of(null).readValuesOn(Device.cpu())).isTrue();
        assertThat(RangeChecks.of(null).readValuesOn(Device.gpu())).isFalse();
        assertThat(RangeChecks.of(null).readValuesOn(Device.gpu(3))).isFalse();
        // Apple's, which DJL does not call a GPU
        assertThat(RangeChecks.of(null).readValuesOn(Device.of("mps", -1))).isFalse();
    }

    @Test
    void aChoiceHoldsOnEveryDevice() {
        for (Device device : new Device[] {Device.cpu(), Device.gpu()}) {
            assertThat(RangeChecks.of(true).readValuesOn(device)).isTrue();
            assertThat(RangeChecks.of(false).readValuesOn(device)).isFalse();
        }
    }
}
