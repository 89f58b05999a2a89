package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.SmallEncoder;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.HeatMapSeries;

class NotebooksTest {

    @TempDir
    private static Path folder;

    private static Path model;
    private static final Map<String, Notebook> NOTEBOOKS = new LinkedHashMap<>();
    private static final Map<String, String> PRINTED = new LinkedHashMap<>();

    @BeforeAll
    static void runAllWithATinyModel() {
        model = folder.resolve("model.zip");
        SmallEncoder.saveTo(model, "PyTorch", "--encoding", "none,sinusoidal");
        Gallery.NOTEBOOKS.forEach((name, page) -> {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            Notebook notebook = new Notebook(new PrintStream(printed, true, StandardCharsets.UTF_8), folder, model);
            Gallery.write(page, notebook);
            NOTEBOOKS.put(name, notebook);
            PRINTED.put(name, printed.toString(StandardCharsets.UTF_8));
        });
    }

    private static void assertPictures(String notebook, String... names) throws Exception {
        assertThat(NOTEBOOKS.get(notebook).pictures())
                .extracting(Notebook.Picture::file)
                .contains(names);
        for (String name : names) {
            BufferedImage picture = ImageIO.read(folder.resolve(name + ".png").toFile());
            assertThat(picture.getWidth()).as(name).isGreaterThan(900);
            // not an empty sheet
            assertThat(IntStream.range(0, picture.getWidth())
                            .map(x -> picture.getRGB(x, picture.getHeight() / 2))
                            .distinct()
                            .count())
                    .as(name)
                    .isGreaterThan(3);
            assertThat(Files.readString(folder.resolve(name + ".svg"))).as(name).contains("<svg");
        }
    }

    @Test
    void gettingStarted() throws Exception {
        assertThat(PRINTED.get("GettingStarted"))
                .contains("-> (2, 10, 512)", "-> (1, 50, 64)", "-> (4, 120, 512)", "-> (4, 90, 512)");
        assertPictures("GettingStarted", "getting-started");
    }

    @Test
    void sinusoidsByHand() throws Exception {
        assertThat(PRINTED.get("SinusoidsByHand"))
                .contains("angle 3/1 = 3.0000", "angle 3/100 = 0.0300", "sin = 0.1411200081, cos = -0.9899924966");
        assertPictures("SinusoidsByHand", "sinusoids-by-hand");
    }

    @Test
    void whySinusoids() throws Exception {
        assertThat(PRINTED.get("WhySinusoids"))
                .contains(
                        "greatest value of a sequence of 5000: counting 4999, sinusoids 1.000",
                        " 7 ->  8: binary distance 2.000",
                        "similarity at distance  0: 32.000 of 32");
        assertPictures(
                "WhySinusoids",
                "why-steps",
                "why-heat-map",
                "why-dimensions",
                "why-similarity",
                "why-dials",
                "why-perturbation");
    }

