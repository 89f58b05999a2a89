package io.github.djlpositional.examples.spark;

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

/** Every command of this job that the README and the guide name is one that it takes. */
class DocumentedCommandsTest {

    private static final Pattern BLOCK = Pattern.compile("```sh\\n(.*?)```", Pattern.DOTALL);
    private static final String JAR = "examples/spark/target/judge-corpus.jar";

    @TestFactory
    Stream<DynamicTest> everyCommandIsTaken() throws IOException {
        Path root = Path.of("..", "..");
        List<DynamicTest> tests = new ArrayList<>();
        try (Stream<Path> docs = Files.list(root.resolve("docs"))) {
            for (Path page : Stream.concat(Stream.of(root.resolve("README.md")), docs)
                    .filter(file -> file.toString().endsWith(".md"))
                    .toList()) {
                Matcher block = BLOCK.matcher(Files.readString(page));
                while (block.find()) {
                    for (String command : block.group(1).split("\\n|&&", -1)) {
                        int jar = command.indexOf(JAR);
                        if (jar >= 0) {
                            String options =
                                    command.substring(jar + JAR.length()).strip();
                            // throws what a user would be told
                            tests.add(DynamicTest.dynamicTest(
                                    command.strip(),
                                    () -> JudgeCorpus.commandLine()
                                            .parseArgs(options.isEmpty() ? new String[0] : options.split(" +", -1))));
                        }
                    }
                }
            }
        }
        assertThat(tests).hasSizeGreaterThan(1);
        return tests.stream();
    }
}
