package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assumptions.assumeThat;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares the messages that docs/troubleshooting.md quotes with those of DJL and of the library. */
class TroubleshootingTest {

    /** Messages of native libraries. */
    private static final Set<String> NATIVE =
            Set.of("index out of range in self", "device-side assert triggered", "Invalid NDArray file format");

    /** A class of each archive that has messages. A build may leave out an engine. */
    private static final List<String> CLASSES = List.of(
            "ai.djl.Model",
            "ai.djl.pytorch.engine.PtEngine",
            "ai.djl.mxnet.engine.MxEngine",
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
                .filteredOn(message -> !message.startsWith("Cannot invoke")) // the JVM's
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

    @EngineTest
    void messagesAreThoseOfTheFailures(NDManager manager, @TempDir Path folder) throws Exception {
        Shape shape = new Shape(1, 2, 4);
        Block linear = Linear.builder().setUnits(2).build();
        Block positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optLearnedScale(1)
                .build();
        positions.initialize(manager, DataType.FLOAT32, shape);
        byte[] file = BlockBytes.saved(positions);
        Block closed = Linear.builder().setUnits(2).build();
        try (NDManager own = manager.newSubManager()) {
            closed.initialize(own, DataType.FLOAT32, shape);
        }
        NDArray x = manager.ones(shape);
        Map<String, ThrowingCallable> failures = Map.of(
                "The array for parameter \"…\" has not been initialized",
                () -> Forward.infer(manager, linear, x),
                "Native resource has been released already",
                () -> Forward.infer(manager, closed, x),
                "Unsupported encoding version: 100",
                () -> BlockBytes.load(manager, Linear.builder().setUnits(2).build(), file),
                isPyTorch(manager)
                        ? "Parameter file not found in: …"
                        : "Cannot invoke \"java.nio.file.Path.getFileSystem()\" because \"path\" is null",
                () -> load(folder, manager));
        assertThat(messages()).containsAll(failures.keySet());
        List<String> others = new ArrayList<>();
        failures.forEach((message, failure) -> {
            Throwable thrown = catchThrowable(failure);
            if (thrown == null || !thrown.getMessage().contains(fixedPart(message))) {
                others.add(message + ", but: " + thrown);
            }
        });
        assertThat(others).isEmpty();
    }

    @EngineTest
    void anEmptyFileEndsTooSoon(NDManager manager) {
        Throwable thrown = catchThrowable(
                () -> BlockBytes.load(manager, Linear.builder().setUnits(2).build(), new byte[0]));
        assertThat(thrown).isExactlyInstanceOf(EOFException.class).hasMessage(null);
    }

    private static boolean isPyTorch(NDManager manager) {
        return manager.getEngine().getEngineName().equals("PyTorch");
    }

    private static void load(Path folder, NDManager manager) throws Exception {
        try (Model model = Model.newInstance("none", manager.getEngine().getEngineName())) {
            model.setBlock(Linear.builder().setUnits(2).build());
            model.load(folder);
        }
    }
}
