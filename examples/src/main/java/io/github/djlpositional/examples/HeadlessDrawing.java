package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Drawing on machines without a display, and without fonts: on Linux Java draws with those that the system has, and
 * fails where there are none. There it gets Liberation Sans from the class path, which makes the pictures the same on
 * every Linux too.
 */
public final class HeadlessDrawing {

    private static final String CONFIGURATION = "sun.awt.fontconfig";
    private static final List<String> FAMILIES = List.of("dialog", "dialoginput", "monospaced", "sansserif", "serif");

    /** A style of Java's, and the file of the font that serves it. */
    private static final Map<String, String> STYLES = Map.of(
            "plain", "Regular",
            "italic", "Regular",
            "bold", "Bold",
            "bolditalic", "Bold");

    private HeadlessDrawing() {}

    /** Prepares for it; to be called before anything is drawn. */
    public static synchronized void prepare() {
        System.setProperty("java.awt.headless", "true");
        boolean isLinux = System.getProperty("os.name").startsWith("Linux");
        if (isLinux && System.getProperty(CONFIGURATION) == null) {
            try {
                System.setProperty(CONFIGURATION, configuration().toString());
            } catch (IOException e) {
                throw new UncheckedIOException("the fonts cannot be put into the folder for temporary files", e);
            }
        }
    }

    /** Writes the fonts, and the file that tells Java of them. */
    private static Path configuration() throws IOException {
        Path folder = Files.createTempDirectory("fonts");
        folder.toFile().deleteOnExit();
        List<String> lines = new ArrayList<>(List.of("version=1", "sequence.allfonts=latin-1"));
        for (String weight : List.of("Regular", "Bold")) {
            Path font = folder.resolve(weight + ".ttf");
            try (InputStream in =
                    HeadlessDrawing.class.getResourceAsStream("/liberation/LiberationSans-" + weight + ".ttf")) {
                if (in == null) {
                    throw new IOException("Liberation Sans is not on the class path: add openpdf-fonts-extra");
                }
                Files.copy(in, font);
            }
            font.toFile().deleteOnExit();
            lines.add("filename.Liberation_Sans_" + weight + "=" + font);
        }
        for (String family : FAMILIES) {
            STYLES.forEach((style, weight) -> lines.add(family + "." + style + ".latin-1=Liberation Sans " + weight));
        }
        Path file = folder.resolve("fontconfig.properties");
        Files.write(file, lines);
        file.toFile().deleteOnExit();
        return file;
    }
}
