package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ShiftAsRotationTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(ShiftAsRotation::write, folder);
    }

    @Test
    void blocksAreRotations() {
        // numpy: cos and sin of 3 and of 3 · 10000^(-1/8)
        assertThat(run.after("frequencies 1 and 0.316:", 16))
                .containsExactly(
                        -0.99, 0.1411, 0, 0, //
                        -0.1411, -0.99, 0, 0, 0, 0, 0.5828, 0.8126, 0, 0, -0.8126, 0.5828);
    }

    @Test
    void oneMatrixMovesAllPositions() {
        // two products and a sum of numbers up to 1, and the roundings of the matrix and of both encodings
        for (String k : new String[] {"  1.0", "  3.0", "100.0", " -7.0", "  0.5"}) {
            assertThat(run.after("k = " + k + ": greatest difference")).isLessThan(8 * 0x1p-53);
        }
    }

    /** numpy: the softmax over 600 keys of gain · T(-3) PE(500) · PE(key) / 4. */
    @Test
    void theTargetNeedsAGain() {
        assertThat(run.after("gain  1: weight of the target")).isEqualTo(0.0058);
        assertThat(run.after("gain  8: weight of the target")).isEqualTo(0.4062);
        assertThat(run.after("gain 16: weight of the target")).isEqualTo(0.7867);
        // 9: 0.484, 10: 0.551
        assertThat(run.after("half of the weight: from the gain")).isBetween(9.0, 10.0);
    }

    @Test
    void aShiftedQueryFindsTheKeyThreePositionsBack() {
        assertThat(run.after("query at   5: the greatest product is with the key at"))
                .isEqualTo(2);
        assertThat(run.after("query at  50: the greatest product is with the key at"))
                .isEqualTo(47);
        assertThat(run.after("query at 500: the greatest product is with the key at"))
                .isEqualTo(497);
    }
}
