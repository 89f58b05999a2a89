package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** An encoder that is trained within seconds, and has learned almost nothing. */
public final class SmallEncoder {

    private SmallEncoder() {}

    /**
     * Trains and saves an encoder.
     *
     * @param file the file
     * @param engine the engine; the test is skipped if it is not available
     * @param more further options of {@code train-encoder}; {@code --encoding} is sinusoidal by default
     */
    public static void saveTo(Path file, String engine, String... more) {
        Engines.assumeAvailable(engine);
        List<String> args = new ArrayList<>(List.of("--engine", engine, "--glosses", "600", "--held-out", "50"));
        args.addAll(List.of("--epochs", "1", "--out", file.toString()));
        args.addAll(List.of(more));
        if (!args.contains("--encoding")) {
            args.addAll(List.of("--encoding", "sinusoidal"));
        }
        assertThat(TrainEncoder.commandLine().execute(args.toArray(String[]::new)))
                .isZero();
    }

    /**
     * Copies a saved encoder with one changed entry, whose checksum is correct.
     *
     * @param saved the file
     * @param to the changed file
     * @param name the name of the entry
     * @param change returns the new content; the entry is removed if it returns null
     * @return the changed file
     * @throws IOException if that fails
     */
    public static Path changed(Path saved, Path to, String name, UnaryOperator<byte[]> change) throws IOException {
        boolean isChanged = false;
        try (ZipFile from = new ZipFile(saved.toFile());
                OutputStream out = Files.newOutputStream(to);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (ZipEntry entry : (Iterable<ZipEntry>) from.stream().map(ZipEntry.class::cast)::iterator) {
                byte[] content = from.getInputStream(entry).readAllBytes();
                if (entry.getName().equals(name)) {
                    content = change.apply(content);
                    isChanged = true;
                }
                if (content != null) {
                    zip.putNextEntry(new ZipEntry(entry.getName()));
                    zip.write(content);
                }
            }
        }
        assertThat(isChanged).as("has an entry %s", name).isTrue();
        return to;
    }

    /**
     * Replaces a part of a text, which must occur in it.
     *
     * @param from the part
     * @param to its replacement
     * @return a change of an entry
     */
    public static UnaryOperator<byte[]> replacing(String from, String to) {
        return content -> {
            String text = new String(content, StandardCharsets.UTF_8);
            assertThat(text).contains(from);
            return text.replace(from, to).getBytes(StandardCharsets.UTF_8);
        };
    }
}
