package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.Models;
import io.github.djlpositional.examples.ProgramRun;
import io.github.djlpositional.support.TestEngine;
import java.nio.file.Files;
import java.nio.file.Path;
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

    @ParameterizedTest
    @CsvSource({"search --count 0 cat, --count 0", "search --definitions 0 cat, --definitions 0"})
    void invalidOptionsAreNamed(String command, String named) {
        assertThat(ProgramRun.of(Models.commandLine(), command).error(2)).contains(named);
    }

    @Test
    void damagedFileEndsWithOneLine() throws Exception {
        Files.writeString(folder.resolve("vectors.safetensors"), "damaged");
        assertThat(ProgramRun.of(Models.commandLine(), "search cat --index", folder)
                        .error(1))
                .contains("vectors.safetensors' is damaged");
    }
}
