package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.Device;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.DeferredTranslatorFactory;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A saved encoder loads with DJL alone: from a folder, an archive, and the class path. */
class LoadByNameTest {

    private static final String SENTENCE = "a person who writes books";

    @TempDir
    private static Path folder;

    @TempDir
    private static Path cache;

    @TempDir
    private Path other;

    @BeforeAll
    static void trainATinyModel() {
        System.setProperty("DJL_CACHE_DIR", cache.toString());
        SmallEncoder.saveTo(folder, "PyTorch");
    }

    @AfterAll
    static void forgetTheCache() {
        System.clearProperty("DJL_CACHE_DIR");
    }

    private static void requireJudges(String url) throws Exception {
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelUrls(url)
                .optTranslatorFactory(new DeferredTranslatorFactory())
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor();
                SavedEncoder saved =
                        SavedEncoder.load(folder, model.getNDManager().getEngine(), Device.cpu())) {
            Classifications judged = predictor.predict(SENTENCE);
            assertThat(judged.getClassNames()).containsExactly("shuffled", "in order");
            assertThat(judged.get("in order").getProbability())
                    .isEqualTo(saved.judge(List.of(SENTENCE)).get(0));
        }
    }

    @Test
    void fromAFolder() throws Exception {
        // tag::load[]
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder) // what train-encoder saved: a folder, or a zip of it
                .optTranslatorFactory(new DeferredTranslatorFactory()) // the one that serving.properties names
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            Classifications judged = predictor.predict("a person who writes books");
            double inOrder = judged.get("in order").getProbability();
            // end::load[]
            assertThat(inOrder).isBetween(0.0, 1.0);
            // tag::load[]
        }
        // end::load[]
        requireJudges(folder.toUri().toString());
    }

    private Path archive(Path at) throws IOException {
        try (OutputStream out = Files.newOutputStream(at);
                ZipOutputStream zip = new ZipOutputStream(out);
                Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                zip.putNextEntry(new ZipEntry(file.getFileName().toString()));
                Files.copy(file, zip);
                zip.closeEntry();
            }
        }
        return at;
    }

    @Test
    void fromAZip() throws Exception {
        requireJudges(archive(other.resolve("encoder.zip")).toUri().toString());
    }

    @Test
    void fromAJarOnTheClassPath() throws Exception {
        Path zip = archive(other.resolve("encoder.zip"));
        Path jar = other.resolve("models.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                ZipOutputStream entries = new ZipOutputStream(out)) {
            entries.putNextEntry(new ZipEntry("models/encoder.zip"));
            Files.copy(zip, entries);
            entries.closeEntry();
        }
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader withJar = new URLClassLoader(new URL[] {jar.toUri().toURL()}, before)) {
            thread.setContextClassLoader(withJar);
            requireJudges("jar:///models/encoder.zip");
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private Path damagedCopy(String file, byte[] content) throws IOException {
        SmallEncoder.copy(folder, other);
        Files.write(other.resolve(file), content);
        return other;
    }

    private static String messages(Throwable thrown) {
        StringBuilder messages = new StringBuilder();
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            messages.append(each.getMessage()).append('\n');
        }
        return messages.toString();
    }

    @Test
    void saysWhichFileOfAFolderIsWrong() throws Exception {
        String sizes = Files.readString(folder.resolve("encoder.properties"));
        for (String wrong : new String[] {
            sizes.replace("heads=4", "heads=-4"),
            sizes.replace("heads=4", "heads=2000000000"),
            sizes.replace("heads=4", "heads=four"),
            sizes.replace("heads=4", ""),
            sizes.replace("encoding=SINUSOIDAL", "encoding=java.lang.Runtime"),
            "\\u00zz"
        }) {
            assertThat(wrong).isNotEqualTo(sizes);
            Path damaged = Files.createTempDirectory(other, "damaged");
            other = damaged;
            Path copy = damagedCopy("encoder.properties", wrong.getBytes(StandardCharsets.UTF_8));
            Throwable thrown = catchThrowable(() -> requireJudges(copy.toUri().toString()));
            assertThat(messages(thrown)).as(wrong).contains("encoder.properties");
        }
    }

    @Test
    void refusesParametersThatAreCutOff() throws Exception {
        byte[] parameters = Files.readAllBytes(folder.resolve("encoder-0000.params"));
        Path copy = damagedCopy("encoder-0000.params", Arrays.copyOf(parameters, parameters.length / 2));
        Throwable thrown = catchThrowable(() -> requireJudges(copy.toUri().toString()));
        assertThat(messages(thrown)).contains("encoder-0000.params is cut off or of another model: it has ");
    }
}
