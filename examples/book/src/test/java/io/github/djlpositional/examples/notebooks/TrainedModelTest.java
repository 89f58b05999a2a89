package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.SmallEncoder;
import io.github.djlpositional.examples.TrainingLog;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainedModelTest {

    private static final Encoding[] PAIR = {Encoding.NONE, Encoding.SINUSOIDAL};
    private static final List<String> SENTENCE = List.of("a small domesticated animal that is kept as a pet");

    @TempDir
    private static Path folder;

    private static Path model;

    @BeforeAll
    static void train() {
        model = folder.resolve("model.zip");
        SmallEncoder.saveTo(model, "PyTorch", "--encoding", "none,sinusoidal");
    }

    private static Notebook notebook(Path folder, Optional<Path> model, boolean isTraining, int glosses) {
        PrintStream unused = new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8);
        return new Notebook(unused, folder, model, isTraining, glosses);
    }

    private static Notebook shipped() {
        return notebook(folder, Optional.empty(), false, 1);
    }

    @Test
    void modelWithThesePositionsIsUsed() throws Exception {
        Notebook notebook = notebook(folder, Optional.of(model), false, 1);
        assertThat(TrainedModel.log(notebook, PAIR).lines()).hasSize(2 * 10);
        AttentionMaps maps = TrainedModel.attention(notebook, SENTENCE, PAIR).get(0);
        AttentionMaps expected = AttentionMaps.of(model, SENTENCE).get(0);
        assertThat(maps.words()).isEqualTo(expected.words());
        // written with five decimals
        assertThat(maps.weight(2, 3, 9, 0)).isCloseTo(expected.weight(2, 3, 9, 0), within(0.5e-5));
        assertThat(folder.resolve("trained")).doesNotExist();
    }

    @Test
    void shippedNumbersAreUsedForOtherPositions() throws Exception {
        Notebook notebook = notebook(folder, Optional.of(model), false, 1);
        assertThat(TrainedModel.positions(notebook)).isDeepEqualTo(TrainedModel.positions(shipped()));
    }

    @Test
    void shippedAttentionIsOfTheSentencesOfTheChapter() throws Exception {
        assertThat(TrainedModel.attention(shipped(), TrainedHeads.SENTENCES, PAIR))
                .extracting(maps -> String.join(" ", maps.words()))
                .isEqualTo(TrainedHeads.SENTENCES);
        assertThatThrownBy(() -> TrainedModel.attention(shipped(), SENTENCE, PAIR))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("--train");
    }

    /** Describes all numbers but the steps, of which a shorter training has fewer. */
    private static String shapes(Notebook notebook) throws IOException {
        List<Encoding> encodings = TrainedModel.log(notebook, PAIR).lines().stream()
                .map(TrainingLog.Line::encoding)
                .distinct()
                .toList();
        List<String> attention = TrainedModel.attention(notebook, TrainedHeads.SENTENCES, PAIR).stream()
                .map(maps -> maps.words()
                        + maps.layers().stream()
                                .map(heads -> heads.stream()
                                        .map(weights -> weights.length)
                                        .toList())
                                .toList()
                                .toString())
                .toList();
        List<Integer> positions = Arrays.stream(TrainedModel.positions(notebook))
                .map(position -> position.length)
                .toList();
        return encodings + "\n" + attention + "\n" + positions;
    }

    @Test
    void trainingWritesWhatIsShipped() throws Exception {
        Path once = folder.resolve("once");
        Notebook training = notebook(once, Optional.of(model), true, 130);
        assertThat(shapes(training)).isEqualTo(shapes(shipped())).startsWith("[none, sinusoidal]");
        Path trained = once.resolve("trained");
        assertThat(trained).isDirectoryContaining("glob:**/log.csv");
        assertThat(trained).isDirectoryContaining("glob:**/attention.csv");
        assertThat(trained).isDirectoryContaining("glob:**/positions.csv");
    }

    /** The mean accuracy of the last 90 steps of a training. */
    private static double lastAccuracy(TrainingLog log, Encoding encoding) {
        List<TrainingLog.Line> lines = log.lines().stream()
                .filter(line -> line.encoding().equals(encoding))
                .toList();
        return lines.stream()
                .skip(lines.size() - 90L)
                .mapToDouble(TrainingLog.Line::accuracy)
                .average()
                .orElseThrow();
    }

    /** Machines round differently, which training amplifies: the results are the same, not their digits. */
    @Tag("slow")
    @Test
    void trainingAgainGivesTheShippedResults() throws Exception {
        Notebook training = notebook(folder.resolve("full"), Optional.empty(), true, Notebook.GLOSSES);
        TrainingLog log = TrainedModel.log(training, PAIR);
        TrainingLog expected = TrainedModel.log(shipped(), PAIR);
        assertThat(log.lines()).hasSameSizeAs(expected.lines());
        // the first batch meets the initial weights: only rounding differs
        assertThat(log.lines().get(0).loss()).isCloseTo(expected.lines().get(0).loss(), within(1e-4));
        for (Encoding encoding : PAIR) {
            // of 90 batches of 128, with answers right by chance, the mean has a standard deviation of 0.5 / sqrt(90 *
            // 128), 0.0047; six for the difference of two
            assertThat(lastAccuracy(log, encoding)).isCloseTo(lastAccuracy(expected, encoding), within(0.028));
        }
    }
}
