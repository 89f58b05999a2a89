package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Every command of this program that the README and the guide name is one that it takes. */
class DocumentedCommandsTest {

    private static final Pattern BLOCK = Pattern.compile("```sh\\n(.*?)```", Pattern.DOTALL);
    private static final String JAR = "examples/target/train-encoder.jar";

    /** Words, or several of them in quotes. */
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    @TestFactory
    Stream<DynamicTest> everyCommandIsTaken() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        try (Stream<Path> docs = Files.list(Path.of("..", "docs"))) {
            for (Path page : Stream.concat(Stream.of(Path.of("..", "README.md")), docs)
                    .filter(file -> file.toString().endsWith(".md"))
                    .toList()) {
                Matcher block = BLOCK.matcher(Files.readString(page));
                while (block.find()) {
                    for (String command : block.group(1).split("\\n|&&", -1)) {
                        if (command.contains(JAR)) {
                            tests.add(DynamicTest.dynamicTest(command.strip(), () -> requireTaken(words(command))));
                        }
                    }
                }
            }
        }
        assertThat(tests).hasSizeGreaterThan(3);
        return tests.stream();
    }

    private static List<String> words(String command) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(command);
        while (word.find()) {
            words.add(word.group(1) != null ? word.group(1) : word.group(2));
        }
        return words;
    }

    private static void requireTaken(List<String> words) throws Exception {
        List<String> given = words.subList(words.indexOf(JAR) + 1, words.size());
        if (words.contains("-cp")) {
            assertThat(Class.forName(given.get(0)).getMethod("main", String[].class))
                    .isNotNull();
        } else {
            // throws what a user would be told
            TrainEncoder.commandLine().parseArgs(given.toArray(new String[0]));
        }
    }
}
