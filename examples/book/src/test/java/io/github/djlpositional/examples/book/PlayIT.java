package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThatCode;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What a page with all sliders shows in headless Chromium, if it is installed; {@code -Dbrowser} names another command.
 * PlayTest compares the same functions with the library.
 */
class PlayIT {

    private static final String BROWSER = System.getProperty("browser", "chromium");

    @BeforeAll
    static void assumeInstalled() {
        assumeThatCode(() -> new ProcessBuilder(BROWSER, "--version").start())
                .as("%s is not installed", BROWSER)
                .doesNotThrowAnyException();
    }

    /** The script writes the width of the page and what is wrong, or what keys and pointers have moved. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "play-harness.js |  320 |  320",
                "play-harness.js |  390 |  390",
                "play-harness.js | 1280 | 1280",
                "play-moves.js   | 1280 | heatmap 21 9, 30 10; patches 5 9; rotary 90 -40; the bites dog the man"
            })
    void scriptInAPageWithAllSliders(String script, int width, String expected, @TempDir Path folder) throws Exception {
        StringBuilder page = new StringBuilder("<!DOCTYPE html><meta charset=\"utf-8\">"
                + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>"
                + PlayScript.read("style.css") + "</style><main>");
        PlayScript.all().forEach(name -> page.append("<div class=\"play\" data-play=\"" + name + "\"></div>\n"));
        page.append("</main><script>" + PlayScript.read("play/play.js") + "</script>");
        PlayScript.all()
                .forEach(name -> page.append("<script>" + PlayScript.read("play/" + name + ".js") + "</script>"));
        String run = Files.readString(Path.of("src/test/resources").resolve(script));
        Files.writeString(folder.resolve("page.html"), page.append("<script>" + run + "</script>"));
        // the window of Chromium has at least 500 pixels; the page writes into this one, which is as wide as is needed
        String frame = "<!DOCTYPE html><body><iframe style=\"border: 0; width: " + width
                + "px; height: 2000px\" src=\"page.html\"></iframe>";
        Path window = Files.writeString(folder.resolve("window.html"), frame);
        Path dump = folder.resolve("dump.html");
        Path log = folder.resolve("log.txt");
        Process process = new ProcessBuilder(
                        BROWSER,
                        "--headless",
                        "--no-sandbox",
                        "--disable-gpu",
                        "--allow-file-access-from-files",
                        "--disable-web-security",
                        "--virtual-time-budget=10000",
                        "--dump-dom",
                        "--user-data-dir=" + folder.resolve("profile"),
                        window.toUri().toString())
                .redirectOutput(dump.toFile())
                .redirectError(log.toFile())
                .start();
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            process.destroyForcibly().waitFor();
        }
        assertThat(Files.readString(dump))
                .as("DOM; Chromium's messages: %s", Files.readString(log))
                .contains("<pre id=\"shown\">" + expected + "</pre>");
    }
}
