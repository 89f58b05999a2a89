package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
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
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.apache.spark.launcher.JavaModuleOptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The job's jar by itself, with {@code java -jar} and no options of Java's. */
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
    void judgesEverySentenceWithOneModelFromAZip() throws Exception {
        Path zip = folder.resolve("model.zip");
        int zipped = ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(
                        System.out,
                        System.err,
                        "cMf",
                        zip.toString(),
                        "-C",
                        corpus.model().toString(),
                        ".");
        assertThat(zipped).isZero();
        Path output = folder.resolve("local");
        try (JavaProcess process = run(
                "run",
                "--model",
                zip.toString(),
                "--input",
                corpus.text().toString(),
                "--output",
                output.toString(),
                "--partitions",
                "8")) {
            assertThat(process.await()).as(process::output).isZero();
            assertThat(process.output())
                    .startsWith(String.format(Locale.ROOT, "%,d sentences judged in ", corpus.size()))
                    .contains("; model loaded once, in ")
                    .endsWith("Saved to " + output + System.lineSeparator());
        }
        corpus.requireJudged(output);
    }

    @Test
    void inputsMayHaveCommasInTheirNamesAndBePatterns() throws Exception {
        List<String> lines = Files.readAllLines(corpus.text());
        int half = Math.floorDiv(lines.size(), 2);
        Path first = Files.write(folder.resolve("corpus, part 1.txt"), lines.subList(0, half));
        Files.write(folder.resolve("corpus, part 2.txt"), lines.subList(half, lines.size()));
        Path output = folder.resolve("of-two");
        try (JavaProcess process = run(
                "commas",
                "--model",
                corpus.model().toString(),
                "--input",
                first.toString(),
                "--input",
                folder.resolve("corpus, part {2,3}.*").toString(),
                "--output",
                output.toString())) {
            assertThat(process.await()).as(process::output).isZero();
        }
        corpus.requireJudged(output);
    }

    @Test
    void outputThatIsThereEndsWithOneLine() throws Exception {
        Path there = Files.createDirectory(folder.resolve("there"));
        assertThat(requireError("output", "--output", there.toString()))
                .isEqualTo("error: output '" + there
                        + "' is already there: remove it, or name another folder with --output");
    }

    @Test
    void inputThatIsNotThereEndsWithOneLine() throws Exception {
        Path missing = folder.resolve("missing.txt");
        assertThat(requireError("input", "--input", missing.toString()))
                .isEqualTo("error: input '" + missing
                        + "' is not there: name a text file, or a folder of such, one sentence a line, with --input");
    }

    @Test
    void modelThatIsNotThereEndsWithOneLine() throws Exception {
        Path missing = folder.resolve("missing");
        assertThat(requireError("model", "--model", missing.toString()))
                .isEqualTo("error: model '" + missing
                        + "' is not there: train a model first, or name its folder, or a zip of it, with --model");
    }

    @Test
    void brokenZipEndsWithOneLine() throws Exception {
        Path broken = Files.writeString(folder.resolve("broken.zip"), "PK");
        assertThat(requireError("zip", "--model", broken.toString()))
                .startsWith("error: model '" + broken + "' cannot be unpacked (")
                .endsWith("): name the folder where it was saved, or a zip of it, with --model");
    }

    @Test
    void folderWithoutAModelEndsWithOneLine() throws Exception {
        Path foreign = Files.createDirectory(folder.resolve("foreign"));
        Files.writeString(foreign.resolve("readme.txt"), "no model");
        assertThat(requireError("foreign", "--model", foreign.toString()))
                .startsWith("error: model folder '" + foreign + "' cannot be read (")
                .contains("encoder.properties");
    }

    @Test
    void failedJobLeavesNothingBehind() throws Exception {
        Path zip = folder.resolve("foreign.zip");
        try (OutputStream out = Files.newOutputStream(zip);
                ZipOutputStream entries = new ZipOutputStream(out)) {
            entries.putNextEntry(new ZipEntry("readme.txt"));
            entries.closeEntry();
        }
        Path outputs = Files.createDirectory(folder.resolve("failed"));
        assertThat(requireError(
                        "executors",
                        "--model",
                        zip.toString(),
                        "--input",
                        corpus.text().toString(),
                        "--output",
                        outputs.resolve("judged").toString()))
                .startsWith("error: the executors cannot use the model '" + zip + "': ")
                .contains("encoder.properties");
        assertThat(outputs).as("the next run finds nothing in its way").isEmptyDirectory();
    }

    @Test
    void outputOfAnotherRunThatAppearsMeanwhileIsLeftAsItIs() throws Exception {
        Path outputs = Files.createDirectory(folder.resolve("race"));
        Path output = outputs.resolve("judged");
        try (JavaProcess process = run(
                "race",
                "--model",
                corpus.model().toString(),
                "--input",
                corpus.text().toString(),
                "--output",
                output.toString())) {
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
                    .startsWith(
                            "error: output '" + output + "' has come to be there since this job began, and is left");
        }
        assertThat(list(output)).hasSize(1);
        Path own = list(outputs).stream()
                .filter(each -> !each.equals(output))
                .findFirst()
                .orElseThrow();
        corpus.requireJudged(own);
    }

    private static List<Path> list(Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return files.toList();
        }
    }

    @Test
    void saysWhichVersionItIs() throws Exception {
        try (JavaProcess process = run("version", "--version")) {
            assertThat(process.await()).isZero();
            assertThat(process.output()).matches("djl-positional examples \\d+\\.\\d+\\.\\d+\\S*\\s+");
        }
    }

    @Test
    void jarOpensWhatThisVersionOfSparkOpens() throws IOException {
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
    void jarLeavesSparkToTheCluster() throws IOException {
        try (JarFile jar = new JarFile(JAR.toFile())) {
            assertThat(jar.stream().map(entry -> entry.getName()))
                    .noneMatch(name -> name.startsWith("org/apache/spark/") || name.startsWith("org/apache/hadoop/"))
                    .contains("io/github/djlpositional/PositionalEncodingBlock.class", "ai/djl/Model.class");
        }
    }
}
