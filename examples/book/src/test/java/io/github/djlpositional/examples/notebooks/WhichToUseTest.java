package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WhichToUseTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(WhichToUse::write, folder);
    }

    /** The rows of both tables in docs/choosing.md. */
    @Test
    void numbersAreThoseOfTheMeasuredTables() {
        ChapterRun table = new ChapterRun(run.printed().substring(run.printed().indexOf("characters\n")), null);
        assertThat(table.after("rotary ", 4)).containsExactly(0.944, 0.896, 2.03, 3.71);
        assertThat(table.after("distance network ", 4)).containsExactly(0.935, 0.972, 2.00, 2.01);
        assertThat(table.after("sinusoidal ", 4)).containsExactly(0.882, 0.697, 2.18, 4.26);
    }
}
