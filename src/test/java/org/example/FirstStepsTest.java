package org.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.support.JavaProgram;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** In a process of its own, since the program has DJL's default engine, which a JVM chooses once. */
class FirstStepsTest {

    /** The accuracy is 0.5 without positions, and the song decays after 60 characters without a window. */
    @Test
    @Tag("slow")
    void anEncoderJudgesOrderAndADecoderSings() throws Exception {
        List<String> options =
                List.of("-Dai.djl.default_engine=PyTorch", "-Dai.djl.pytorch.num_threads=1", "-XX:TieredStopAtLevel=1");
        List<String> lines = JavaProgram.run(options, FirstSteps.class).lines().toList();
        String question = "Is 3 before 7? Accuracy ";
        assertThat(lines.get(0)).startsWith(question);
        assertThat(Double.parseDouble(lines.get(0).substring(question.length()).replace(',', '.')))
                .isGreaterThan(0.95);
        assertThat(lines.get(1))
                .startsWith("row, row, row your boat gently down the stream; merrily, merrily, merrily, merrily, life");
    }
}
