package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The main job as a command: what it prints, and how it ends. */
class TrainEncoderTest {

    @TempDir
    private Path folder;

    /** How a run ended, and what it printed. */
    private record Run(int status, String out, String err) {
        List<String> errorLines() {
            return err.lines().toList();
        }
    }

    private static Run run(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = TrainEncoder.commandLine()
                .setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(args);
        return new Run(status, out.toString(), err.toString());
    }

    private Run trainSmall(String engine, String... more) {
        Engines.assumeAvailable(engine);
        List<String> args = new ArrayList<>(List.of(
                "--engine",
                engine,
                "--glosses",
                "400",
                "--held-out",
                "50",
                "--epochs",
                "1",
                "--size",
                "16",
                "--heads",
                "2",
                "--layers",
                "1",
                "--vocabulary",
                "300",
                "--out",
                folder.toString()));
        args.addAll(Arrays.asList(more));
        return run(args.toArray(String[]::new));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void trainsSavesLoadsAndJudges(String engine) {
        Run run = trainSmall(engine);
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .contains("400 definitions from WordNet to learn from, 50 others held out; 300 token ids; " + engine)
                // a bag of words cannot tell: one of each pair is right, exactly
                .containsPattern("none +0\\.5000 ")
                .containsPattern("sinusoidal +0\\.[3-9]\\d{3} ")
                .contains("loaded again, it gives the same answers to 50 sentences")
                .containsPattern("(in order|shuffled) +\\d+\\.\\d %  a person who writes books");

        Run judged = run("judge", "--engine", engine, "--model", folder.toString(), "a person who writes books");
        assertThat(judged.status()).isZero();
        assertThat(run.out()).contains(judged.out().strip());
    }

    @Test
    void numbersHaveTheSameFormInEveryCountry() {
        Locale before = Locale.getDefault();
        Run run;
        try {
            // with other digits than these
            Locale.setDefault(Locale.forLanguageTag("ar-u-nu-arab"));
            run = trainSmall("PyTorch", "--encoding", "sinusoidal");
        } finally {
            Locale.setDefault(before);
        }
        assertThat(run.out())
                .contains("400 definitions from WordNet to learn from, 50 others held out; 300 token ids; ")
                .contains("the same answers to 50 sentences");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void sameSeedGivesTheSameAnswers(String engine) {
        String first = judgements(trainSmall(engine, "--encoding", "sinusoidal", "--seed", "7"));
        String second = judgements(trainSmall(engine, "--encoding", "sinusoidal", "--seed", "7"));
        String other = judgements(trainSmall(engine, "--encoding", "sinusoidal", "--seed", "8"));
        assertThat(second).isEqualTo(first);
        assertThat(other).isNotEqualTo(first);
    }

    private static String judgements(Run run) {
        assertThat(run.status()).isZero();
        return run.out().substring(run.out().indexOf("loaded again"));
    }

    @Test
    void judgesSentencesFromStandardInput() {
        trainSmall("PyTorch", "--encoding", "sinusoidal");
        InputStream before = System.in;
        try {
            System.setIn(new ByteArrayInputStream("a person who writes books\n\n---\nbooks who a writes person\n"
                    .getBytes(Charset.defaultCharset())));
            Run run = run("judge", "--model", folder.toString());
            assertThat(run.err()).isEmpty();
            assertThat(run.status()).isZero();
            assertThat(run.out().lines()).as("a line without a word is none").hasSize(2);
        } finally {
            System.setIn(before);
        }
    }

    @Test
    void sentenceWithoutAWordEndsWithOneLine() {
        trainSmall("PyTorch", "--encoding", "sinusoidal");
        Run run = run("judge", "--model", folder.toString(), "...");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines()).containsExactly("error: the sentence '...' has no word: give one or more");
    }

    @Test
    void unknownEngineEndsWithOneLine() {
        Run run = run("--engine", "Theano");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .containsExactly("error: unknown engine 'Theano': choose one of PyTorch, MXNet with --engine");
    }

    @Test
    void missingGpuEndsWithOneLine() {
        Run run = run("--device", "gpu:77");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .singleElement()
                .asString()
                .startsWith("error: device gpu:77 is not there: PyTorch finds ")
                .contains("choose cpu");
    }

    @Test
    void unknownDeviceEndsWithOneLine() {
        Run run = run("--device", "tpu");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .containsExactly("error: unknown device 'tpu': choose cpu, gpu or gpu:N with --device");
    }

    @Test
    void missingModelFolderEndsWithOneLine() {
        Run run = run("judge", "--model", folder.resolve("none").toString(), "a b");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .singleElement()
                .asString()
                .startsWith("error: model folder '")
                .contains("is not there: train a model first");
    }

    @Test
    void brokenModelFolderEndsWithOneLine() throws IOException {
        trainSmall("PyTorch", "--encoding", "sinusoidal");
        Path weights = folder.resolve("encoder-0000.params");
        byte[] whole = Files.readAllBytes(weights);
        byte[] otherMagic = whole.clone();
        otherMagic[0]++;
        for (byte[] broken :
                new byte[][] {{}, otherMagic, Arrays.copyOf(whole, whole.length / 2), Arrays.copyOf(whole, 300)}) {
            Files.write(weights, broken);
            assertBroken();
        }
        Files.write(weights, whole);
        Path sizes = folder.resolve("encoder.properties");
        String text = Files.readString(sizes);
        for (String broken : new String[] {
            "",
            text.replace("embeddingSize=16", "embeddingSize=x"),
            text.replace("embeddingSize=16", "embeddingSize=32")
        }) {
            Files.writeString(sizes, broken);
            assertBroken();
        }
        Files.writeString(sizes, text);
        Files.delete(folder.resolve("vocabulary.txt"));
        assertBroken();
    }

    private void assertBroken() {
        Run run = run("judge", "--model", folder.toString(), "a b");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .singleElement()
                .asString()
                .startsWith("error: model folder '" + folder + "' cannot be read (")
                .endsWith("): train the model again, or name another folder with --model");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--epochs=0", "--size=30", "--dropout=1", "--learning-rate=0", "--encoding=magic", "--what"})
    void badOptionsEndWithOneLine(String option) {
        Run run = run(option);
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLines())
                .singleElement()
                .asString()
                .startsWith("error: ")
                .endsWith("(--help shows all options)");
    }

    @Test
    void moreGlossesThanThereAreEndWithOneLine() {
        Run run = run("--glosses", "1000000");
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines()).singleElement().asString().contains("choose fewer with --glosses");
    }

