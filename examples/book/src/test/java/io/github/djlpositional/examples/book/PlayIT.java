package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a page with all sliders shows in headless Chromium; PlayTest compares the same functions with the library. */
class PlayIT {

    private static final String BROWSER = System.getProperty("browser", "chromium");

    /** What the page shows of a case of play-harness.js, and the numbers that are expected first. */
    private record Shown(
            String name,
            List<String> labels,
            List<String> announced,
            List<String> outputs,
            List<String> numbers,
            List<Double> expected) {}

    private record Dump(int width, int needed, List<Shown> shown) {}

    @TempDir
    private Path folder;

    private static double[] parsed(List<String> texts) {
        return texts.stream()
                .mapToDouble(text -> Double.parseDouble(text.replace(",", "")))
                .toArray();
    }

    @ParameterizedTest
    @ValueSource(ints = {320, 390, 1280})
    void pageShowsTheNumbersOfTheScripts(int width) throws Exception {
        Dump page = JsonUtils.GSON.fromJson(show(Book.read("/play-harness.js"), width), Dump.class);
        assertThat(page.width()).isEqualTo(width);
        assertThat(page.needed()).as("width without sliding sideways").isLessThanOrEqualTo(width);
        for (Shown shown : page.shown()) {
            assertThat(shown.labels()).as(shown.name()).isNotEmpty().noneMatch(String::isBlank);
            assertThat(parsed(shown.announced())).as(shown.name()).isEqualTo(parsed(shown.outputs()));
            double[] expected = shown.expected().stream().mapToDouble(x -> x).toArray();
            assertThat(parsed(shown.numbers().subList(0, expected.length)))
                    .as(shown.name())
                    .containsExactly(expected, within(0.50001e-4));
        }
    }

    @Test
    void keysAndPointersMoveTheSliders() throws Exception {
        // from position 20 and dimension 8 one to the right and one down; from row 4 and column 10 one to the left and
        // down
        assertThat(show(Book.read("/play-moves.js"), 1280))
                .isEqualTo("{\"keyed\":[21,9],\"pointed\":[30,10],\"patch\":[5,9],\"dragged\":[90,-40],"
                        + "\"words\":\"the bites dog another dog\"}");
    }

    /** Runs a script in a page with all sliders, and returns what it writes into the page around it. */
    private String show(String script, int width) throws Exception {
        List<Chapter.Part> plays = PlayScript.all().stream()
                .map(name -> (Chapter.Part) new Chapter.Play(name, null))
                .toList();
        Chapter chapter = new Chapter("Sliders", "All sliders", "All.", plays, "");
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
        List<String> command =
                List.of((BROWSER + " --headless --no-sandbox --disable-gpu --allow-file-access-from-files"
                                + " --disable-web-security --virtual-time-budget=10000 --dump-dom --user-data-dir="
                                + folder.resolve("profile") + " " + window.toUri())
                        .split(" ", -1));
        // without Chromium: install it, name its command with -Dbrowser, or leave out -Pbrowser
        Process process = new ProcessBuilder(command)
                .redirectOutput(dump.toFile())
                .redirectError(log.toFile())
                .start();
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
