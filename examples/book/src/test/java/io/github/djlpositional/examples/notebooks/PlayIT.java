package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a page with the sliders shows in headless Chromium when they move, against the library's numbers. */
class PlayIT {

    /** Far above the error of double arithmetic, which PlayTest derives, and far below a pixel. */
    private static final double DRAWN = 1e-9;

    private static final String BROWSER = System.getProperty("browser", "chromium");
    private static final int CASES = 20;
    private static final List<String> SCRIPTS =
            List.of("sinusoids", "rotary", "contexts", "bits", "shift", "biases", "heatmap");

    /** A window of any width; that of Chromium has at least 500 pixels. */
    private static final String WINDOW =
            "<!DOCTYPE html><body><iframe style=\"border: 0; width: %dpx; height: 2000px\" srcdoc=\"%s\"></iframe>";

    /** A script with the positions of its controls, and the numbers that are typed after that. */
    private record Case(
            String name, Map<String, Object> inputs, Map<String, Object> boxes, PlayScript.Settings settings) {}

    /** What the page shows for a case: see play-harness.js. */
    private record Shown(
            List<String> labels,
            List<String> announced,
            List<String> outputs,
            List<List<String>> rows,
            List<String> numbers,
            List<List<Double>> tips,
            List<Double> bars,
            List<List<Double>> curve,
            List<Double> cells) {}

    private record Dump(int width, int needed, List<Shown> shown) {}

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(ints = {320, 390, 1280})
    void pageShowsTheNumbersOfTheLibrary(int width) throws Exception {
        Random random = new Random(width);
        List<Case> cases = new ArrayList<>();
        for (String name : SCRIPTS) {
            PlayScript script = new PlayScript(name);
            Stream.generate(() -> script.random(random))
                    .limit(CASES)
                    .forEach(settings -> cases.add(new Case(name, settings.inputs(), Map.of(), settings)));
        }
        for (String name : List.of("sinusoids", "heatmap")) {
            for (Map<String, Object> typed :
                    List.of(Map.<String, Object>of("base", 7.5, "size", 5), Map.<String, Object>of("base", 1))) {
                PlayScript.Settings settings = new PlayScript(name).random(random);
                settings.values().putAll(typed);
                cases.add(new Case(name, settings.inputs(), typed, settings));
            }
        }
        Dump page = open(cases, width);
        assertThat(page.width()).isEqualTo(width);
        assertThat(page.needed()).as("width without sliding sideways").isLessThanOrEqualTo(width);
        assertThat(page.shown()).hasSameSizeAs(cases);
        for (int i = 0; i < cases.size(); i++) {
            Shown shown = page.shown().get(i);
            PlayScript.Settings settings = cases.get(i).settings();
            assertControls(shown, settings);
            switch (cases.get(i).name()) {
                case "sinusoids" -> assertSinusoids(shown, settings);
                case "heatmap" -> assertHeatMap(shown, settings);
                // PlayTest compares the numbers of the others with the library's
                default ->
                    assertThat(shown.rows().size() + shown.numbers().size())
                            .as("%s", settings)
                            .isPositive();
            }
        }
    }

    @Test
    void arrowKeysAndPointersMoveTheSliders() throws Exception {
        Moved moved = JsonUtils.GSON.fromJson(show(resource("/play-moves.js"), 1280), Moved.class);
        // from position 20 and dimension 8 one to the right and one down
        assertThat(moved.keyed()).containsExactly(21, 9);
        assertThat(moved.pointed()).containsExactly(30, 10);
        // the query from 20 to 90 degrees; the key, 40 degrees and 3 turns of 0.2 before it, by 30 degrees
        assertThat(moved.dragged()).containsExactly(90, 70);
    }

    /** The controls after the moves of play-moves.js. */
    private record Moved(List<Integer> keyed, List<Integer> pointed, List<Integer> dragged) {}

    private static String resource(String path) throws IOException {
        return new String(new Resource(path, "djl-positional-examples").read(), StandardCharsets.UTF_8);
    }

    private Dump open(List<Case> moves, int width) throws Exception {
        String script = "const cases = " + JsonUtils.GSON.toJson(moves) + ";\n" + resource("/play-harness.js");
        return JsonUtils.GSON.fromJson(show(script, width), Dump.class);
    }

