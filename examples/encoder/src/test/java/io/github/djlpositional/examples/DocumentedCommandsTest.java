package io.github.djlpositional.examples;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The program accepts every command in the READMEs and the guide. */
class DocumentedCommandsTest {

    private static final String JAR = "examples/encoder/target/train-encoder.jar";

    @TestFactory
    List<DynamicTest> everyCommandIsValid() throws IOException {
        return DocumentedCommands.tests(JAR, DocumentedCommandsTest::requireValid);
    }

    private static void requireValid(List<String> words) {
        List<String> options = words.subList(words.indexOf(JAR) + 1, words.size());
        // throws an exception for an invalid option
        TrainEncoder.commandLine().parseArgs(options.toArray(new String[0]));
    }
}
