package io.github.djlpositional.examples.encoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.encoder.EncoderExample.SentenceTranslator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answers of a saved model in a web service, and from many threads. */
class JudgeControllerTest {

    private static final List<String> SENTENCES = List.of(
            "a person who writes books",
            "books who a writes person",
            "the act of moving from one place to another",
            "a small domesticated animal that is kept as a pet");

    /** Rounding, since sums of different lengths are added in a different order. */
    private static final double ROUNDING = 1e-4;

    @TempDir
    private static Path folder;

    @BeforeAll
    static void train() throws Exception {
        System.setProperty("sentences", "640");
        EncoderExample.main(new String[] {folder.toString()});
    }

    private static double inOrder(Classifications answer) {
        return answer.get("in order").getProbability();
    }

    @Test
    void batchesAndEightThreadsGiveTheAnswersOfTheWebService() throws Exception {
        List<String> sentences = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            sentences.addAll(SENTENCES);
        }
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder)
                .optModelName("encoder")
                .optTranslator(new SentenceTranslator())
                .build();
        try (JudgeController service = new JudgeController(folder);
                ZooModel<String, Classifications> model = criteria.loadModel()) {
            // tag::pool[]
            ThreadLocal<Predictor<String, Classifications>> predictors = ThreadLocal.withInitial(model::newPredictor);
            ExecutorService pool = Executors.newFixedThreadPool(8);
            List<Future<Classifications>> answers = new ArrayList<>();
            for (String sentence : sentences) {
                answers.add(pool.submit(() -> predictors.get().predict(sentence)));
            }
            // end::pool[]
            try (Predictor<String, Classifications> predictor = model.newPredictor()) {
                List<Classifications> together = predictor.batchPredict(sentences);
                for (int i = 0; i < answers.size(); i++) {
                    double expected = service.judge(sentences.get(i));
                    assertThat(inOrder(answers.get(i).get())).isCloseTo(expected, within(ROUNDING));
                    assertThat(inOrder(together.get(i))).isCloseTo(expected, within(ROUNDING));
                }
            }
            pool.shutdown();
        }
    }
}
