package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The program accepts every command in the READMEs and the guide. */
class DocumentedCommandsTest {

    private static final String JAR = "examples/target/train-encoder.jar";

    @TestFactory
    List<DynamicTest> everyCommandIsValid() throws IOException {
        return DocumentedCommands.tests(Path.of(".."), JAR, DocumentedCommandsTest::requireValid);
    }

    private static void requireValid(List<String> words) {
        List<String> given = words.subList(words.indexOf(JAR) + 1, words.size());
        if (words.contains("-cp")) {
            assertThatCode(() -> Class.forName(given.get(0)).getMethod("main", String[].class))
                    .doesNotThrowAnyException();
        } else {
            // throws an exception for an invalid option
            TrainEncoder.commandLine().parseArgs(given.toArray(new String[0]));
        }
    }
}
