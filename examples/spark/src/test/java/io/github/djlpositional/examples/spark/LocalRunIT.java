package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.SmallEncoder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The job's jar with {@code java -jar}, without options of Java. */
class LocalRunIT {

    private static final Path JAR = Path.of("target", "judge-corpus.jar").toAbsolutePath();

    @TempDir
    private static Path folder;

    private static Corpus corpus;

    @BeforeAll
    static void create() throws IOException {
        corpus = Corpus.create(folder, 2_000);
    }

    private static JavaProcess run(String name, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of("-Xmx1g", "-jar", JAR.toString()));
        command.addAll(Arrays.asList(args));
        return JavaProcess.start(folder.resolve(name + ".log"), Map.of(), command);
    }

    private static String requireError(String name, String... args) throws Exception {
        try (JavaProcess process = run(name, args)) {
            assertThat(process.await()).as(process::output).isEqualTo(1);
            assertThat(process.output().lines()).singleElement().asString().startsWith("error: ");
            return process.output().strip();
        }
    }

    @Test
    void judgesEverySentenceWithOneModel() throws Exception {
        // Spark copies the file under its name
        Path model = Files.copy(corpus.model(), folder.resolve("a model, copied.zip"));
        Path output = folder.resolve("local");
        try (JavaProcess process = run("run", Corpus.options(model, corpus.text(), output, "--partitions", "8"))) {
            assertThat(process.await()).as(process::output).isZero();
            assertThat(process.output())
                    .startsWith(String.format(Locale.ROOT, "%,d sentences judged in ", corpus.size()))
                    .contains("; model loaded once, in ")
                    .endsWith("Saved to " + output + System.lineSeparator());
        }
        corpus.assertJudged(output);
    }

    @Test
    @Tag("slow")
    void inputsCanBePatternsAndHaveCommasInTheirNames() throws Exception {
        List<String> lines = Files.readAllLines(corpus.text());
        int half = Math.floorDiv(lines.size(), 2);
        Path first = Files.write(folder.resolve("corpus, part 1.txt"), lines.subList(0, half));
        Files.write(folder.resolve("corpus, part 2.txt"), lines.subList(half, lines.size()));
        Path output = folder.resolve("of-two");
        String second = folder.resolve("corpus, part {2,3}.*").toString();
        try (JavaProcess process = run("commas", Corpus.options(corpus.model(), first, output, "--input", second))) {
            assertThat(process.await()).as(process::output).isZero();
        }
        corpus.assertJudged(output);
    }

    @Test
    @Tag("slow")
    void userErrorsEndWithOneLine() throws Exception {
        Path existing = Files.createDirectory(folder.resolve("existing"));
        assertThat(requireError("output", "--output", existing.toString()))
                .isEqualTo("error: output '" + existing
                        + "' already exists: remove it, or name another folder with --output");
        Path missing = folder.resolve("missing");
        assertThat(requireError("input", "--input", missing.toString()))
                .startsWith("error: input '" + missing + "' does not exist: name a text file");
        assertThat(requireError("model", "--model", missing.toString()))
                .startsWith("error: model file '" + missing + "' does not exist: train a model first");
        assertThat(requireError("folder", "--model", existing.toString()))
                .startsWith("error: model file '" + existing + "' cannot be read (");
        Path damaged = Files.writeString(folder.resolve("damaged.zip"), "PK");
        assertThat(requireError("damaged", "--model", damaged.toString()))
                .startsWith("error: model file '" + damaged + "' cannot be read (")
                .contains("serving.properties");
    }

    @Test
    @Tag("slow")
    void failedJobRemovesItsOutput() throws Exception {
        Path invalid = SmallEncoder.changed(
                corpus.model(), folder.resolve("invalid.zip"), "encoder-0000.params", content -> new byte[3]);
        Path outputs = Files.createDirectory(folder.resolve("failed"));
        assertThat(requireError("executors", Corpus.options(invalid, corpus.text(), outputs.resolve("judged"))))
                .startsWith("error: the executors cannot use the model '" + invalid + "': ");
        assertThat(outputs).isEmptyDirectory();
    }

    @Test
    @Tag("slow")
    void outputOfAnotherRunIsNotChanged() throws Exception {
        Path outputs = Files.createDirectory(folder.resolve("race"));
        Path output = outputs.resolve("judged");
        try (JavaProcess process = run("race", Corpus.options(corpus.model(), corpus.text(), output))) {
            long end = System.nanoTime() + JavaProcess.PATIENCE.toNanos();
            while (list(outputs).isEmpty()) {
                assertThat(System.nanoTime()).as(process::output).isLessThan(end);
                LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
            }
            Files.writeString(Files.createDirectory(output).resolve("part-0.parquet"), "of another run");
            assertThat(process.await()).as(process::output).isEqualTo(1);
            assertThat(process.output().lines())
                    .singleElement()
                    .asString()
                    .startsWith("error: output '" + output + "' was created by another program since this job began");
        }
        assertThat(list(output)).hasSize(1);
        Path own = list(outputs).stream()
                .filter(each -> !each.equals(output))
                .findFirst()
                .orElseThrow();
        corpus.assertJudged(own);
    }

    private static List<Path> list(Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return files.toList();
        }
    }

    @Test
    void printsItsVersion() throws Exception {
        try (JavaProcess process = run("version", "--version")) {
            assertThat(process.await()).isZero();
            assertThat(process.output()).matches("djl-positional examples \\d+\\.\\d+\\.\\d+\\S*\\s+");
        }
    }

    @Test
    void jarOpensThePackagesThatSparkNeeds() throws IOException {
        List<String> opened = new ArrayList<>();
        Matcher option =
                Pattern.compile("--add-opens=(\\S+)=ALL-UNNAMED").matcher(JavaModuleOptions.defaultModuleOptions());
        while (option.find()) {
            opened.add(option.group(1));
        }
        try (JarFile jar = new JarFile(JAR.toFile())) {
            String manifest = jar.getManifest().getMainAttributes().getValue("Add-Opens");
            assertThat(manifest.split(" ")).containsExactlyInAnyOrderElementsOf(opened);
        }
    }

    @Test
    void jarDoesNotContainSpark() throws IOException {
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.stream().map(entry -> entry.getName()))
                    .noneMatch(name -> name.startsWith("org/apache/spark/") || name.startsWith("org/apache/hadoop/"))
                    .contains("io/github/djlpositional/PositionalEncodingBlock.class", "ai/djl/Model.class");
        }
    }
}
