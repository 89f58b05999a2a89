package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.SmallEncoder;
import io.github.djlpositional.examples.UserError;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainedModelTest {

    @TempDir
    private static Path folder;

    private static Path given;

    @BeforeAll
    static void train() {
        given = folder.resolve("given.zip");
        SmallEncoder.saveTo(given, "PyTorch", "--encoding", "none,sinusoidal");
    }

    private static Notebook notebook(Path model, int glosses) {
        PrintStream unused = new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8);
        return new Notebook(unused, folder, model, glosses);
    }

    @Test
    void givenModelWithThesePositionsIsUsed() {
        Notebook notebook = notebook(given, 600);
        assertThat(TrainedModel.of(notebook, Encoding.NONE, Encoding.SINUSOIDAL))
                .isEqualTo(given);
        assertThat(notebook.parts()).containsExactly(new Part.Output("The model is 'given.zip'."));
    }

    @Test
    void modelWithOtherPositionsIsLeftAsItIsAndASmallerOneIsTrained() {
        Notebook notebook = notebook(given, 600);
        Path smaller = TrainedModel.of(notebook, Encoding.LEARNED);
        assertThat(smaller).isEqualTo(folder.resolve("model-learned.zip"));
        assertThat(EncoderFile.readLog(smaller).lines())
                .isNotEmpty()
                .allMatch(line -> line.encoding().equals(Encoding.LEARNED));
        assertThat(EncoderFile.readLog(given).lines())
                .anyMatch(line -> line.encoding().equals(Encoding.NONE));
        assertThat(notebook.parts().toString())
                .contains("'given.zip' has other positions.", "A smaller model is trained now");
    }

    @Test
    void trainingThatFailsIsAnError() {
        Notebook notebook = notebook(folder.resolve("missing.zip"), 0);
        assertThatThrownBy(() -> TrainedModel.of(notebook, Encoding.LEARNED))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("the smaller model could not be trained: see the messages");
    }
}
