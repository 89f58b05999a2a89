package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Expected numbers are those of the published formulas, computed with numpy. */
class ConventionsTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(Conventions::write, folder);
    }

    @Test
    void equalConventionsAreOneGroup() {
        assertThat(run.printed().lines().filter(line -> line.startsWith("   ") && line.contains("0.5")))
                .map(String::strip)
                .containsSequence(
                        "0.8415 0.5403 0.0998 0.9950 0.0100 1.0000 0.0010 1.0000",
                        "0.8415 0.0464 0.0022 0.0001 0.5403 0.9989 1.0000 1.0000",
                        "0.8415 0.0998 0.0100 0.0010 0.5403 0.9950 1.0000 1.0000",
                        "0.5403 0.9950 1.0000 1.0000 0.8415 0.0998 0.0100 0.0010",
                        "0.5403 0.9989 1.0000 1.0000 0.8415 0.0464 0.0022 0.0001",
                        "0.5403 0.8415 0.9950 0.0998 1.0000 0.0100 1.0000 0.0010");
        assertThat(run.printed())
                .contains("KerasHub:\n  Géron (2nd edition), multidim-positional-encoding:\n  bert4keras:\n")
                .contains("tensor2tensor, Whisper:\n  fairseq:\n  DDPM:\n");
    }

    @Test
    void groupsDifferInThreeThings() {
        assertThat(run.printed())
                .containsPattern("neighbors +sine +1/1000 +Vaswani")
                .containsPattern("halves +sine +1/10000 +tensor2tensor")
                .containsPattern("halves +sine +1/1000 +x-transformers")
                .containsPattern("halves +cosine +1/1000 +improved-diffusion")
                .containsPattern("halves +cosine +1/10000 +DiT")
                .containsPattern("neighbors +cosine +1/1000 +some texts");
    }

    @Test
    void oddSizesDiffer() {
        assertThat(run.after("kept in exponent ", 5)).containsExactly(0.8415, 0.5403, 0.0251, 0.9997, 0.0006);
        assertThat(run.after("rounded up ", 5)).containsExactly(0.8415, 0.5403, 0.0464, 0.9989, 0.0022);
        assertThat(run.after("zero padded ", 5)).containsExactly(0.8415, 0.5403, 0.0100, 1.0000, 0);
    }

    @Test
    void anotherConventionHasOtherVectors() {
        String last = run.printed().substring(run.printed().indexOf("It is 1 for the same vector."));
        assertThat(last)
                .contains(
                        "1.000  Vaswani",
                        "1.000  Géron",
                        "0.276  tensor2tensor",
                        "0.276  DDPM",
                        "0.275  x-transformers",
                        "0.262  improved-diffusion",
                        "0.261  DiT",
                        "0.168  some texts");
    }
}