    @Test
    void outputThatCannotBeWrittenEndsWithOneLineBeforeTheTraining() throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        Run run = run("--out", file.toString());
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines())
                .singleElement()
                .asString()
                .startsWith("error: output folder '" + file + "' cannot be written to (")
                .endsWith("): name another with --out");
    }

    @Test
    void sentencesOfUnknownWordsAloneEndWithOneLine() {
        Run run = run("--glosses", "1", "--held-out", "1", "--vocabulary", "3", "--out", folder.toString());
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.errorLines()).singleElement().asString().contains("none has two different known words");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void enginesSayNothingOfTheirOwn(String engine) throws Exception {
        trainSmall(engine, "--encoding", "sinusoidal");
        Process process = JavaProgram.of(
                        TrainEncoder.class,
                        "judge",
                        "--engine",
                        engine,
                        "--model",
                        folder.toString(),
                        "a person who writes books")
                .start();
        String err = new String(process.getErrorStream().readAllBytes(), Charset.defaultCharset());
        assertThat(process.waitFor()).isZero();
        assertThat(err).isEmpty();
    }

    private static void awaitOutput(Process process, String line) throws IOException {
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), Charset.defaultCharset()));
        String read = out.readLine();
        while (read != null && !read.equals(line)) {
            read = out.readLine();
        }
        assertThat(read).isEqualTo(line);
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "a process there is ended without a signal")
    void interruptEndsWithOneLine() throws Exception {
        Process process =
                JavaProgram.of(TrainEncoder.class, "--out", folder.toString()).start();
        try {
            awaitOutput(process, "Positions: none");
            // SIGTERM, which ends a JVM as Ctrl-C's SIGINT does: what a shell starts in the background ignores SIGINT
            process.toHandle().destroy();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isNotZero();
            assertThat(new String(process.getErrorStream().readAllBytes(), Charset.defaultCharset()).strip())
                    .isEqualTo("interrupted: the model was not saved");
        } finally {
            process.destroyForcibly();
        }
    }
}