    /** Runs a script in a page with all sliders, and returns what it writes into the page around it. */
    private String show(String script, int width) throws Exception {
        List<Chapter.Cell> cells = SCRIPTS.stream()
                .map(name -> new Chapter.Cell(new Part.Play(name), "", "", List.of()))
                .toList();
        String page = Page.of(
                new Chapter("Sliders", "All sliders", "", List.of(), List.of(), cells),
                Optional.empty(),
                Optional.empty());
        String html = page.replace("</body>", "<script>" + script + "</script></body>");
        String escaped = html.replace("&", "&amp;").replace("\"", "&quot;");
        Path file = Files.writeString(folder.resolve("page.html"), WINDOW.formatted(width, escaped));
        Path dump = folder.resolve("dump.html");
        Path log = folder.resolve("log.txt");
        ProcessBuilder browser = new ProcessBuilder(
                        BROWSER,
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--user-data-dir=" + folder.resolve("profile"),
                        "--dump-dom",
                        file.toUri().toString())
                .redirectOutput(dump.toFile())
                .redirectError(log.toFile());
        Process process;
        try {
            process = browser.start();
        } catch (IOException e) {
            return fail(
                    "'" + BROWSER + "' cannot be started: expected the command of Chromium; install it (on Debian:"
                            + " apt-get install chromium), name the command with -Dbrowser, or leave out -Pbrowser",
                    e);
        }
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            process.destroyForcibly().waitFor();
        }
        String dom = Files.readString(dump);
        String start = "<pre id=\"shown\">";
        assertThat(dom)
                .as("DOM; Chromium's messages: %s", Files.readString(log))
                .contains(start);
        return dom.substring(dom.indexOf(start) + start.length(), dom.lastIndexOf("</pre>"));
    }

    /** Every control has a label, and the sliders show and announce their values. */
    private static void assertControls(Shown shown, PlayScript.Settings settings) {
        assertThat(shown.labels()).hasSameSizeAs(settings.inputs().keySet()).noneMatch(String::isBlank);
        List<Double> values = settings.values().values().stream()
                .filter(Number.class::isInstance)
                .map(value -> ((Number) value).doubleValue())
                .toList();
        assertThat(shown.outputs())
                .as("%s", settings)
                .extracting(PlayIT::number)
                .isEqualTo(values);
        assertThat(shown.announced()).extracting(PlayIT::number).isEqualTo(values);
    }

    private static void assertSinusoids(Shown shown, PlayScript.Settings settings) {
        SinusoidalEncoding encoding = settings.encoding();
        int size = encoding.getEmbeddingSize();
        int position = settings.integer("position");
        int pairs =
                List.of("tensor2tensor", "diffusion").contains(settings.text("convention")) ? size / 2 : (size + 1) / 2;
        assertThat(shown.rows()).as("%s", settings).hasSize(pairs);
        List<Integer> dimensions = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            List<String> row = shown.rows().get(pair);
            String[] halves = row.get(0).split(", ", -1);
            int sine = Integer.parseInt(halves[0]);
            int cosine = Integer.parseInt(halves[1]);
            // half of the last pair of an odd size is left out
            double frequency = encoding.frequency(sine < size ? sine : cosine);
            assertWavelength(row.get(1), frequency);
            assertDecimals(row.get(2), position * frequency, 3);
            for (int i = 0; i < 2; i++) {
                int dimension = List.of(sine, cosine).get(i);
                if (dimension < size) {
                    dimensions.add(dimension);
                    assertThat(encoding.frequency(dimension)).isEqualTo(frequency);
                    assertDecimals(row.get(3 + i), encoding.value(position, dimension), 4);
                } else {
                    assertThat(row.get(3 + i)).isEqualTo("none");
                }
            }
            assertTip(shown.tips().get(pair), Math.sin(position * frequency), Math.cos(position * frequency));
        }
        assertThat(dimensions).doesNotHaveDuplicates().allMatch(dimension -> dimension < size);
        assertThat(shown.bars()).hasSize(size);
        for (int dimension = 0; dimension < size; dimension++) {
            assertThat(shown.bars().get(dimension)).isCloseTo(encoding.value(position, dimension), within(1e-6));
        }
        assertThat(shown.cells()).hasSize(settings.integer("length") * size);
        for (int cell = 0; cell < shown.cells().size(); cell++) {
            int row = cell / size;
            double expected = 255 * encoding.value(row, cell % size);
            assertThat(shown.cells().get(cell))
                    .as("%s, cell %d", settings, cell)
                    .isCloseTo(expected, within(0.5 + DRAWN));
        }
    }

    private static void assertHeatMap(Shown shown, PlayScript.Settings settings) {
        int size = settings.integer("size");
        int length = settings.integer("length");
        int row = Math.min(settings.integer("position"), length - 1);
        int column = Math.min(settings.integer("dimension"), size - 1);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size, settings.number("base"));
        assertDecimals(shown.numbers().get(2), encoding.value(row, column), 4);
        assertThat(shown.cells()).hasSize(length * size);
    }

    private static double number(String text) {
        return Double.parseDouble(text.replace(",", ""));
    }

    private static void assertDecimals(String text, double expected, int decimals) {
        assertThat(text).matches("-?[\\d,]+" + (decimals == 0 ? "" : "\\.\\d{" + decimals + "}"));
        assertThat(number(text)).isCloseTo(expected, within(0.5 * Math.pow(10, -decimals) + DRAWN));
    }

    /** The number of positions per turn, with five digits. */
    private static void assertWavelength(String text, double frequency) {
        double expected = 2 * Math.PI / frequency;
        double half = 0.5 * Math.pow(10, Math.floor(Math.log10(expected)) - 4);
        assertThat(number(text)).isCloseTo(expected, within(half + DRAWN * expected));
    }

    private static void assertTip(List<Double> tip, double sine, double cosine) {
        // SVG's numbers are floats, and its y points down
        assertThat(tip.get(0)).isCloseTo(cosine, within(1e-6));
        assertThat(-tip.get(1)).isCloseTo(sine, within(1e-6));
    }
}
