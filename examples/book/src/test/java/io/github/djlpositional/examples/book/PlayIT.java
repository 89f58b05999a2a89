package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a page with all sliders shows in headless Chromium; PlayTest compares the same functions with the library. */
class PlayIT {

    private static final String BROWSER = System.getProperty("browser", "chromium");

    /** Controls that are moved, and the numbers that the page then shows. */
    @SuppressWarnings("ArrayRecordComponent") // no one compares cases
    private record Case(String name, Map<String, Object> inputs, double... expected) {}

    /** What the page shows for a case: see play-harness.js. */
    private record Shown(List<String> labels, List<String> announced, List<String> outputs, List<String> numbers) {}

    private record Dump(int width, int needed, List<Shown> shown) {}

    /** The controls after the moves of play-moves.js. */
    private record Moved(
            List<Integer> keyed, List<Integer> pointed, List<Integer> patch, List<Integer> dragged, String words) {}

    @TempDir
    private Path folder;

    private static double[] parsed(List<String> texts) {
        return texts.stream()
                .mapToDouble(text -> Double.parseDouble(text.replace(",", "")))
                .toArray();
    }

    private static double largest(String script, Object... arguments) {
        return DoubleStream.of(PlayScript.of(script).numbers("weights", arguments))
                .max()
                .orElseThrow();
    }

    private static List<Case> cases() {
        double[] score = PlayScript.of("playground")
                .call(double[][].class, "scores", "alibi", "the cat sat".split(" ", -1), 64)[2];
        double sum = DoubleStream.of(score).map(Math::exp).sum();
        double cosine = Math.cos(0.3);
        List<Case> cases = List.of(
                new Case("bits", Map.of("smoothness", 1, "position", 3)),
                new Case("biases", Map.of("slope", 3)),
                new Case("checker", Map.of("text", "0 1 0 1 0 1 0 1"), 3),
                // the table of the chapter
                new Case("contexts", Map.of("scaling", "ntk"), 17, 64, 1),
                new Case("formats", Map.of("format", "float32", "distance", 3, "frequency", 3), cosine, cosine),
                new Case("heatmap", Map.of("position", 7, "dimension", 1), 7, 1, Math.cos(7)),
                new Case("patches", Map.of("row", 5, "column", 3), 5, 3, 83),
                new Case(
                        "playground",
                        Map.of("encoding", "alibi", "text", "The  cat sat", "t", 9, "d", 4),
                        Math.exp(DoubleStream.of(score).max().orElseThrow()) / sum),
                new Case("rotary", Map.of("distance", 9, "d", 4), Math.cos(9) + Math.cos(0.09)),
                new Case("shift", Map.of("distance", 5, "gain", 6), 25, largest("shift", 8, 10_000, 50, 25, 5, 16)),
                new Case("sinusoids", Map.of("convention", "diffusion", "size", 7)));
        List<String> names = cases.stream().map(Case::name).toList();
        Stream<Case> others = Book.SCRIPTS.stream()
                .filter(name -> !names.contains(name) && !name.equals("play"))
                .map(name -> new Case(name, Map.of()));
        return Stream.concat(cases.stream(), others).toList();
    }

    @ParameterizedTest
    @ValueSource(ints = {320, 390, 1280})
    void pageShowsTheNumbersOfTheScripts(int width) throws Exception {
        String cases = JsonUtils.GSON.toJson(cases());
        String script = "const cases = " + cases + ";\n" + PlayScript.resource("/play-harness.js");
        Dump page = JsonUtils.GSON.fromJson(show(script, width), Dump.class);
        assertThat(page.width()).isEqualTo(width);
        assertThat(page.needed()).as("width without sliding sideways").isLessThanOrEqualTo(width);
        for (int i = 0; i < page.shown().size(); i++) {
            Case moved = cases().get(i);
            Shown shown = page.shown().get(i);
            assertThat(shown.labels()).as(moved.name()).isNotEmpty().noneMatch(String::isBlank);
            assertThat(parsed(shown.announced())).as(moved.name()).isEqualTo(parsed(shown.outputs()));
            double[] first = parsed(
                    shown.numbers().stream().limit(moved.expected().length).toList());
            assertThat(first).as(moved.name()).containsExactly(moved.expected(), within(0.50001e-4));
        }
    }

    @Test
    void keysAndPointersMoveTheSliders() throws Exception {
        Moved moved = JsonUtils.GSON.fromJson(show(PlayScript.resource("/play-moves.js"), 1280), Moved.class);
        // from position 20 and dimension 8 one to the right and one down
        assertThat(moved.keyed()).containsExactly(21, 9);
        assertThat(moved.pointed()).containsExactly(30, 10);
        // from row 4 and column 10 one to the left and one down
        assertThat(moved.patch()).containsExactly(5, 9);
        assertThat(moved.dragged()).containsExactly(90, -40);
        assertThat(moved.words()).isEqualTo("the bites dog another dog");
    }

    /** Runs a script in a page with all sliders, and returns what it writes into the page around it. */
    private String show(String script, int width) throws Exception {
        List<Chapter.Part> plays = cases().stream()
                .map(each -> (Chapter.Part) new Chapter.Play(each.name(), ""))
                .toList();
        Chapter chapter = new Chapter("Sliders", "All sliders", "All.", plays, "", "");
        Book.write(folder, List.of(chapter));
        String page = Page.of(chapter, Optional.empty(), Optional.empty());
        Files.writeString(
                folder.resolve("page.html"), page.replace("</body>", "<script>" + script + "</script></body>"));
        // the window of Chromium has at least 500 pixels; the page writes into this one, which is as wide as is needed
        String frame =
                "<!DOCTYPE html><body><iframe style=\"border: 0; width: %dpx; height: 2000px\" src=\"page.html\">";
        Path window = Files.writeString(folder.resolve("window.html"), frame.formatted(width) + "</iframe>");
        Path dump = folder.resolve("dump.html");
        Path log = folder.resolve("log.txt");
        String[] options = {
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--disable-web-security",
            "--user-data-dir=" + folder.resolve("profile"),
            "--virtual-time-budget=10000"
        };
        ProcessBuilder browser =
                new ProcessBuilder(BROWSER).redirectOutput(dump.toFile()).redirectError(log.toFile());
        browser.command().addAll(List.of(options));
        browser.command().addAll(List.of("--dump-dom", window.toUri().toString()));
        // without Chromium: install it, name its command with -Dbrowser, or leave out -Pbrowser
        Process process = browser.start();
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
}
