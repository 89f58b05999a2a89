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
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which folders are loaded, and from which of their files. */
class EncoderFolderTest {

    private static final List<String> SENTENCES = List.of("a person who writes books", "books who a writes person");

    @TempDir
    private static Path saved;

    @TempDir
    private static Path other;

    @TempDir
    private Path parent;

    private Path folder;

    @BeforeAll
    static void trainTwo() {
        SmallEncoder.saveTo(saved, "PyTorch", "--vocabulary", "500");
        SmallEncoder.saveTo(other, "PyTorch", "--vocabulary", "500", "--seed", "2");
    }

    @BeforeEach
    void copy() throws IOException {
        folder = parent.resolve("model");
        SmallEncoder.copy(saved, folder);
    }

    private static List<Double> judged(Path from) {
        try (SavedEncoder encoder = SavedEncoder.load(from, Engine.getEngine("PyTorch"), Device.cpu())) {
            return encoder.judge(SENTENCES);
        }
    }

    private static List<Double> served(Path from) throws Exception {
        try (ZooModel<String, Classifications> model =
                        EncoderLoader.load(from, Engine.getEngine("PyTorch"), Device.cpu(), Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            return predictor.batchPredict(SENTENCES).stream()
                    .map(each -> each.get("in order").getProbability())
                    .toList();
        }
    }

    /** With DJL alone, which does what {@code serving.properties} says. */
    private static Classifications judgedByName(Path from) throws Exception {
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(from)
                .optTranslatorFactory(new DeferredTranslatorFactory())
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            return predictor.predict(SENTENCES.get(0));
        }
    }

    private void append(String file, String lines) throws IOException {
        Files.writeString(folder.resolve(file), lines, StandardOpenOption.APPEND);
    }

    private void replaceSize(String entry, String by) throws IOException {
        Path sizes = folder.resolve("encoder.properties");
        String text = Files.readString(sizes);
        assertThat(text).contains(entry + "\n");
        Files.writeString(sizes, text.replace(entry + "\n", by + "\n"));
    }

    /** As it was saved before there were checksums. */
    private void removeChecksums() throws IOException {
        Path sizes = folder.resolve("encoder.properties");
        List<String> lines = Files.readAllLines(sizes);
        List<String> left =
                lines.stream().filter(line -> !line.contains("Sha256")).toList();
        assertThat(left).hasSize(lines.size() - 3);
        Files.write(sizes, left);
    }

    private void assertRefused(String... reasons) {
        assertThatThrownBy(() -> judged(folder))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("model folder '" + folder + "' cannot be read (")
                .hasMessageEndingWith("): train the model again, or name another folder with --model")
                .hasMessageContainingAll(reasons);
    }

    @Test
    void parametersOfAnotherEpochAreNotTaken() throws Exception {
        Files.copy(other.resolve("encoder-0000.params"), folder.resolve("encoder-0001.params"));
        append("serving.properties", "option.epoch=1\n");
        assertThat(judged(folder)).isEqualTo(judged(saved)).isNotEqualTo(judged(other));
        assertThat(served(folder)).isEqualTo(served(saved));
    }

    @Test
    void optionsOfServingPropertiesAreNotTaken() throws Exception {
        append("serving.properties", "option.epoch=7\noption.hasParameter=false\n");
        assertThat(judged(folder)).isEqualTo(judged(saved));
        assertThat(served(folder)).isEqualTo(served(saved));
    }

    @Test
    void otherParametersAreRefusedWhereDjlWouldTakeThem() throws Exception {
        Files.copy(other.resolve("encoder-0000.params"), folder.resolve("encoder-0001.params"));
        assertThatThrownBy(() -> judgedByName(folder))
                .hasStackTraceContaining("encoder-0001.params is there too, which DJL could take instead of"
                        + " encoder-0000.params: remove it");
    }

    @Test
    void encoderWithoutParametersDoesNotAnswer() throws Exception {
        append("serving.properties", "option.hasParameter=false\n");
        assertThatThrownBy(() -> judgedByName(folder))
                .isInstanceOf(TranslateException.class)
                .hasRootCauseInstanceOf(UninitializedParameterException.class);
    }

