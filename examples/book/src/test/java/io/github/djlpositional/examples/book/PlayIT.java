package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a page with all sliders shows in headless Chromium, against the numbers that PlayTest compares with the
 * library's.
 */
class PlayIT {

    private static final String BROWSER = System.getProperty("browser", "chromium");
    private static final List<String> SCRIPTS = Book.SCRIPTS.subList(1, Book.SCRIPTS.size());

    /** A window of any width; that of Chromium has at least 500 pixels. */
    private static final String WINDOW = "<!DOCTYPE html><body><iframe style=\"border: 0; width: %dpx; height: 2000px\""
            + " src=\"page.html\"></iframe>";

    /** A script, and the positions of its controls. */
    private record Case(String name, Map<String, Object> inputs) {}

    /** What the page shows for a case: see play-harness.js. */
    private record Shown(
            List<String> labels,
            List<String> announced,
            List<String> outputs,
            List<List<String>> rows,
            List<String> numbers) {

        double number(int i) {
            return parsed(numbers.get(i));
        }

        /** The numbers of a column of the table. */
        double[] column(int column) {
            return rows.stream().mapToDouble(row -> parsed(row.get(column))).toArray();
        }
    }

    private record Dump(int width, int needed, List<Shown> shown) {}

    /** The controls after the moves of play-moves.js. */
    private record Moved(
            List<Integer> keyed, List<Integer> pointed, List<Integer> patch, List<Integer> dragged, String words) {}

    @TempDir
    private Path folder;

    private static double parsed(String text) {
        return Double.parseDouble(text.replace(",", ""));
    }

    @ParameterizedTest
    @ValueSource(ints = {320, 390, 1280})
    void pageShowsTheNumbersOfTheScripts(int width) throws Exception {
        Random random = new Random(width);
        List<Case> cases = new ArrayList<>();
        List<PlayScript.Settings> settings = new ArrayList<>();
        List<PlayScript> scripts = new ArrayList<>();
        for (String name : SCRIPTS) {
            PlayScript script = new PlayScript(name);
            for (int i = 0; i < 10; i++) {
                scripts.add(script);
                settings.add(script.random(random));
                cases.add(new Case(name, settings.get(settings.size() - 1).inputs()));
            }
        }
        String script =
                "const cases = " + JsonUtils.GSON.toJson(cases) + ";\n" + PlayScript.resource("/play-harness.js");
        Dump page = JsonUtils.GSON.fromJson(show(script, width), Dump.class);
        assertThat(page.width()).isEqualTo(width);
        assertThat(page.needed()).as("width without sliding sideways").isLessThanOrEqualTo(width);
        for (int i = 0; i < cases.size(); i++) {
            Shown shown = page.shown().get(i);
            PlayScript.Settings s = settings.get(i);
            double[] values = s.values().values().stream()
                    .filter(Number.class::isInstance)
                    .mapToDouble(value -> ((Number) value).doubleValue())
                    .toArray();
            assertThat(shown.labels()).hasSameSizeAs(s.inputs().keySet()).noneMatch(String::isBlank);
            for (List<String> texts : List.of(shown.outputs(), shown.announced())) {
                assertThat(texts.stream().mapToDouble(PlayIT::parsed).toArray())
                        .as("%s", s)
                        .isEqualTo(values);
            }
            assertShown(cases.get(i).name(), scripts.get(i), shown, s);
        }
    }

    private static double largest(double... numbers) {
        return DoubleStream.of(numbers).max().orElseThrow();
    }

    /** A number or a column of each script. */
    private static void assertShown(String name, PlayScript script, Shown shown, PlayScript.Settings s) {
        double[] actual;
        double[] expected;
        switch (name) {
            case "bits" -> {
                actual = shown.column(2);
                expected = DoubleStream.iterate(4, bit -> bit >= 0, bit -> bit - 1)
                        .map(bit -> script.number("wave", bit, s.integer("position"), s.number("smoothness")))
                        .toArray();
            }
            case "contexts" -> {
                actual = new double[] {shown.number(0)};
                double[] beyond = script.numbers(
                        "beyond", s.text("scaling"), s.integer("d"), s.number("factor"), s.integer("length"));
                expected = new double[] {DoubleStream.of(beyond).sum()};
            }
            case "rotary" -> {
                actual = shown.column(4);
                expected = script.numbers(
                        "contributions",
                        Math.toRadians(s.number("alpha")),
                        s.integer("d"),
                        s.number("base"),
                        s.integer("distance"));
            }
            case "shift" -> {
                actual = new double[] {shown.number(0)};
                int query = Math.min(s.integer("query"), s.integer("length") - 1);
                expected = new double[] {
                    largest(script.numbers(
                            "weights",
                            s.integer("length"),
                            s.integer("pairs"),
                            s.number("base"),
                            query,
                            s.integer("back"),
                            s.number("gain")))
                };
            }
            case "playground" -> {
                actual = shown.column(4);
                String[] words = s.text("text").split(" ", -1);
                double[][] scores = script.call(double[][].class, "scores", s.text("encoding"), words, s.integer("d"));
                expected = scores[Math.min(s.integer("t"), words.length - 1)];
            }
            case "formats" -> {
                actual = new double[] {shown.number(0)};
                expected = new double[] {Math.cos(s.integer("distance") * s.number("frequency"))};
            }
            default -> {
                assertThat(shown.rows().size()).as("%s %s", name, s).isPositive();
                return;
            }
        }
        assertThat(actual).as("%s %s", name, s).containsExactly(expected, within(0.50001e-4));
    }

    @Test
    void keysAndPointersMoveTheSliders() throws Exception {
        Moved moved = JsonUtils.GSON.fromJson(show(PlayScript.resource("/play-moves.js"), 1280), Moved.class);
        // from position 20 and dimension 8 one to the right and one down
        assertThat(moved.keyed()).containsExactly(21, 9);
        assertThat(moved.pointed()).containsExactly(30, 10);
        // from row 4 and column 10 one to the left and one down
        assertThat(moved.patch()).containsExactly(5, 9);
        // the query from 20 to 90 degrees; the key by 30 degrees
        assertThat(moved.dragged()).containsExactly(90, -40);
        assertThat(moved.words()).isEqualTo("the bites dog the man");
    }

    /** Runs a script in a page with all sliders, and returns what it writes into the page around it. */
    private String show(String script, int width) throws Exception {
        List<Chapter.Part> plays = SCRIPTS.stream()
                .map(name -> (Chapter.Part) new Chapter.Play(name, ""))
                .toList();
        Chapter chapter = new Chapter("Sliders", "All sliders", "All.", plays, "", "");
        Book.write(folder, List.of(chapter));
        String page = Page.of(chapter, Optional.empty(), Optional.empty());
        Files.writeString(
                folder.resolve("page.html"), page.replace("</body>", "<script>" + script + "</script></body>"));
        Path window = Files.writeString(folder.resolve("window.html"), WINDOW.formatted(width));
        Path dump = folder.resolve("dump.html");
        Path log = folder.resolve("log.txt");
        ProcessBuilder browser = new ProcessBuilder(
                        BROWSER,
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        // the page writes into the window
                        "--allow-file-access-from-files",
                        "--disable-web-security",
                        "--user-data-dir=" + folder.resolve("profile"),
                        "--virtual-time-budget=10000",
                        "--dump-dom",
                        window.toUri().toString())
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
        return dom.substring(dom.indexOf(start) + start.length(), dom.lastIndexOf("</pre>"))
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&");
    }
}
