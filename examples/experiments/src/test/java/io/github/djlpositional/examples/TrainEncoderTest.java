package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import io.github.djlpositional.support.JavaProgram;
import io.github.djlpositional.support.TestEngine;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The output and the exit status of the main job. */
class TrainEncoderTest {

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("a model.zip");
    }

    private ProgramRun trainSmall(String engine, String more) {
        TestEngine.of(engine).assumeAvailable();
        return ProgramRun.of(
                "--glosses 400 --held-out 50 --epochs 1 --size 16 --heads 2 --layers 1 --vocabulary 300 --engine "
                        + engine + more + " --out",
                file());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void trainsSavesLoadsAndJudges(String engine) {
        String out = trainSmall(engine, "").success();
        assertThat(out)
                .contains("400 definitions from WordNet to learn from, 50 others held out; 300 token ids; " + engine)
                .containsPattern(
                        "Both orders of \\d+ sentences have the same score \\(largest difference \\de-\\d\\d\\)")
                // a bag of words: exactly one of each pair is right
                .containsPattern("none +0\\.5000 ")
                .containsPattern("sinusoidal +0\\.[3-9]\\d{3} ")
                .containsPattern("chance +0\\.5000 ± 0\\.05\\d\\d")
                .contains("loaded again, it gives the same answers to 50 sentences")
                .containsPattern("(in order|shuffled) +\\d+\\.\\d %  a person who writes books");
        String judged = ProgramRun.of("judge --engine " + engine + " --model", file(), "a person who writes books")
                .success();
        assertThat(out).contains(judged.strip());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void inspectWritesAttentionAndLearnedPositions(String engine) throws IOException {
        trainSmall(engine, " --encoding learned").success();
        ProgramRun.of("inspect --engine " + engine + " --model", file(), "--out", folder, "a person who writes books")
                .success();
        List<String> attention = Files.readAllLines(folder.resolve("attention.csv"));
        assertThat(attention)
                .hasSize(2)
                .allMatch(row -> row.matches("a person who writes books,0,[01](,[01]\\.\\d{5}){25}"));
        assertThat(Stream.of(attention.get(1).split(",", -1))
                        .skip(3)
                        .limit(5)
                        .mapToDouble(Double::parseDouble)
                        .sum())
                .as("weights of the first word")
                .isCloseTo(1, within(5e-5));
        assertThat(Files.readAllLines(folder.resolve("positions.csv")))
                .allMatch(row -> row.split(",", -1).length == 16);
    }

    @TestFactory
    List<DynamicTest> documentedCommandsAreValid() throws IOException {
        return DocumentedCommands.tests("examples/experiments/target/train-encoder.jar", TrainEncoder::commandLine);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void sameSeedGivesTheSameAnswers(String engine) {
        List<String> judgements = new ArrayList<>();
        for (int seed : new int[] {7, 7, 8}) {
            String out =
                    trainSmall(engine, " --encoding sinusoidal --seed " + seed).success();
            judgements.add(out.substring(out.indexOf("loaded again")));
        }
        assertThat(judgements.get(1)).isEqualTo(judgements.get(0)).isNotEqualTo(judgements.get(2));
    }

    @Test
    void judgesOnlySentencesWithWords() throws IOException {
        SmallEncoder.saveTo(file(), "PyTorch");
        InputStream before = System.in;
        try {
            System.setIn(new ByteArrayInputStream("a person who writes books\n\n---\nbooks who a writes person\n"
                    .getBytes(Charset.defaultCharset())));
            assertThat(ProgramRun.of("judge --model", file()).success().lines())
                    .as("lines without words are ignored")
                    .hasSize(2);
        } finally {
            System.setIn(before);
        }
        assertThat(ProgramRun.of("judge --model", file(), "...").error(1))
                .isEqualTo("error: sentence '...' has no words: enter at least one");
    }

    @ParameterizedTest
    @CsvSource({
        "--engine Theano, 'engine Theano is not in this build, which has ['",
        "--device gpu:77, device gpu:77 does not exist: PyTorch finds",
        "--device tpu, 'unknown device ''tpu'': choose cpu, gpu or gpu:N'",
        "--glosses 1000000, use fewer with --glosses",
        "--glosses 1 --held-out 1 --vocabulary 3 --out FOLDER/model.zip, none of 1 sentences has two different known words",
        "--out FOLDER, output 'FOLDER' cannot be written (",
        "--out FOLDER/file/model.zip, output 'FOLDER/file/model.zip' cannot be written (",
        "judge --model FOLDER/none a, model file 'FOLDER/none' does not exist: train a model first",
        "judge --model FOLDER/file a, model file 'FOLDER/file' cannot be read (",
        "judge --model FOLDER a, model file 'FOLDER' cannot be read ("
    })
    void userErrorEndsWithOneLine(String options, String message) throws IOException {
        Files.writeString(folder.resolve("file"), "neither a folder nor a zip");
        assertThat(ProgramRun.in(folder, options).error(1))
                .contains(message.replace("FOLDER", folder.toString()).replace('/', File.separatorChar));
    }

    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "only Linux has a device that is always full")
    void fullDiskEndsWithOneLineAndLeavesTheOldModel() throws IOException {
        Files.writeString(file(), "old");
        Files.createSymbolicLink(folder.resolve("a model.zip-0000.params"), Path.of("/dev/full"));
        assertThat(trainSmall("PyTorch", " --encoding sinusoidal").error(1)).contains("No space left on device");
        assertThat(file()).hasContent("old");
    }

    @ParameterizedTest
    @CsvSource({
        "cpu, --epochs=1, 128, 0.002, false",
        "gpu, --epochs=1, 512, 0.004, true",
        "gpu, --batch=64, 64, 0.004, true"
    })
    void batchesSuitTheDeviceUnlessTheyAreSet(
            String device, String option, int size, float rate, boolean mixesLengths) {
        TrainingOptions options = CommandLine.populateCommand(new TrainingOptions(), option);
        options.chooseFor(Device.of(device, 0));
        assertThat(List.of(options.batchSize, options.learningRate, options.mixesLengths))
                .isEqualTo(List.of(size, rate, mixesLengths));
    }

    @ParameterizedTest
    @ValueSource(strings = {"--epochs=0", "--size=30", "--learning-rate=0", "--encoding=magic", "--what"})
    void badOptionsEndWithOneLine(String option) {
        assertThat(ProgramRun.of(option).error(2)).endsWith("(--help shows all options)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void enginesPrintNothing(String engine) throws Exception {
        SmallEncoder.saveTo(file(), engine);
        String[] args = {"judge", "--engine=" + engine, "--model=" + file(), "a person who writes books"};
        Process process =
                JavaProgram.of(ProgramRun.SHORT_LIVED, TrainEncoder.class, args).start();
        String err = new String(process.getErrorStream().readAllBytes(), Charset.defaultCharset());
        assertThat(process.waitFor()).isZero();
        assertThat(err).isEmpty();
    }
}
