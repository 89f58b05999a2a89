package io.github.djlpositional.examples.encoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Scanner;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EncoderExampleTest {

    private static final List<String> SHORT = List.of("-Dsentences=640");

    @TempDir
    private Path temporary;

    private Path folder() {
        return temporary.resolve("a model");
    }

    private String train(String engine, List<String> options) throws Exception {
        return Run.of(engine, options, EncoderExample.class, folder().toString())
                .success();
    }

    private ZooModel<String, Classifications> load(String engine) throws Exception {
        return Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optEngine(engine)
                .optModelPath(folder())
                .optModelName("encoder")
                .optTranslator(new EncoderExample.SentenceTranslator())
                .build()
                .loadModel();
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder())) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void trainsAndSavesAModelThatAnotherProgramLoads(String engine) throws Exception {
        String out = train(engine, SHORT);
        assertThat(out)
                .contains("Training with " + engine + " on ")
                // a bag of words: exactly one of each pair is right
                .containsPattern("without positions: held-out accuracy 0[.,]5000, ")
                .containsPattern("with positions: held-out accuracy 0[.,][3-7]\\d{3}")
                // 80 sentences in two orders
                .containsPattern("chance 0\\.5000 ± 0[.,]0395");
        assertThat(files()).containsExactly("accuracy.png", "block.json", "encoder-0000.params", "serving.properties");
        assertThat(ImageIO.read(folder().resolve("accuracy.png").toFile()).getWidth())
                .isPositive();
        List<MatchResult> judged = Pattern.compile("\\{\"className\": \"([^\"]+)\".*} {2}(.*)")
                .matcher(out)
                .results()
                .toList();
        assertThat(judged).hasSize(3);
        try (ZooModel<String, Classifications> model = load(engine);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            for (MatchResult sentence : judged) {
                assertThat(predictor.predict(sentence.group(2)).best().getClassName())
                        .isEqualTo(sentence.group(1));
            }
            assertThatThrownBy(() -> predictor.predict("a ".repeat(17)))
                    .isInstanceOf(TranslateException.class)
                    .hasRootCauseInstanceOf(IllegalArgumentException.class)
                    .rootCause()
                    .hasMessageContaining("17")
                    .hasMessageContaining("16");
            assertThatThrownBy(() -> predictor.predict("…")).rootCause().hasMessageContaining("0 words");
        }
    }

    @Test
    @Tag("slow")
    void learnsWordOrder() throws Exception {
        String out = train("PyTorch", List.of());
        assertThat(out)
                .containsPattern("without positions: held-out accuracy 0[.,]5000, ")
                .containsPattern("with positions: held-out accuracy 0[.,][89]\\d{3}");
    }

    @Test
    void keepsTheOldModelUntilTheNewOneIsComplete() throws Exception {
        train("PyTorch", SHORT);
        Path file = folder().resolve("encoder-0000.params");
        byte[] before = Files.readAllBytes(file);
        Process process = Run.prepare("PyTorch", List.of(), EncoderExample.class, folder().toString())
                .redirectErrorStream(true)
                .start();
        try (Scanner out = new Scanner(process.getInputStream(), StandardCharsets.UTF_8)) {
            assertThat(out.findWithinHorizon("Training:", 0)).isNotNull();
            process.destroyForcibly().waitFor();
        }
        assertThat(file).hasBinaryContent(before);
        load("PyTorch").close();
        train("PyTorch", SHORT);
        assertThat(files())
                .as("what the killed run left is removed")
                .containsExactly("accuracy.png", "block.json", "encoder-0000.params", "serving.properties");
    }

    @Test
    void namesAFolderThatCannotBeWritten() throws Exception {
        Path file = Files.createFile(temporary.resolve("a file"));
        assertThat(Run.of("PyTorch", SHORT, EncoderExample.class, file.toString())
                        .error())
                .contains(file.toString(), "argument");
    }
}
