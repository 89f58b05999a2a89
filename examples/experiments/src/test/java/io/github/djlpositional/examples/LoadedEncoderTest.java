package io.github.djlpositional.examples;

import static io.github.djlpositional.examples.SmallEncoder.changed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.DeferredTranslatorFactory;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which files are loaded as a saved encoder, what is reported for others, and what the encoder answers. */
class LoadedEncoderTest {

    private static final String SENTENCE = "a person who writes books";
    private static final String SETTINGS = "serving.properties";
    private static final String PARAMETERS = "encoder-0000.params";
    private static final String VOCABULARY = "vocabulary.txt";

    /** Rounding, since sums of different lengths are added in a different order. */
    private static final double ROUNDING = 1e-4;

    @TempDir
    private Path folder;

    private Path file;
    private Path saved;

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("encoder.zip");
        saved = folder.resolve("saved.zip");
        SmallEncoder.saveTo(saved, "PyTorch");
    }

    private static ZooModel<String, Judgement> load(Path from) {
        return EncoderFile.load(from, Engine.getEngine("PyTorch"), Device.cpu());
    }

    private void assertRejected(String reason) {
        assertThatThrownBy(() -> load(file))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("model file '" + file + "' cannot be read (")
                .hasMessageContaining(reason);
    }

    /** Flips one bit at many places within the entries, or cuts the file or its parameters off. */
    @Test
    void damagedFileIsRejected() throws IOException {
        byte[] whole = Files.readAllBytes(saved);
        for (int length : new int[] {0, 100, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertRejected("");
            changed(saved, file, PARAMETERS, content -> Arrays.copyOf(content, length / 2));
            assertRejected("");
        }
        // the parameters are last, and the central directory takes the last few hundred bytes
        for (int at = 40; at < whole.length - 400; at += whole.length / 20) {
            byte[] damaged = whole.clone();
            damaged[at] ^= 4;
            Files.write(file, damaged);
            assertThatThrownBy(() -> EncoderFile.check(file))
                    .as("byte %d of %d", at, whole.length)
                    .isInstanceOf(UserError.class);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {SETTINGS, VOCABULARY, PARAMETERS})
    void missingEntryAndVocabularyOfAnotherSizeAreNamed(String entry) throws IOException {
        changed(saved, file, entry, content -> null);
        assertRejected(entry);
        changed(saved, file, VOCABULARY, content -> Arrays.copyOf(content, content.length / 2));
        assertRejected("vocabulary.txt has ");
    }

    @ParameterizedTest
    @CsvSource({
        "layers\":3, layers\":0, layers 0: expected 1 to 1000",
        "layers\":3, layers\":\"three\", three",
        "layers\":3, layers\":1000, ''",
        "heads\":4, heads\":2000000000, heads 2000000000: expected 1 to 1000",
        "SINUSOIDAL, java.lang.Runtime, encoding is missing",
        "spec=, other=, spec is missing"
    })
    void invalidSettingIsNamed(String setting, String replacement, String message) throws IOException {
        changed(
                saved,
                file,
                SETTINGS,
                content -> new String(content, StandardCharsets.UTF_8)
                        .replace(setting, replacement)
                        .getBytes(StandardCharsets.UTF_8));
        assertRejected(message);
    }

    @Test
    void missingDeviceIsNotReportedAsADamagedFile() {
        assertThatThrownBy(() -> EncoderFile.load(saved, Engine.getEngine("PyTorch"), Device.gpu(77)))
                .isInstanceOf(EngineException.class);
    }

    @Test
    void isLoadedByDjl() throws Exception {
        System.setProperty("DJL_CACHE_DIR", folder.resolve("cache").toString());
        Files.copy(saved, file);
        // tag::load[]
        Criteria<String, Judgement> criteria = Criteria.builder()
                .setTypes(String.class, Judgement.class)
                .optModelPath(file) // the zip that train-encoder saved
                .optTranslatorFactory(new DeferredTranslatorFactory()) // the one that serving.properties names
                .build();
        try (ZooModel<String, Judgement> model = criteria.loadModel();
                Predictor<String, Judgement> predictor = model.newPredictor()) {
            double inOrder = predictor.predict("a person who writes books").inOrder();
            // end::load[]
            try (ZooModel<String, Judgement> same = load(file);
                    Predictor<String, Judgement> other = same.newPredictor()) {
                assertThat(inOrder).isCloseTo(other.predict(SENTENCE).inOrder(), within(ROUNDING));
            }
            // tag::load[]
        }
        // end::load[]
        System.clearProperty("DJL_CACHE_DIR");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void batchesAndEightThreadsGiveTheAnswersOfSingleSentences(String engine) throws Exception {
        List<String> sentences = Glosses.read(16).stream()
                .limit(64)
                .map(words -> String.join(" ", words))
                .toList();
        SmallEncoder.saveTo(file, engine);
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, Engine.getEngine(engine), Device.cpu())) {
            ThreadLocal<Predictor<String, Judgement>> predictors = ThreadLocal.withInitial(model::newPredictor);
            ExecutorService pool = Executors.newFixedThreadPool(8);
            List<Future<Judgement>> answers = new ArrayList<>();
            for (String sentence : sentences) {
                answers.add(pool.submit(() -> predictors.get().predict(sentence)));
            }
            try (Predictor<String, Judgement> predictor = model.newPredictor()) {
                List<Judgement> together = predictor.batchPredict(sentences);
                for (int i = 0; i < answers.size(); i++) {
                    double inOrder = predictor.predict(sentences.get(i)).inOrder();
                    assertThat(List.of(together.get(i), answers.get(i).get()))
                            .as(sentences.get(i))
                            .allSatisfy(each -> assertThat(each.inOrder()).isCloseTo(inOrder, within(ROUNDING)));
                }
            }
            pool.shutdown();
        }
    }
}
