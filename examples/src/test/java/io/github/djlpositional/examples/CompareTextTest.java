package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.math.RotaryScaling;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompareTextTest {

    private static final int TOKENS = 5;

    @TempDir
    private Path folder;

    @Test
    void quickFormPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("PyTorch");
    }

    @Test
    @Tag("slow")
    void quickFormOnMxnetPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("MXNet");
    }

    private void requireEveryKind(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        String out = ProgramRun.of("compare-text --quick --seeds 1 --engine " + engine + " --out " + folder)
                .success();
        List<String> kinds = Encoding.values().stream()
                .map(Encoding::toString)
                .filter(kind -> !kind.startsWith("sinusoidal_"))
                .flatMap(kind -> kind.equals("rotary")
                        ? Stream.of(kind, "rotary_linear", "rotary_ntk", "rotary_yarn")
                        : Stream.of(kind))
                .toList();
        String table = out.substring(out.indexOf("positions "));
        assertThat(table.lines().skip(1).limit(kinds.size()).map(line -> line.substring(0, line.indexOf(' '))))
                .isEqualTo(kinds);
        List<String> rows = Files.readAllLines(folder.resolve("comparison.csv"));
        assertThat(rows).hasSize(1 + kinds.size());
        assertThat(rows.get(0)).startsWith("positions,mean 1-32,least 1-32,greatest 1-32,mean 33-64");
        assertThat(Files.readAllLines(folder.resolve("runs.csv")).get(0)).startsWith("positions,seed,loss 1-32,");
        assertThat(folder.resolve("comparison.png")).exists();
        // the kinds with learned biases: a line for each of 2 layers of 4 heads, and a number for each distance
        List<String[]> biases = Files.readAllLines(folder.resolve("biases.csv")).stream()
                .map(line -> line.split(","))
                .toList();
        assertThat(biases.stream().map(line -> line[0]).distinct())
                .contains("t5", "kerple", "fire", "distance_network")
                .doesNotContain("rotary", "alibi", "sandwich", "learned");
        assertThat(biases.stream().filter(line -> line[0].equals("t5")))
                .hasSize(8)
                .allMatch(line -> line.length == 259);
    }

    @Test
    void playsHaveSpeechesAndStageDirectionsOnly() throws Exception {
        // the first lines of the plays, and a verse with a stage direction inside
        assertThat(Play.HAMLET.read())
                .startsWith("FRANCISCO at his post. Enter to him BERNARDO\n\nBERNARDO\nWho's there?\n\nFRANCISCO\n")
                .contains("\n\nHAMLET\nAside A little more than kin, and less than kind.\n");
        assertThat(Play.ROMEO_AND_JULIET.read()).startsWith("\n\nTwo households, both alike in dignity,\n");
        assertThat(Play.MACBETH.read())
                .startsWith(
                        "Thunder and lightning. Enter three Witches\n\nFirst Witch\nWhen shall we three meet again\n")
                .endsWith("Whom we invite to see us crown'd at Scone.\nFlourish. Exeunt\n")
                .doesNotContain("<", "Jon Bosak", "  ");
    }

    @EngineTest
    void windowsAreLabelledWithTheTokensThatFollow(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            TextWindows windows = TextWindows.every(2, new int[] {10, 11, 12, 13, 14, 15, 16, 17}, 3, 2);
            assertThat(windows.size()).isEqualTo(3);
            assertThat(windows.batches()).isEqualTo(2);
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

    @Test
    void randomWindowsDependOnTheSeedOnly() {
        try (NDManager manager = Engines.newManager("PyTorch")) {
            int[] ids = IntStream.range(0, 1000).toArray();
            assertThat(firstInput(TextWindows.random(ids, 8, 4, 3, 1), manager))
                    .isEqualTo(firstInput(TextWindows.random(ids, 8, 4, 3, 1), manager))
                    .isNotEqualTo(firstInput(TextWindows.random(ids, 8, 4, 3, 2), manager))
                    .hasSize(32);
        }
    }

    private static int[] firstInput(TextWindows windows, NDManager manager) {
        return windows.getData(manager).iterator().next().getData().head().toIntArray();
    }

    /** Without weights all tokens have the same probability, and the loss is ln V. */
    @EngineTest
    void lossOfEqualProbabilitiesIsTheLogarithmOfTheirNumber(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            Block model = model(manager, "NONE");
            model.getParameters().forEach(parameter -> {
                NDArray weights = parameter.getValue().getArray();
                weights.set(new float[(int) weights.size()]);
            });
            int[] ids = IntStream.range(0, 600).map(i -> i % TOKENS).toArray();
            Map<String, Double> losses = CompareText.losses(model, manager, TextWindows.every(100, ids, 256, 3));
            assertThat(losses).hasSize(8).containsKeys("1-32", "225-256");
            // MXNet's log softmax of five equal numbers is off by 3e-6
            assertThat(losses.values()).allSatisfy(loss -> assertThat(loss).isCloseTo(Math.log(TOKENS), within(5e-6)));
        }
    }

    @EngineTest
    void aTokenDependsOnlyOnTokensBeforeIt(String engine) {
        try (NDManager manager = Engines.newManager(engine)) {
            for (Encoding encoding : Encoding.values()) {
                Block model = model(manager, encoding.name());
                float[] scores = scores(model, manager.create(new int[] {0, 1, 2, 3}, new Shape(1, 4)));
                float[] others = scores(model, manager.create(new int[] {0, 1, 4, 0}, new Shape(1, 4)));
                assertThat(Arrays.copyOf(others, 2 * TOKENS))
                        .as(encoding.toString())
                        .containsExactly(Arrays.copyOf(scores, 2 * TOKENS), within(1e-5f));
                assertThat(others[2 * TOKENS]).as(encoding.toString()).isNotEqualTo(scores[2 * TOKENS]);
            }
        }
    }

    private static Block model(NDManager manager, String encoding) {
        Block model = CompareText.languageModel(Encoding.valueOf(encoding), RotaryScaling.none(), TOKENS);
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 256));
        return model;
    }

    private static float[] scores(Block model, NDArray ids) {
        ParameterStore store = new ParameterStore(ids.getManager(), false);
        return model.forward(store, new NDList(ids), false).singletonOrThrow().toFloatArray();
    }

    /** A row has the mean losses, the greatest half of a range, and the number of parameters. */
    @Test
    void theGuideHasTheMeasuredTable() throws Exception {
        String guide = Files.readString(Path.of("../docs/choosing.md"));
        CSVFormat format = CSVFormat.DEFAULT
                .builder()
                .setHeader()
                .setSkipHeaderRecord(true)
                .get();
        try (CSVParser csv =
                CSVParser.parse(Path.of("src/main/resources/comparison-text.csv"), StandardCharsets.UTF_8, format)) {
            List<String> rows = new ArrayList<>();
            for (CSVRecord kind : csv) {
                StringBuilder row = new StringBuilder();
                double half = 0;
                for (String column : csv.getHeaderNames()) {
                    if (column.startsWith("mean ")) {
                        String range = column.substring("mean".length());
                        row.append(String.format(Locale.ROOT, "| %.2f ", Double.parseDouble(kind.get(column))));
                        double least = Double.parseDouble(kind.get("least" + range));
                        half = Math.max(half, (Double.parseDouble(kind.get("greatest" + range)) - least) / 2);
                    }
                }
                rows.add(row.append(String.format(
                                Locale.ROOT, "| %.2f | %,d |", half, Integer.parseInt(kind.get("parameters"))))
                        .toString());
            }
            assertThat(rows).hasSize(18);
            assertThat(guide).contains(rows);
        }
    }

    @Test
    void rejectsInvalidOptions() {
        assertThat(ProgramRun.of("compare-text --steps 0").error(2)).startsWith("error: --steps 0: expected 1 or more");
    }
}
