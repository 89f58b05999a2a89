package io.github.djlpositional.examples.experiments;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.support.TestEngine;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CompareEncodingsTest {

    @TempDir
    private Path folder;

    /** Runs the program with options that are separated by spaces, and returns what it prints. */
    private static String run(int expectedStatus, String options, Object... more) {
        StringWriter printed = new StringWriter();
        String[] args = Stream.concat(
                        Stream.of(options.split(" ", -1)), Stream.of(more).map(Object::toString))
                .toArray(String[]::new);
        int status = Experiments.commandLine()
                .setOut(new PrintWriter(printed))
                .setErr(new PrintWriter(printed))
                .execute(args);
        assertThat(status).as(printed.toString()).isEqualTo(expectedStatus);
        return printed.toString();
    }

    @ParameterizedTest
    @EnumSource(Task.class)
    void quickFormPrintsSavesAndDrawsEveryKind(Task task) throws Exception {
        requireEveryKind(task, "PyTorch");
    }

    @ParameterizedTest
    @EnumSource(Task.class)
    @Tag("slow")
    void quickFormOnMxnetPrintsSavesAndDrawsEveryKind(Task task) throws Exception {
        requireEveryKind(task, "MXNet");
    }

    private void requireEveryKind(Task task, String engine) throws Exception {
        TestEngine.of(engine).assumeAvailable();
        String options = " --quick --examples 32 --seeds 1 --device cpu --engine " + engine + " --out";
        String out = run(0, "compare --on " + task + options, folder);
        List<String> kinds = task.encodings().stream()
                .flatMap(kind -> task == Task.TEXT && kind == Encoding.ROTARY
                        ? Stream.of("rotary", "rotary_linear", "rotary_ntk", "rotary_yarn", "rotary_window")
                        : Stream.of(kind.toString()))
                .toList();
        String table = out.substring(out.indexOf("\npositions ") + 1);
        assertThat(table.lines().skip(1).limit(kinds.size()).map(line -> line.substring(0, line.indexOf(' '))))
                .isEqualTo(kinds);
        List<String> rows = Files.readAllLines(folder.resolve("comparison.csv"));
        assertThat(rows.stream().skip(1).map(row -> row.substring(0, row.indexOf(','))))
                .isEqualTo(kinds);
        assertThat(rows.get(0))
                .startsWith(
                        switch (task) {
                            case SENTENCES -> "positions,mean 5-16,least 5-16,greatest 5-16,mean 17-24";
                            case TEXT -> "positions,mean 1-32,least 1-32,greatest 1-32,mean 33-64";
                            case PICTURES -> "positions,mean 8 x 8,least 8 x 8,greatest 8 x 8,mean 12 x 12";
                        });
        if (task != Task.TEXT) {
            // a bag of words or pixels
            assertThat(rows.get(1)).startsWith("none,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,");
        }
        assertThat(folder.resolve("comparison.png")).exists();
        if (task == Task.TEXT) {
            requireBiasesAndAttention();
        }
    }

    /** For each of 2 layers of 4 heads: learned biases by distance, and weights with and without rotary positions. */
    private void requireBiasesAndAttention() throws Exception {
        assertThat(lines("biases.csv").stream().map(line -> line.get(0)).distinct())
                .contains("t5", "kerple", "fire", "distance_network")
                .doesNotContain("rotary", "alibi", "sandwich", "learned");
        assertThat(lines("biases.csv").stream().filter(line -> line.get(0).equals("t5")))
                .hasSize(8)
                .allMatch(line -> line.size() == 259);
        assertThat(lines("attention.csv")).hasSize(48).allSatisfy(line -> {
            assertThat(line).hasSize(4 + 33);
            // the weights of a character add up to 1, and the windows have further characters
            double sum = line.stream().skip(4).mapToDouble(Double::parseDouble).sum();
            assertThat(line.get(3).equals("mean") ? sum : 0.5).isBetween(0.01, 1.0);
        });
    }

    private List<List<String>> lines(String file) throws Exception {
        return Files.readAllLines(folder.resolve(file)).stream()
                .map(line -> List.of(line.split(",", -1)))
                .toList();
    }

    @ParameterizedTest
    @CsvSource({
        "--seeds 0, --seeds 0: expected 1 or more",
        "--on text --epochs 0, --epochs 0: expected 1 or more",
        "--on music, Invalid value for option '--on'",
        "--on pictures --encoding learned, '--encoding learned on pictures: expected one of [none, learned_grid,'",
        "--on pictures --examples 1401, '1401 digits: expected at most 1400; use fewer with --examples'",
        "--engine Theano, Theano",
        "--device gpu77, '--device gpu77: expected cpu, or one of the '"
    })
    void badOptionIsNamed(String options, String message) {
        assertThat(run(2, "compare " + options).lines().findFirst())
                .hasValueSatisfying(line -> assertThat(line).contains(message));
    }

    @Test
    void folderThatCannotBeWrittenIsNamedBeforeTheTraining() throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "not a folder");
        assertThat(run(1, "compare --quick --out", file).lines())
                .singleElement()
                .asString()
                .contains(file.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"sinusoidal", "learned"})
    void inspectWritesAttentionAndLearnedPositions(String encoding) throws Exception {
        TestEngine.PYTORCH.assumeAvailable();
        run(0, "compare --quick --seeds 1 --device cpu --encoding " + encoding + " --out", folder);
        run(0, "inspect --model", folder.resolve(encoding), "--out", folder, "a person who writes books");
        // a layer of 2 heads
        assertThat(lines("attention.csv")).hasSize(2).allSatisfy(line -> {
            assertThat(line).hasSize(3 + 25).startsWith("a person who writes books", "0");
            // the weights of the first word
            assertThat(line.subList(3, 8).stream()
                            .mapToDouble(Double::parseDouble)
                            .sum())
                    .isCloseTo(1, within(5e-5));
        });
        assertThat(folder.resolve("positions.csv").toFile().exists()).isEqualTo(encoding.equals("learned"));
        if (encoding.equals("learned")) {
            assertThat(lines("positions.csv")).hasSize(40).allMatch(line -> line.size() == 16);
        }
    }

    @Test
    void folderWithoutAModelIsNamed() {
        Path none = folder.resolve("none");
        assertThat(run(1, "inspect --model", folder, "--out", folder, "a person"))
                .contains(folder.toString());
        assertThat(run(2, "inspect --model", none, "--out", folder, "a person")).startsWith("no model in " + none);
    }

    @TestFactory
    List<DynamicTest> documentedCommandsAreValid() throws Exception {
        List<DynamicTest> tests = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of("README.md"))) {
            if (line.startsWith("java -jar ")) {
                // the words after the jar, of which one in quotes may have spaces
                String[] args = Pattern.compile("\"([^\"]*)\"|(\\S+)")
                        .matcher(line)
                        .results()
                        .skip(3)
                        .map(word -> word.group(1) == null ? word.group(2) : word.group(1))
                        .toArray(String[]::new);
                tests.add(DynamicTest.dynamicTest(
                        line, () -> Experiments.commandLine().parseArgs(args)));
            }
        }
        assertThat(tests).hasSizeGreaterThan(1);
        return tests;
    }

    /** A bag of words, whose two orders can differ by rounding only; with positions they differ. */
    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void withoutPositionsBothOrdersHaveTheSameScores(String engine) {
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            NDArray orders = manager.create(new int[][] {{2, 3, 4, 5, 6, 7}, {7, 5, 2, 6, 4, 3}});
            for (Encoding encoding : Task.SENTENCES.encodings()) {
                Block encoder = SentenceExperiment.encoder(encoding, 10, 16, 16, 2, 2);
                encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 6));
                float[] scores = scores(encoder, orders);
                float difference = Math.abs(scores[0] - scores[1] - scores[2] + scores[3]);
                if (encoding == Encoding.NONE) {
                    assertThat(difference).isLessThan(1e-5f);
                } else {
                    assertThat(difference).as(encoding.toString()).isGreaterThan(1e-4f);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    @Tag("slow")
    void everyEncodingLearnsTheOrderOfAFewSentencesByHeart(String engine) throws Exception {
        TestEngine.of(engine).assumeAvailable();
        Random random = new Random(1);
        List<int[]> sentences = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            sentences.add(random.ints(6, 2, 20).toArray());
        }
        WordOrderDataset dataset = new WordOrderDataset(sentences, 20, 1, false, false);
        Experiment.Description description =
                new Experiment.Description("", "", "accuracy", "words", dataset.batches(), 0.005f, new Shape(1, 8));
        for (Encoding encoding : Task.SENTENCES.encodings()) {
            try (Model model = Model.newInstance("encoder", Device.cpu(), engine)) {
                // eight heads: of two, ALiBi's slopes would be 1/16 and 1/256, which hardly tell near from far
                model.setBlock(SentenceExperiment.encoder(encoding, 20, 8, 32, 8, 1));
                CompareEncodings.train(model, description, dataset, 1, 60);
                double accuracy = Evaluation.accuracy(model.getNDManager(), model.getBlock(), dataset);
                if (encoding == Encoding.NONE) {
                    assertThat(accuracy).isEqualTo(0.5);
                } else {
                    assertThat(accuracy).as("%s", encoding).isGreaterThan(0.9);
                }
            }
        }
    }

    @Test
    void everyRelativeEncodingOfDistancesIsCompared() {
        // those of cells, those that see the tokens, and learned rotations
        Set<String> others = Set.of("Swin", "Swin V2", "MViTv2", "FoX", "Inkling", "learned rotary", "RoPE-Mixed");
        assertThat(Arrays.stream(Encoding.values())
                        .map(kind -> kind == Encoding.DISENTANGLED ? "disentangled" : kind.title()))
                .containsAll(RelativeEncoding.names().stream()
                        .filter(name -> !others.contains(name))
                        .toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void windowsAreLabelledWithTheTokensThatFollow(String engine) throws Exception {
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            int[] ids = {10, 11, 12, 13, 14, 15, 16, 17};
            ArrayDataset windows = TextExperiment.windows(manager, ids, 3, 2, 0, 2, 4);
            List<int[]> inputs = new ArrayList<>();
            List<int[]> labels = new ArrayList<>();
            for (Batch batch : windows.getData(manager)) {
                inputs.add(batch.getData().singletonOrThrow().toIntArray());
                labels.add(batch.getLabels().singletonOrThrow().toIntArray());
            }
            assertThat(inputs).containsExactly(new int[] {10, 11, 12, 12, 13, 14}, new int[] {14, 15, 16});
            assertThat(labels).containsExactly(new int[] {11, 12, 13, 13, 14, 15}, new int[] {15, 16, 17});
        }
    }

    private static float[] scores(Block model, NDArray input) {
        ParameterStore store = new ParameterStore(input.getManager(), false);
        return model.forward(store, new NDList(input), false).singletonOrThrow().toFloatArray();
    }

    /** The expected numbers are those of {@code sklearn.datasets.load_digits()}. */
    @Test
    void readsTheDigitsOfScikitLearn() throws Exception {
        List<double[]> digits = PictureExperiment.readDigits();
        assertThat(digits).hasSize(1797).allMatch(digit -> digit.length == 64);
        assertThat(DoubleStream.of(digits.get(0)).map(pixel -> 16 * pixel))
                .startsWith(0., 0., 5., 13., 9., 1., 0., 0., 0., 0., 13., 15., 10., 15., 5., 0.);
        assertThat(digits.stream().flatMapToDouble(DoubleStream::of).sum() * 16).isEqualTo(561_718);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void resizedEncoderHasTheSameWeights(String engine) {
        for (Encoding encoding : Task.PICTURES.encodings()) {
            try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
                PictureEncoder encoder = new PictureEncoder(encoding, 8);
                encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 8, 8));
                NDArray pictures = manager.randomUniform(0, 1, new Shape(2, 8, 8));
                assertThat(scores(encoder.resized(8, manager), pictures))
                        .as(encoding.toString())
                        .isEqualTo(scores(encoder, pictures));
                float[] larger = scores(encoder.resized(12, manager), manager.ones(new Shape(2, 12, 12)));
                assertThat(larger).hasSize(4).doesNotContain(Float.NaN);
                if (encoding == Encoding.NONE) {
                    // a picture of one color has the same mean over any number of pixels
                    assertThat(larger)
                            .containsExactly(scores(encoder, manager.ones(new Shape(2, 8, 8))), within(1e-4f));
                }
            }
        }
    }
}
