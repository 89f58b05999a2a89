package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/** The commands in the shell blocks of the READMEs and the guide. */
public final class DocumentedCommands {

    private static final Pattern BLOCK = Pattern.compile("```sh\\n(.*?)```", Pattern.DOTALL);

    /** A word, or several in quotes. */
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    private DocumentedCommands() {}

    /**
     * Returns a test for each command that runs a jar.
     *
     * @param jar the path of the jar in the repository
     * @param requireValid rejects the words of a command that its program would not accept
     * @return the tests
     * @throws IOException if a page cannot be read
     */
    public static List<DynamicTest> tests(String jar, Consumer<List<String>> requireValid) throws IOException {
        Path root = Path.of("..", "..");
        List<DynamicTest> tests = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path page :
                    files.filter(file -> file.toString().endsWith(".md")).toList()) {
                Matcher block = BLOCK.matcher(Files.readString(page));
                while (block.find()) {
                    for (String command : block.group(1).split("\\n|&&", -1)) {
                        if (command.contains(jar)) {
                            tests.add(DynamicTest.dynamicTest(
                                    command.strip(), () -> requireValid.accept(words(command))));
                        }
                    }
                }
            }
        }
        assertThat(tests).as("commands of %s", jar).hasSizeGreaterThan(1);
        return tests;
    }

    private static List<String> words(String command) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(command);
        while (word.find()) {
            words.add(word.group(1) != null ? word.group(1) : word.group(2));
        }
        return words;
    }
}
