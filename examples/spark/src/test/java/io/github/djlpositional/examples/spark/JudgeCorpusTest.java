package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JudgeCorpusTest {

    @ParameterizedTest
    @CsvSource({"--batch=0, 2", "--batch=many, 2", "--what, 2", "--model=nowhere, 1"})
    void badOptionIsNamed(String option, int status) {
        StringWriter err = new StringWriter();
        assertThat(JudgeCorpus.commandLine().setErr(new PrintWriter(err)).execute(option))
                .isEqualTo(status);
        assertThat(err.toString().lines().findFirst().orElseThrow()).contains(option.split("=", 2));
    }

    @Test
    void longSentenceIsCutAsInTraining() {
        assertThat(JudgePartition.beginning("One, two; three four five six seven eight 9 10 11 12 13 14 15 16 17"))
                .isEqualTo("one two three four five six seven eight 9 10 11 12 13 14 15 16");
    }

    @TestFactory
    List<DynamicTest> documentedCommandsAreValid() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (String page : List.of("docs/serving.md", "examples/spark/README.md")) {
            for (String line : Files.readAllLines(Path.of("..", "..").resolve(page))) {
                if (line.matches("(java|mvn|spark-submit) .*judge-corpus\\.jar.*")) {
                    String[] options = Stream.of(line.replaceFirst(".*judge-corpus\\.jar", "")
                                    .split(" +", -1))
                            .filter(option -> !option.isEmpty())
                            .toArray(String[]::new);
                    tests.add(DynamicTest.dynamicTest(
                            line, () -> JudgeCorpus.commandLine().parseArgs(options)));
                }
            }
        }
        assertThat(tests).hasSizeGreaterThan(1);
        return tests;
    }
}
