package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.DeferredTranslatorFactory;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** DJL loads a saved encoder: by a path, by a URL, and from the class path. */
class LoadByNameTest {

    private static final String SENTENCE = "a person who writes books";

    @TempDir
    private static Path folder;

    private static Path file;

    @BeforeAll
    static void trainATinyModel() {
        System.setProperty("DJL_CACHE_DIR", folder.resolve("cache").toString());
        file = folder.resolve("encoder.zip");
        SmallEncoder.saveTo(file, "PyTorch");
    }

    @AfterAll
    static void resetTheCache() {
        System.clearProperty("DJL_CACHE_DIR");
    }

    private static Classifications judged(String engine, String url) throws Exception {
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optEngine(engine)
                .optModelUrls(url)
                .optTranslatorFactory(new DeferredTranslatorFactory())
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            return predictor.predict(SENTENCE);
        }
    }

    private static void requireSameAnswer(String engine, Classifications judged) {
        assertThat(judged.getClassNames()).containsExactly("shuffled", "in order");
        try (ZooModel<String, Classifications> model =
                        EncoderFile.load(file, Engine.getEngine(engine), Device.cpu(), Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            assertThat(judged.get("in order").getProbability())
                    .isEqualTo(
                            JudgeSentences.inOrder(predictor, List.of(SENTENCE)).get(0));
        }
    }

    @Test
    void fromAPath() throws Exception {
        // tag::load[]
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(file) // the zip that train-encoder saved
                .optTranslatorFactory(new DeferredTranslatorFactory()) // the one that serving.properties names
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            Classifications judged = predictor.predict("a person who writes books");
            double inOrder = judged.get("in order").getProbability();
            // end::load[]
            assertThat(inOrder).isBetween(0.0, 1.0);
            requireSameAnswer(model.getNDManager().getEngine().getEngineName(), judged);
            // tag::load[]
        }
        // end::load[]
    }

    @EngineTest
    void fromAUrl(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        requireSameAnswer(engine, judged(engine, file.toUri().toString()));
    }

    @Test
    void fromAJarOnTheClassPath() throws Exception {
        Path jar = folder.resolve("models.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                ZipOutputStream entries = new ZipOutputStream(out)) {
            entries.putNextEntry(new ZipEntry("models/encoder.zip"));
            Files.copy(file, entries);
        }
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        try (URLClassLoader withJar = new URLClassLoader(new URL[] {jar.toUri().toURL()}, before)) {
            thread.setContextClassLoader(withJar);
            requireSameAnswer("PyTorch", judged("PyTorch", "jar:///models/encoder.zip"));
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    @Test
    void invalidSettingIsNamed() throws Exception {
        Path changed = SmallEncoder.changed(
                file,
                folder.resolve("invalid.zip"),
                "serving.properties",
                SmallEncoder.replacing("heads=4", "heads=-4"));
        assertThatThrownBy(() -> judged("PyTorch", changed.toUri().toString()))
                .hasStackTraceContaining("heads -4: expected 1 to 1000");
    }

    @Test
    void encoderWithoutParametersDoesNotAnswer() throws Exception {
        Path changed = SmallEncoder.changed(
                file,
                folder.resolve("without-parameters.zip"),
                "serving.properties",
                SmallEncoder.replacing("heads=4", "heads=4\noption.hasParameter=false"));
        assertThatThrownBy(() -> judged("PyTorch", changed.toUri().toString()))
                .isInstanceOf(TranslateException.class)
                .hasRootCauseInstanceOf(UninitializedParameterException.class);
    }
}