    @Test
    void parametersOfAnotherModelAreRefused() throws Exception {
        Files.copy(
                other.resolve("encoder-0000.params"),
                folder.resolve("encoder-0000.params"),
                StandardCopyOption.REPLACE_EXISTING);
        assertRefused("encoder-0000.params is damaged or of another model: its SHA-256 is ");
    }

    @Test
    void vocabularyOfAnotherModelIsRefused() throws Exception {
        Path words = folder.resolve("vocabulary.txt");
        List<String> before = Files.readAllLines(words);
        Files.copy(other.resolve("vocabulary.txt"), words, StandardCopyOption.REPLACE_EXISTING);
        assertThat(Files.readAllLines(words)).hasSameSizeAs(before).isNotEqualTo(before);
        assertRefused("vocabulary.txt is damaged or of another model: its SHA-256 is ");
    }

    @Test
    void sizesOfAnotherModelAreRefused() throws Exception {
        // fits the parameters
        replaceSize("heads=4", "heads=2");
        assertRefused("encoder.properties is damaged or of another model: its SHA-256 is ");
    }

    @Test
    void folderWithoutChecksumsLoads() throws Exception {
        removeChecksums();
        assertThat(judged(folder)).isEqualTo(judged(saved));
        assertThat(judgedByName(folder).getProbabilities())
                .isEqualTo(judgedByName(saved).getProbabilities());
    }

    @ParameterizedTest
    @ValueSource(strings = {"vocabulary.txt", "encoder.properties"})
    void fileThatIsNoTextIsNamed(String file) throws Exception {
        removeChecksums();
        Files.write(folder.resolve(file), "café\n".getBytes(StandardCharsets.ISO_8859_1), StandardOpenOption.APPEND);
        assertRefused(file + " is no text in UTF-8: ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-3", "300000"})
    void numbersOfLayersThatNobodyTrainsAreRefused(String layers) throws Exception {
        removeChecksums();
        replaceSize("layers=3", "layers=" + layers);
        assertRefused("argument 'layers' of encoder.properties is the String " + layers
                + ": allowed is a whole number from 1 to 1000; correct it");
    }

    @ParameterizedTest
    @ValueSource(strings = {"5", "1", "-0.1", "NaN"})
    void ratesThatNobodyTrainsWithAreRefused(String rate) throws Exception {
        removeChecksums();
        replaceSize("dropoutRate=0.0", "dropoutRate=" + rate);
        assertRefused("argument 'dropoutRate' of encoder.properties is the String " + rate
                + ": allowed is a number from 0 to below 1; correct it");
    }

    @Test
    void sizesWithoutAnEncodingAreRefused() throws Exception {
        removeChecksums();
        replaceSize("encoding=SINUSOIDAL", "");
        assertRefused("argument 'encoding' of encoder.properties is missing: allowed is ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"layers=3 layers=1000", "embeddingSize=64 embeddingSize=100000"})
    void sizesBeyondTheParametersAreRefusedBeforeAnythingIsBuilt(String change) throws Exception {
        removeChecksums();
        String[] entries = change.split(" ", -1);
        replaceSize(entries[0], entries[1]);
        assertRefused("encoder-0000.params is cut off or of another model: it has ", " bytes, the sizes in");
    }

    @Test
    void folderWithACommaInItsNameIsTheOneThatLoads() throws Exception {
        Path comma = parent.resolve("model,b");
        SmallEncoder.copy(other, comma);
        assertThat(served(comma)).isEqualTo(served(other)).isNotEqualTo(served(folder));
    }

    @Test
    void folderInAFolderLoads() throws Exception {
        assertThat(served(parent)).isEqualTo(served(saved));
        assertThat(judged(parent)).isEqualTo(judged(saved));
    }

    @Test
    void intactFilesAreTheThreeThatLoadingReads() throws Exception {
        append("training.csv", "not read\n");
        assertThat(EncoderLoader.intactFiles(folder))
                .extracting(file -> file.getFileName().toString())
                .containsExactlyInAnyOrder("encoder.properties", "encoder-0000.params", "vocabulary.txt");
    }

    @Test
    void filesThatAreNotIntactAreRefusedWithoutAnEngine() throws Exception {
        append("vocabulary.txt", "more\n");
        assertThatThrownBy(() -> EncoderLoader.intactFiles(folder))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("vocabulary.txt is damaged or of another model: its SHA-256 is ");
    }
}
