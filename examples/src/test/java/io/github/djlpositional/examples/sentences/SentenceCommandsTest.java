package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.examples.EngineTest;
import io.github.djlpositional.examples.Engines;
import io.github.djlpositional.examples.ProgramRun;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.file.Path;
import java.util.Map;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The output of the commands, with few definitions. */
class SentenceCommandsTest {

    private static final String SPEEDS = " +\\d+\\.\\d +\\d+\\.\\d +\\d\\.\\d{3}\n";

    @TempDir
    private Path folder;

    @EngineTest
    void searchSavesTheDefinitionsAndFindsThem(String engine) {
        Engines.assumeAvailable(engine);
        String options = "search --definitions 50 --count 3 --engine " + engine + " --index " + folder;
        String first = ProgramRun.of(options, "without sound", "a ship").success();
        assertThat(first).contains("50 definitions embedded in ");
        assertThat(first.lines().filter(line -> line.matches(" +[01]\\.\\d{3} .*")))
                .hasSize(6);
        String second = ProgramRun.of(options, "without sound", "a ship").success();
        assertThat(second).isEqualTo(first.substring(first.indexOf('\n') + 1));
    }

    @Test
    @Tag("slow")
    void speedComparesBothWithTheSameThreads() {
        String out = ProgramRun.of("sentence-speed --definitions 40 --rounds 1 --threads 1 --shapes 2x8")
                .success();
        assertThat(out)
                .startsWith("40 definitions, threads: 1")
                .containsPattern(" 1,024 tokens" + SPEEDS)
                .containsPattern(" 4,096 tokens" + SPEEDS)
                .containsPattern(" 2x8" + SPEEDS)
                .containsPattern("The time is that of PyTorch \\S+, relative to ONNX Runtime \\S+\\.");
    }

    @Test
    void tuneSavesThePublishedNamesAndDrawsTheCurves() throws Exception {
        requireTuned("PyTorch");
    }

    @Test
    @Tag("slow")
    void tuneOnMxnetSavesThePublishedNamesAndDrawsTheCurves() throws Exception {
        requireTuned("MXNet");
    }

    private void requireTuned(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        Path file = folder.resolve("tuned.safetensors");
        String out = ProgramRun.of(
                        "tune --definitions 40 --held-out 8 --epochs 1 --engine " + engine + " --out " + file)
                .success();
        assertThat(out)
                .startsWith("40 definitions from WordNet to learn from, 8 others held out")
                .containsPattern("bag of words +[01]\\.\\d{4}")
                .containsPattern("encoder, frozen +[01]\\.\\d{4}")
                .containsPattern("encoder, last 2 layers tuned +[01]\\.\\d{4}")
                .containsPattern("new encoder +[01]\\.\\d{4}");
        Map<String, TensorInfo> tensors = WeightFile.open(file).getTensors();
        // 4 of the embeddings and their norm and 1 more, 16 of each of 6 layers, 2 of the classifier
        assertThat(tensors).hasSize(5 + 6 * 16 + 2);
        assertThat(tensors.get("encoder.layer.5.intermediate.dense.weight").shape())
                .isEqualTo(new Shape(1536, 384));
        assertThat(tensors.get("classifier.weight").shape()).isEqualTo(new Shape(4, 384));
        assertThat(ImageIO.read(folder.resolve("tuned.safetensors.png").toFile())
                        .getWidth())
                .isGreaterThan(1000);
    }

    @Test
    @Tag("slow")
    void stretchPrintsAndDraws() throws Exception {
        Path file = folder.resolve("stretch.png");
        String out = ProgramRun.of("stretch --documents 2 --out " + file).success();
        assertThat(out)
                .containsPattern("  8 tokens +0\\.\\d{3}\n")
                .containsPattern("512 tokens +0\\.\\d{3}\n")
                .containsPattern("from 896 +[01]\\.\\d{3} +[01]\\.\\d{3} +[01]\\.\\d{3}\n");
        assertThat(ImageIO.read(file.toFile()).getWidth()).isGreaterThan(1000);
    }

    @ParameterizedTest
    @CsvSource({
        "search --count 0 cat, --count 0",
        "search --definitions 0 cat, --definitions 0",
        "sentence-speed --threads 0, --threads 0",
        "sentence-speed --shapes 5x513, 5x513",
        "tune --layers 7, --layers 7",
        "tune --definitions 3, --definitions 3",
        "stretch --documents 1, --documents 1"
    })
    void invalidOptionsAreNamed(String command, String named) {
        assertThat(ProgramRun.of(command).error(2)).contains(named);
    }

    @Test
    void tuneSaysHowManyDefinitionsThereAre() {
        assertThat(ProgramRun.of("tune --definitions 100000 --out " + folder.resolve("a"))
                        .error(1))
                .contains("100000 definitions and 1000 held out");
    }
}
