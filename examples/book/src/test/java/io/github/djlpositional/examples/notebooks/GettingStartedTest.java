package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GettingStartedTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(GettingStarted::write, folder);
    }

    @Test
    void shapesAreThoseOfTheText() {
        assertThat(run.after("ids.getShape()", 2)).containsExactly(2, 10);
        assertThat(run.after("forward(input, ids).getShape()", 3)).containsExactly(2, 10, 512);
        assertThat(run.after("encodings.getShape()", 3)).containsExactly(1, 50, 64);
        assertThat(run.after("attended.getShape()", 3)).containsExactly(2, 10, 512);
        assertThat(run.after("forward(input, source).getShape()", 3)).containsExactly(4, 120, 512);
        assertThat(run.after("forward(input, target).getShape()", 3)).containsExactly(4, 90, 512);
        assertThat(run.after("input.getParameters().size()")).isEqualTo(1);
    }

    /** √(2 · (256 - Σ cos(10000^(-k/256)))) = 3.7143 in numpy; sums of 512 squares of floats up to 4. */
    @Test
    void neighborsAreEquallyFarApart() {
        assertThat(run.after("distance of the rows 0 and 1:")).isCloseTo(3.7143, within(1e-3));
        assertThat(run.after("distance of the rows 8 and 9:")).isCloseTo(3.7143, within(1e-3));
    }

    @Test
    void theAttentionGetsTheOrder() {
        assertThat(run.after("greatest difference:")).isGreaterThan(0.01);
    }

    @Test
    void aTokenByItselfHasTheSamePosition() {
        assertThat(run.printed()).contains("both equal\n    -> true");
    }
}