    @Test
    void shiftByRotation() throws Exception {
        // T(k) · PE(t) - PE(t + k) has a few roundings of numbers up to 1
        assertThat(PRINTED.get("ShiftByRotation").lines().filter(line -> line.contains("greatest error")))
                .hasSize(6)
                .allMatch(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))) < 1e-14);
        assertPictures("ShiftByRotation", "shift-matrix", "shift-sine-and-cosine");
    }

    @Test
    void conventions() throws Exception {
        assertThat(PRINTED.get("Conventions")).contains("DDPM                0.84147  0.04640  0.00215");
        assertPictures("Conventions", "convention-paper", "convention-ddpm", "convention-custom-frequencies");
    }

    @Test
    void precision() throws Exception {
        List<String> last = PRINTED.get("Precision")
                .lines()
                .filter(line -> line.startsWith("    999999"))
                .toList();
        assertThat(last).hasSize(1);
        String[] errors = last.get(0).trim().split(" +", -1);
        assertThat(Double.parseDouble(errors[2])).isGreaterThan(1e-2);
        assertThat(Double.parseDouble(errors[4])).isLessThan(0x1p-24);
        assertPictures("Precision", "precision");
    }

    @Test
    void lengthExtrapolation() throws Exception {
        assertThat(PRINTED.get("LengthExtrapolation")).contains("transformer_xl", "none                0.500    0.500");
        assertPictures("LengthExtrapolation", "length-extrapolation");
    }

    @Test
    void trainingCurves() throws Exception {
        String printed = PRINTED.get("TrainingCurves");
        assertThat(printed).contains("none           10 trained steps", "sinusoidal     10 trained steps");
        assertThat(printed.lines().filter(line -> line.contains("head 1:"))).hasSize(3);
        AttentionMaps maps = AttentionMaps.of(model, List.of("one small word")).get(0);
        for (int from = 0; from < 3; from++) {
            int row = from;
            assertThat(IntStream.range(0, 3)
                            .mapToDouble(to -> maps.weight(1, 2, row, to))
                            .sum())
                    .isCloseTo(1, within(1e-6));
        }
        assertPictures(
                "TrainingCurves", "training-loss", "training-accuracy", "attention-in-order", "attention-shuffled");
    }

    @Test
    void galleryIsSelfContained() throws Exception {
        Gallery.writePage(folder, NOTEBOOKS);
        String page = Files.readString(folder.resolve("index.html"));
        assertThat(page.split("<img ", -1)).hasSizeGreaterThan(20);
        assertThat(page).doesNotContain("http", "<script", "<link").contains("prefers-color-scheme: dark", "viewport");
        NOTEBOOKS.keySet().forEach(name -> assertThat(page).contains("<h2>" + name + "</h2>"));
    }

    @Test
    void galleryRunsOneNotebook() {
        Path other = folder.resolve("other");
        StringWriter err = new StringWriter();
        assertThat(Program.commandLine(new Gallery()).execute("--out", other.toString(), "ShiftByRotation"))
                .isZero();
        assertThat(other.resolve("shift-matrix.png")).exists();
        assertThat(Program.commandLine(new Gallery())
                        .setErr(new PrintWriter(err))
                        .execute("--out", other.toString(), "Unknown"))
                .isEqualTo(1);
        assertThat(err.toString()).startsWith("error: unknown notebook 'Unknown': choose from GettingStarted, ");
    }

    /** Returns the data that a heat map must show. */
    private static Drawing.Cells data(String picture, String title) {
        if (picture.equals("shift-matrix")) {
            double[][] shift = SinusoidalEncoding.vaswani(16).shift(3);
            return (row, column) -> shift[row][column];
        }
        if (picture.startsWith("attention")) {
            Matcher name = Pattern.compile("layer (\\d), head (\\d)").matcher(title);
            assertThat(name.find()).isTrue();
            int layer = Integer.parseInt(name.group(1)) - 1;
            int head = Integer.parseInt(name.group(2)) - 1;
            AttentionMaps maps = AttentionMaps.of(
                            model,
                            List.of(
                                    picture.endsWith("in-order")
                                            ? "a small domesticated animal that is kept as a pet"
                                            : "pet a as kept is that animal domesticated small a"))
                    .get(0);
            return (row, column) -> maps.weight(layer, head, row, column);
        }
        if (picture.startsWith("convention")) {
            return Conventions.of(40).get(title)::value;
        }
        // getting-started and why-heat-map
        return SinusoidalEncoding.vaswani(64)::value;
    }

    /** The number that a label names: "12", or "3 small" for the third word; -1 for an empty label. */
    private static int named(Object label) {
        String[] parts = label.toString().split(" ", -1);
        return parts[0].isEmpty() ? -1 : Integer.parseInt(parts[0]) - (parts.length - 1);
    }

    @TestFactory
    List<DynamicTest> labelsOfEveryHeatMapNameItsData() {
        List<DynamicTest> tests = new ArrayList<>();
        for (Notebook notebook : NOTEBOOKS.values()) {
            for (Notebook.Picture picture : notebook.pictures()) {
                if (picture.chart() instanceof HeatMapChart chart) {
                    tests.add(DynamicTest.dynamicTest(
                            picture.file(), () -> assertLabelsNameData(chart, data(picture.file(), chart.getTitle()))));
                }
            }
        }
        // two of encodings, one of a shift, ten of conventions, two of attention
        assertThat(tests).hasSize(15);
        return tests;
    }

    private static void assertLabelsNameData(HeatMapChart chart, Drawing.Cells data) {
        HeatMapSeries series = chart.getHeatMapSeries();
        int rows = series.getYData().size();
        assertThat(series.getHeatData()).hasSize(rows * series.getXData().size());
        int compared = 0;
        for (Number[] cell : series.getHeatData()) {
            int column = named(series.getXData().get(cell[0].intValue()));
            int row = named(series.getYData().get(cell[1].intValue()));
            // XChart draws the first of the y labels at the bottom
            assertThat(row).isIn(-1, rows - 1 - cell[1].intValue());
            if (row >= 0 && column >= 0) {
                assertThat(cell[2].doubleValue())
                        .as("row %d, column %d", row, column)
                        .isCloseTo(data.value(row, column), within(1e-6));
                compared++;
            }
        }
        assertThat(compared).isGreaterThanOrEqualTo(16);
        // one label for each column and row, at the center of its cells
        assertThat(chart.getStyler().getXAxisMaxLabelCount())
                .isGreaterThanOrEqualTo(Math.max(rows, series.getXData().size()));
    }

    @Test
    void rowZeroAndColumnZeroAreAtTheTopLeft() {
        HeatMapChart chart =
                Drawing.map("one cell", "column", "row", 16, 16, (row, column) -> row == 0 && column == 0 ? 1 : 0);
        BufferedImage picture = BitmapEncoder.getBufferedImage(chart);
        int red = new Color(0xB2182B).getRGB();
        // the legend is in the last quarter
        List<int[]> found = IntStream.range(0, picture.getWidth() * 3 / 4)
                .boxed()
                .flatMap(x -> IntStream.range(0, picture.getHeight())
                        .filter(y -> picture.getRGB(x, y) == red)
                        .mapToObj(y -> new int[] {x, y}))
                .toList();
        assertThat(found)
                .hasSizeGreaterThan(100)
                .allMatch(pixel -> pixel[0] < picture.getWidth() / 4 && pixel[1] < picture.getHeight() / 4);
    }
}
