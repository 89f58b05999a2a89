package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every command of this program that the README and the guide name is one that it takes. */
class DocumentedCommandsTest {

    private static final String JAR = "examples/target/train-encoder.jar";

    @TestFactory
    List<DynamicTest> everyCommandIsTaken() throws IOException {
        return DocumentedCommands.tests(Path.of(".."), JAR, DocumentedCommandsTest::requireTaken);
    }

    private static void requireTaken(List<String> words) {
        List<String> given = words.subList(words.indexOf(JAR) + 1, words.size());
        if (words.contains("-cp")) {
            assertThatCode(() -> Class.forName(given.get(0)).getMethod("main", String[].class))
                    .doesNotThrowAnyException();
        } else {
            // throws what a user would be told
            TrainEncoder.commandLine().parseArgs(given.toArray(new String[0]));
        }
    }
}
