package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.examples.Models;
import io.github.djlpositional.examples.ProgramRun;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The output of the commands, with few definitions. */
class SentenceCommandsTest {

    @TempDir
    private Path folder;

    @Test
    void searchSavesTheDefinitionsAndFindsThem() throws Exception {
        requireFound("PyTorch");
    }

    @Test
    @Tag("slow")
    void searchOnMxnetSavesTheDefinitionsAndFindsThem() throws Exception {
        requireFound("MXNet");
    }

    private void requireFound(String engine) throws Exception {
        TestEngine.of(engine).assumeAvailable();
        Definition definition = Definition.read(50).get(20);
        String options = "search --definitions 50 --count 3 --engine " + engine + " --index";
        String first = ProgramRun.of(Models.commandLine(), options, folder, "a ship", definition.text())
                .success();
        assertThat(first)
                .contains("50 definitions embedded in ")
                .containsPattern("\\R +1\\.000  \\S+ +" + Pattern.quote(definition.word() + " "));
        assertThat(first.lines().filter(line -> line.matches(" +[01]\\.\\d{3} .*")))
                .hasSize(6);
        String second = ProgramRun.of(Models.commandLine(), options, folder, "a ship", definition.text())
                .success();
        assertThat(second).isEqualTo(first.substring(first.indexOf('\n') + 1));
    }

    @Test
    void tuneSavesThePublishedNamesAndDrawsTheCurves() throws Exception {
        Path file = folder.resolve("tuned.safetensors");
        String out = ProgramRun.of(Models.commandLine(), "tune --definitions 40 --held-out 8 --epochs 1 --out", file)
                .success();
        assertThat(out)
                .startsWith("40 definitions from WordNet to learn from, 8 others held out")
                .containsPattern("(?s)bag of words +[01]\\.\\d{4} .*frozen +[01]\\.\\d{4} .*"
                        + "tuned +[01]\\.\\d{4} .*new encoder +[01]\\.\\d{4} ");
        Map<String, TensorInfo> tensors = WeightFile.open(file).getTensors();
        // 4 of the embeddings and their norm and 1 more, 16 of each of 6 layers, 2 of the classifier
        assertThat(tensors).hasSize(5 + 6 * 16 + 2);
        assertThat(tensors.get("encoder.layer.5.intermediate.dense.weight").shape())
                .isEqualTo(new Shape(1536, 384));
        assertThat(tensors.get("classifier.weight").shape()).isEqualTo(new Shape(4, 384));
        assertThat(folder.resolve("tuned.safetensors.svg")).content().contains("new encoder");
    }

    @ParameterizedTest
    @CsvSource({
        "search --count 0 cat, --count 0",
        "search --definitions 0 cat, --definitions 0",
        "tune --layers 7, --layers 7",
        "tune --definitions 3, --definitions 3"
    })
    void invalidOptionsAreNamed(String command, String named) {
        assertThat(ProgramRun.of(Models.commandLine(), command).error(2)).contains(named);
    }

    @ParameterizedTest
    @CsvSource({
        "search cat --index, vectors.safetensors' is damaged",
        "tune --definitions 400000 --out, and 1000 held out"
    })
    void userErrorEndsWithOneLine(String command, String named) throws Exception {
        Path file = Files.writeString(folder.resolve("vectors.safetensors"), "damaged");
        Path output = command.startsWith("search") ? folder : file;
        assertThat(ProgramRun.of(Models.commandLine(), command, output).error(1))
                .contains(named);
    }
}
