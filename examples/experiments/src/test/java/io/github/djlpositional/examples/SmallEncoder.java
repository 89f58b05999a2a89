package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** An encoder that is trained within seconds, once for each engine, and has learned almost nothing. */
public final class SmallEncoder {

    private static final Map<String, byte[]> TRAINED = new ConcurrentHashMap<>();

    private SmallEncoder() {}

    /** Saves an encoder, trained on an engine; the test is skipped if the engine is not available. */
    public static void saveTo(Path file, String engine) throws IOException {
        TestEngine.of(engine).assumeAvailable();
        Files.write(file, TRAINED.computeIfAbsent(engine, SmallEncoder::trained));
    }

    private static byte[] trained(String engine) {
        try {
            Path file = Files.createTempFile("small-encoder", ".zip");
            ProgramRun.of(
                            "--glosses 300 --held-out 50 --epochs 1 --batch 60 --encoding sinusoidal --engine " + engine
                                    + " --out",
                            file)
                    .success();
            byte[] content = Files.readAllBytes(file);
            Files.delete(file);
            return content;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Copies a saved encoder with one changed entry, or without it if the change returns null. */
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
}
