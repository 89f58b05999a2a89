package io.github.djlpositional.examples;

import static io.github.djlpositional.examples.SmallEncoder.changed;
import static io.github.djlpositional.examples.SmallEncoder.replacing;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.ZooModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which files are loaded as a saved encoder, and what is reported for others. */
class EncoderFileTest {

    private static final List<String> SENTENCES = List.of("a person who writes books", "books who a writes person");
    private static final String SETTINGS = "serving.properties";
    private static final String PARAMETERS = "encoder-0000.params";
    private static final String VOCABULARY = "vocabulary.txt";

    @TempDir
    private static Path created;

    @TempDir
    private Path folder;

    private static Path saved;
    private Path file;

    @BeforeAll
    static void train() {
        saved = created.resolve("saved.zip");
        SmallEncoder.saveTo(saved, "PyTorch", "--vocabulary", "500");
    }

    @BeforeEach
    void nameFile() {
        file = folder.resolve("encoder.zip");
    }

    private static List<Double> judged(Path from) {
        try (ZooModel<String, Classifications> model =
                        EncoderFile.load(from, Engine.getEngine("PyTorch"), Device.cpu(), Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            return JudgeSentences.inOrder(predictor, SENTENCES);
        }
    }

    private static void assertMessage(Throwable e, String... reasons) {
        for (String reason : reasons) {
            assertThat(e).hasMessageContaining(reason);
        }
    }

    private void assertRefused(String... reasons) {
        assertThatThrownBy(() -> judged(file))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("model file '" + file + "' cannot be read (")
                .hasMessageContaining("train the model again, or name another file with --model")
                .satisfies(e -> assertMessage(e, reasons));
    }

    private void assertRefusedWithoutAnEngineToo(String... reasons) {
        assertRefused(reasons);
        assertThatThrownBy(() -> EncoderFile.requireIntact(file))
                .isInstanceOf(UserError.class)
                .satisfies(e -> assertMessage(e, reasons));
    }

    @Test
    void intactFileIsAccepted() {
        EncoderFile.requireIntact(saved);
        assertThat(EncoderFile.readLog(saved).lines()).hasSize(10);
    }

    /** Flips one bit at many places within the entries. */
    @Test
    void everyDamagedFileIsRefused() throws IOException {
        byte[] whole = Files.readAllBytes(saved);
        // the parameters are last, and the central directory takes the last few hundred bytes
        for (int at = 40; at < whole.length - 400; at += whole.length / 20) {
            byte[] damaged = whole.clone();
            damaged[at] ^= 4;
            Files.write(file, damaged);
            assertThatThrownBy(() -> EncoderFile.requireIntact(file))
                    .as("byte %d of %d", at, whole.length)
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining(file.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 0.001, 0.5, 0.999})
    void fileThatIsCutOffIsRefused(double fraction) throws IOException {
        byte[] whole = Files.readAllBytes(saved);
        Files.write(file, Arrays.copyOf(whole, (int) (fraction * whole.length)));
        assertRefusedWithoutAnEngineToo();
    }

    @Test
    void fileThatIsNotAZipIsRefused() throws IOException {
        Files.writeString(file, "PK, but not a zip");
        assertRefusedWithoutAnEngineToo("it has no entry serving.properties");
    }

    @ParameterizedTest
    @ValueSource(strings = {SETTINGS, VOCABULARY})
    void missingEntryIsNamed(String entry) throws IOException {
        changed(saved, file, entry, content -> null);
        assertRefusedWithoutAnEngineToo(entry);
    }

    @Test
    void missingParametersAreNamed() throws IOException {
        changed(saved, file, PARAMETERS, content -> null);
        assertRefused(PARAMETERS);
    }

    @ParameterizedTest
    @CsvSource({
        "layers=3, layers=0, layers 0: expected 1 to 1000",
        "layers=3, layers=-3, layers -3: expected 1 to 1000",
        "layers=3, layers=300000, layers 300000: expected 1 to 1000",
        "layers=3, layers=three, is three: expected a whole number",
        "layers=3, '', layers is missing: expected a value",
        "heads=4, heads=2000000000, heads 2000000000: expected 1 to 1000",
        "dropoutRate=0.0, dropoutRate=5, dropoutRate 5.0: expected 0 or more and less than 1",
        "dropoutRate=0.0, dropoutRate=1, dropoutRate 1.0: expected 0 or more and less than 1",
        "dropoutRate=0.0, dropoutRate=-0.1, dropoutRate -0.1: expected 0 or more and less than 1",
        "dropoutRate=0.0, dropoutRate=NaN, dropoutRate NaN: expected 0 or more and less than 1",
        "encoding=SINUSOIDAL, encoding=java.lang.Runtime, is java.lang.Runtime: expected one of [NONE",
        "encoding=SINUSOIDAL, '', encoding is missing: expected a value"
    })
    void invalidSettingIsNamed(String setting, String changed, String message) throws IOException {
        changed(saved, file, SETTINGS, replacing(setting + "\n", changed + "\n"));
        assertRefusedWithoutAnEngineToo(message);
    }

    @Test
    void vocabularyOfAnotherSizeIsRefused() throws IOException {
        changed(saved, file, VOCABULARY, content -> Arrays.copyOf(content, content.length / 2));
        assertRefusedWithoutAnEngineToo("vocabulary.txt has ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"layers=3 layers=1000", "embeddingSize=64 embeddingSize=100000", "heads=4 heads=2"})
    void settingThatDoesNotFitTheParametersIsRefused(String change) throws IOException {
        String[] entries = change.split(" ", -1);
        changed(saved, file, SETTINGS, replacing(entries[0] + "\n", entries[1] + "\n"));
        assertRefused();
    }

    @ParameterizedTest
    @ValueSource(strings = {SETTINGS, VOCABULARY})
    void entryThatIsNotUtf8IsRefused(String entry) throws IOException {
        changed(saved, file, entry, content -> "café\n".repeat(498).getBytes(StandardCharsets.ISO_8859_1));
        assertRefusedWithoutAnEngineToo("MalformedInputException");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 300, 100_000})
    void parametersThatAreCutOffAreRefused(int length) throws IOException {
        changed(saved, file, PARAMETERS, content -> Arrays.copyOf(content, length));
        assertRefused();
    }

    @Test
    void classesAndOptionsInTheSettingsAreIgnored() throws IOException {
        changed(
                saved,
                file,
                SETTINGS,
                replacing(
                        EncoderFactory.class.getName(),
                        "java.lang.Runtime\noption.epoch=7\noption.hasParameter=false"));
        assertThat(judged(file)).isEqualTo(judged(saved));
    }

    @ParameterizedTest
    @ValueSource(strings = {"encoder,b.zip", "an encoder.zip", "encoder#1", "encoder"})
    void nameOfTheFileDoesNotMatter(String name) throws IOException {
        file = Files.copy(saved, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
        assertThat(judged(file)).isEqualTo(judged(saved));
    }

    @Test
    void missingFileIsReported() {
        assertThatThrownBy(() -> EncoderFile.requireIntact(file))
                .isInstanceOf(UserError.class)
                .hasMessage(
                        "model file '" + file + "' does not exist: train a model first, or name its file with --model");
    }
}
