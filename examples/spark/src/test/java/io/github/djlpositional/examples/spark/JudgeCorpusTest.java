package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.DocumentedCommands;
import io.github.djlpositional.examples.ProgramRun;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JudgeCorpusTest {

    @ParameterizedTest
    @ValueSource(strings = {"--batch=0", "--batch=many", "--what"})
    void badOptionsEndWithOneLine(String option) {
        assertThat(ProgramRun.of(JudgeCorpus.commandLine(), option).error(2)).endsWith("(--help shows all options)");
    }

    @TestFactory
    List<DynamicTest> documentedCommandsAreValid() throws IOException {
        return DocumentedCommands.tests("examples/spark/target/judge-corpus.jar", JudgeCorpus::commandLine);
    }
}
