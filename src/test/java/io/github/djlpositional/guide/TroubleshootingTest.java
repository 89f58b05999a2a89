package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Compares the messages that docs/troubleshooting.md quotes with those of DJL and of the library. */
class TroubleshootingTest {

    /** Messages of native libraries. */
    private static final Set<String> NATIVE = Set.of("device-side assert triggered", "Invalid NDArray file format");

    /** A class of each archive that has messages. A build may leave out an engine. */
    private static final List<String> CLASSES = List.of(
            "ai.djl.Model",
            "ai.djl.pytorch.engine.PtEngine",
            "ai.djl.mxnet.engine.MxEngine",
            "org.slf4j.LoggerFactory",
            "io.github.djlpositional.PositionalEncodingBlock");

    /** The quoted messages: texts of more than one word. */
    private static List<String> messages() throws IOException {
        return Tables.rows("docs/troubleshooting.md", "message or symptom").stream()
                .flatMap(row -> Pattern.compile("`([^`]*)`")
                        .matcher(row.get("message or symptom"))
                        .results())
                .map(quoted -> quoted.group(1))
                .filter(quoted -> quoted.contains(" ") && !NATIVE.contains(quoted))
                .toList();
    }

    /** The first part of a message without names, extensions of names, and numbers. */
    private static String fixedPart(String message) {
        return Pattern.compile("[^…:,\\d]*[a-z][^…:,\\d]*")
                .matcher(message.replace("….pt", "…"))
                .results()
                .map(MatchResult::group)
                .findFirst()
                .orElseThrow()
                .strip();
    }

    @Test
    void everyQuotedMessageIsInAClassOfThisVersion() throws Exception {
        assumeThat(CLASSES).allMatch(type -> getClass().getResource("/" + type.replace('.', '/') + ".class") != null);
        StringBuilder constants = new StringBuilder();
        for (String type : CLASSES) {
            URI location = Class.forName(type, false, getClass().getClassLoader())
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI();
            Path path = Path.of(location);
            if (Files.isDirectory(path)) {
                append(constants, path);
            } else {
                try (FileSystem jar = FileSystems.newFileSystem(path)) {
                    append(constants, jar.getPath("/"));
                }
            }
        }
        List<String> messages = messages();
        assertThat(messages).hasSizeGreaterThan(15);
        assertThat(messages)
                .allSatisfy(message -> assertThat(constants.indexOf(fixedPart(message)))
                        .as(fixedPart(message))
                        .isNotNegative());
    }

    /** The bytes of all classes: a class holds its strings as they are. */
    private static void append(StringBuilder constants, Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".class")).toList()) {
                constants.append(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
            }
        }
    }
}
