package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.guide.Pages;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DynamicTest;
import picocli.CommandLine;

/** The commands in the shell blocks of the READMEs and the guide. */
public final class DocumentedCommands {

    private static final Pattern BLOCK = Pattern.compile("```sh\\n(.*?)```", Pattern.DOTALL);

    /** A word, or several in quotes. */
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    private DocumentedCommands() {}

    /**
     * Returns a test for each command that runs a jar: its program accepts the options.
     *
     * @param jar the path of the jar in the repository
     */
    public static List<DynamicTest> tests(String jar, Supplier<CommandLine> program) throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        for (Path page : Pages.in(Path.of("..", ".."))) {
            Matcher block = BLOCK.matcher(Files.readString(page));
            while (block.find()) {
                for (String command : block.group(1).split("\\n|&&", -1)) {
                    if (command.contains(jar)) {
                        String options = command.substring(command.indexOf(jar) + jar.length());
                        tests.add(DynamicTest.dynamicTest(
                                command.strip(), () -> program.get().parseArgs(words(options))));
                    }
                }
            }
        }
        assertThat(tests).as("commands of %s", jar).hasSizeGreaterThan(1);
        return tests;
    }

    private static String[] words(String options) {
        return WORD.matcher(options)
                .results()
                .map(word -> word.group(1) != null ? word.group(1) : word.group(2))
                .toArray(String[]::new);
    }
}
