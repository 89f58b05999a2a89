package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.Frequencies;
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
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a page with the sliders shows in headless Chromium when they move, against the library's numbers. */
class PlayIT {

    /** Far above the error of double arithmetic, which PlayTest derives, and far below a pixel. */
    private static final double DRAWN = 1e-9;

    private static final String BROWSER = System.getProperty("browser", "chromium");
    private static final int CASES = 20;

    /** A window of any width; that of Chromium has at least 500 pixels. */
    private static final String WINDOW =
            "<!DOCTYPE html><body><iframe style=\"border: 0; width: %dpx; height: 2000px\" srcdoc=\"%s\"></iframe>";

    /** A script with the positions of its controls. */
    private record Case(String name, Map<String, Object> inputs, PlayScript.Settings settings) {}

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
    @ValueSource(ints = {390, 1280})
    void pageShowsTheNumbersOfTheLibrary(int width) throws Exception {
        Random random = new Random(width);
        List<Case> cases = new ArrayList<>();
        for (String name : List.of("sinusoids", "rotary")) {
            PlayScript script = new PlayScript(name);
            Stream.generate(() -> script.random(random))
                    .limit(CASES)
                    .forEach(settings -> cases.add(new Case(name, settings.inputs(), settings)));
        }
        Dump page = open(cases, width);
        assertThat(page.width()).isEqualTo(width);
        assertThat(page.needed()).as("width without sliding sideways").isLessThanOrEqualTo(width);
        assertThat(page.shown()).hasSameSizeAs(cases);
        for (int i = 0; i < cases.size(); i++) {
            Shown shown = page.shown().get(i);
            PlayScript.Settings settings = cases.get(i).settings();
            assertControls(shown, settings);
            if (cases.get(i).name().equals("sinusoids")) {
                assertSinusoids(shown, settings);
            } else {
                assertRotary(shown, settings);
            }
        }
    }

    private Dump open(List<Case> moves, int width) throws Exception {
        String harness =
                new String(new Resource("/play-harness.js", "djl-positional-examples").read(), StandardCharsets.UTF_8);
        List<Chapter.Cell> cells = Stream.of("sinusoids", "rotary")
                .map(script -> new Chapter.Cell(new Part.Play(script), "", "", List.of()))
                .toList();
        String page = Page.of(
                new Chapter("Sliders", "All sliders", "", List.of(), List.of(), cells),
                Optional.empty(),
                Optional.empty());
        String html = page.replace(
                "</body>",
                "<script>const cases = " + JsonUtils.GSON.toJson(moves) + ";\n" + harness + "</script></body>");
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
        String json = dom.substring(dom.indexOf(start) + start.length(), dom.lastIndexOf("</pre>"));
        return JsonUtils.GSON.fromJson(json, Dump.class);
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
        assertThat(shown.announced()).isEqualTo(shown.outputs());
    }

    private static void assertSinusoids(Shown shown, PlayScript.Settings settings) {
        SinusoidalEncoding encoding = settings.encoding();
        int size = encoding.getEmbeddingSize();
        int position = settings.integer("position");
        assertThat(shown.rows()).as("%s", settings).hasSize(size / 2);
        List<Integer> dimensions = new ArrayList<>();
        for (int pair = 0; pair < size / 2; pair++) {
            List<String> row = shown.rows().get(pair);
            String[] halves = row.get(0).split(", ", -1);
            int sine = Integer.parseInt(halves[0]);
            int cosine = Integer.parseInt(halves[1]);
            dimensions.addAll(List.of(sine, cosine));
            double frequency = encoding.frequency(sine);
            assertThat(encoding.frequency(cosine)).isEqualTo(frequency);
            assertWavelength(row.get(1), frequency);
            assertDecimals(row.get(2), position * frequency, 3);
            assertDecimals(row.get(3), encoding.value(position, sine), 4);
            assertDecimals(row.get(4), encoding.value(position, cosine), 4);
            assertTip(shown.tips().get(pair), encoding.value(position, sine), encoding.value(position, cosine));
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

    private static void assertRotary(Shown shown, PlayScript.Settings settings) {
        Frequencies frequencies = settings.frequencies();
        Frequencies unscaled = Frequencies.geometric(frequencies.size(), settings.number("base"), frequencies.size());
        int query = settings.integer("query");
        int key = settings.integer("key");
        assertThat(shown.rows()).as("%s", settings).hasSize(frequencies.size());
        for (int pair = 0; pair < frequencies.size(); pair++) {
            List<String> row = shown.rows().get(pair);
            double frequency = frequencies.get(pair);
            assertThat(row.get(0)).isEqualTo(Integer.toString(pair));
            assertWavelength(row.get(1), frequency);
            assertDecimals(row.get(2), unscaled.get(pair) / frequency, 3);
            assertDecimals(row.get(3), query * frequency, 3);
            assertDecimals(row.get(4), key * frequency, 3);
            assertDecimals(row.get(5), frequencies.cosine(key - query, pair), 4);
            assertTip(shown.tips().get(2 * pair), frequencies.sine(query, pair), frequencies.cosine(query, pair));
            assertTip(shown.tips().get(2 * pair + 1), frequencies.sine(key, pair), frequencies.cosine(key, pair));
        }
        assertThat(shown.numbers()).hasSize(4);
        assertDecimals(shown.numbers().get(0), key - query, 0);
        assertDecimals(shown.numbers().get(1), settings.score(key - query), 4);
        assertDecimals(shown.numbers().get(2), settings.score(key - query), 4);
        assertDecimals(shown.numbers().get(3), settings.scaling().attentionFactor(0), 4);
        assertThat(shown.curve()).hasSize(513);
        for (List<Double> point : shown.curve()) {
            int distance = point.get(0).intValue();
            // SVG's y points down
            assertThat(-point.get(1))
                    .as("%s, %d", settings, distance)
                    .isCloseTo(settings.score(distance), within(DRAWN));
        }
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
