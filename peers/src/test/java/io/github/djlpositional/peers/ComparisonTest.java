package io.github.djlpositional.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ComparisonTest {

    private final NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
    private final Comparison comparison = new Comparison();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void countsResultsAndKeepsTheLargestError() {
        comparison.requireEqual(array(1, 2), array(1, 2), 0);
        comparison.requireEqual(array(150), array(100), 0.6);
        comparison.requireEqual(array(0.001f), array(0), 0.002);
        assertThat(comparison.count()).isEqualTo(3);
        assertThat(comparison.largest()).isEqualTo("5e-1");
    }

    @Test
    void rejectsOneWrongNumber() {
        for (float wrong : new float[] {2.1f, Float.NaN, Float.POSITIVE_INFINITY, -2}) {
            assertThatThrownBy(() -> comparison.requireEqual(array(1, wrong), array(1, 2), 0.01))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("number 1 of (2)");
        }
        assertThatThrownBy(() -> comparison.requireEqual(array(1, 2), array(1), 0.01))
                .isInstanceOf(AssertionError.class);
        assertThat(comparison.count()).isZero();
    }

    @Test
    void takesAnyNumberWhereThePackageHasNone() {
        comparison.requireEqual(array(7, 2), array(Float.NaN, 2), 0);
    }

    private NDArray array(float... values) {
        return manager.create(values);
    }
}
