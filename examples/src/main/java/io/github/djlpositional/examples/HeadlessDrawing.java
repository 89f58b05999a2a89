package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Prepares Java for drawing on machines without a display and without fonts. On Linux, Java uses the fonts of the
 * system and fails if there are none. Here it uses Liberation Sans from the class path, so that pictures are the same
 * on every Linux.
 */
final class HeadlessDrawing {

    private static final String CONFIGURATION = "sun.awt.fontconfig";
    private static final String FONTS = "com.github.librepdf:openpdf-fonts-extra:2.0.3";
    private static final List<String> FAMILIES = List.of("dialog", "dialoginput", "monospaced", "sansserif", "serif");
    private static final List<String> STYLES = List.of("plain", "italic", "bold", "bolditalic");

    private HeadlessDrawing() {}

    /** Prepares Java for drawing; call this before the first use of AWT. */
    static synchronized void prepare() {
        System.setProperty("java.awt.headless", "true");
        boolean isLinux = System.getProperty("os.name").startsWith("Linux");
        if (isLinux && System.getProperty(CONFIGURATION) == null) {
            try {
                System.setProperty(CONFIGURATION, configuration().toString());
            } catch (IOException e) {
                throw new UncheckedIOException("the fonts cannot be copied to the temporary folder", e);
            }
        }
    }

    /** Writes the fonts and Java's font configuration to a temporary folder. */
    private static Path configuration() throws IOException {
        Path folder = Files.createTempDirectory("fonts");
        folder.toFile().deleteOnExit();
        List<String> lines = new ArrayList<>(List.of("version=1", "sequence.allfonts=latin-1"));
        for (String weight : List.of("Regular", "Bold")) {
            Path font = folder.resolve(weight + ".ttf");
            Files.write(font, new Resource("/liberation/LiberationSans-" + weight + ".ttf", FONTS).read());
            font.toFile().deleteOnExit();
            lines.add("filename.Liberation_Sans_" + weight + "=" + font);
        }
        for (String family : FAMILIES) {
            for (String style : STYLES) {
                String weight = style.startsWith("bold") ? "Bold" : "Regular";
                lines.add(family + "." + style + ".latin-1=Liberation Sans " + weight);
            }
        }
        Path file = Files.write(folder.resolve("fontconfig.properties"), lines);
        file.toFile().deleteOnExit();
        return file;
    }
}
