package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answers of a loaded encoder. */
class LoadedEncoderTest {

    @TempDir
    private Path folder;

    private Path file;

    @BeforeEach
    void nameFile() {
        file = folder.resolve("encoder.zip");
    }

    /** How far a probability may be from that of the sentence in another batch. */
    private static double ofRounding(Model model) {
        return Judgement.Difference.ofRounding(((TransformerEncoder) model.getBlock()).spec())
                .inOrder();
    }

    private <O> ZooModel<String, O> load(String engine, Class<O> answers) {
        SmallEncoder.saveTo(file, engine);
        return EncoderFile.load(file, Engine.getEngine(engine), Device.cpu(), answers);
    }

    @EngineTest
    void sentencesOfAllLengthsHaveTheSameAnswersInABatchAndWithoutOthers(String engine) throws Exception {
        List<String> sentences = Glosses.mixed(64, 16, 5);
        try (ZooModel<String, Classifications> model = load(engine, Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            List<Double> single = new ArrayList<>();
            for (String sentence : sentences) {
                single.add(predictor.predict(sentence).get("in order").getProbability());
            }
            List<Classifications> together = predictor.batchPredict(sentences);
            for (int i = 0; i < sentences.size(); i++) {
                assertThat(together.get(i).get("in order").getProbability())
                        .as(sentences.get(i))
                        .isCloseTo(single.get(i), within(ofRounding(model)));
            }
            assertThat(single).doesNotHaveDuplicates();
        }
    }

    @EngineTest
    void batchIsPaddedToItsLongestSentence(String engine) throws Exception {
        try (ZooModel<String, Classifications> model = load(engine, Classifications.class);
                NDManager manager = model.getNDManager().newSubManager();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            Predictor.PredictorContext context = new Predictor.PredictorContext(model, manager, null);
            NDList batch = model.getTranslator()
                    .batchProcessInput(context, List.of("books", "a person who writes books", "a b"));
            assertThat(batch.singletonOrThrow().getShape()).isEqualTo(new Shape(3, 5));
            assertThat(predictor.batchPredict(List.of("books", "a b"))).hasSize(2);
        }
    }

    @EngineTest
    void judgementHasTheProbabilityAndTheEmbedding(String engine) throws Exception {
        String sentence = "a person who writes books";
        Judgement judgement;
        Judgement other;
        double tolerance;
        try (ZooModel<String, Judgement> model = load(engine, Judgement.class);
                Predictor<String, Judgement> predictor = model.newPredictor()) {
            List<Judgement> both = predictor.batchPredict(List.of(sentence, "books who a writes person"));
            judgement = both.get(0);
            other = both.get(1);
            tolerance = ofRounding(model);
        }
        try (ZooModel<String, Classifications> model =
                        EncoderFile.load(file, Engine.getEngine(engine), Device.cpu(), Classifications.class);
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            assertThat(judgement.inOrder())
                    .isCloseTo(
                            JudgeSentences.inOrder(predictor, List.of(sentence)).get(0), within(tolerance));
        }
        assertThat(judgement.embedding()).hasSize(64).isNotEqualTo(other.embedding());
        // each token's vector leaves the last layer normalized: its mean over the dimensions is 0, and so is that of
        // their mean
        assertThat(judgement.embedding().stream()
                        .mapToDouble(Float::doubleValue)
                        .average()
                        .orElseThrow())
                .isCloseTo(0, within(0.05));
    }

    @Test
    void modelForClassificationsRejectsJudgements() throws Exception {
        try (ZooModel<String, Classifications> model = load("PyTorch", Classifications.class)) {
            assertThatThrownBy(() -> new EncoderFactory().newInstance(String.class, Judgement.class, model, Map.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("embedding null for String to Judgement");
        }
    }

    @Test
    void otherTypesOfAnswersAreRejected() {
        Engines.assumeAvailable("PyTorch");
        assertThatThrownBy(() -> EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu(), Integer.class))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("java.lang.String to java.lang.Integer: expected");
    }

    @Test
    void missingDeviceIsNotReportedAsADamagedFile() {
        SmallEncoder.saveTo(file, "PyTorch");
        assertThatThrownBy(() ->
                        EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.gpu(77), Classifications.class))
                .isInstanceOf(EngineException.class);
    }

    @EngineTest
    void eightThreadsGiveTheAnswersOfOne(String engine) throws Exception {
        List<String> sentences = Glosses.mixed(200, 16, 1);
        try (ZooModel<String, Classifications> model = load(engine, Classifications.class)) {
            List<Double> expected;
            try (Predictor<String, Classifications> predictor = model.newPredictor()) {
                expected = JudgeSentences.inOrder(predictor, sentences);
            }
            // tag::pool[]
            ThreadLocal<Predictor<String, Classifications>> predictors = ThreadLocal.withInitial(model::newPredictor);
            ExecutorService pool = Executors.newFixedThreadPool(8);
            List<Future<Classifications>> answers = new ArrayList<>();
            for (String sentence : sentences) {
                answers.add(pool.submit(() -> predictors.get().predict(sentence)));
            }
            // end::pool[]
            double tolerance = ofRounding(model);
            for (int i = 0; i < answers.size(); i++) {
                double inOrder = answers.get(i).get().get("in order").getProbability();
                assertThat(inOrder).isCloseTo(expected.get(i), within(tolerance));
            }
            pool.shutdown();
        }
    }
}
