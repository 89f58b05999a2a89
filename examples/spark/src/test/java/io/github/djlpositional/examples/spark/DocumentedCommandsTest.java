package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.DocumentedCommands;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The job accepts every command in the READMEs and the guide. */
class DocumentedCommandsTest {

    private static final String JAR = "examples/spark/target/judge-corpus.jar";

    @TestFactory
    List<DynamicTest> everyCommandIsValid() throws IOException {
        // throws an exception for an invalid option
        return DocumentedCommands.tests(
                Path.of("..", ".."),
                JAR,
                words -> JudgeCorpus.commandLine()
                        .parseArgs(words.subList(words.indexOf(JAR) + 1, words.size())
                                .toArray(new String[0])));
    }
}
