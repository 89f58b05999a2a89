package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDList;
import ai.djl.translate.NoopTranslator;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** A predictor is opened, asked, and closed; of every block in turn. */
final class SoakPredicting implements SoakActivity {

    private final SoakModels models;
    private final AtomicInteger predictors = new AtomicInteger();

    SoakPredicting(Engine engine) {
        models = new SoakModels(engine);
    }

    @Override
    public int threads() {
        return 1;
    }

    @Override
    public boolean step(int thread, boolean isTimeUp) throws Exception {
        TestBlocks kind = SoakModels.inTurn(predictors.get());
        Model model = models.model(kind);
        try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
            NDList answer = predictor.predict(new NDList(models.input(kind)));
            assertThat(models.values(model, answer.singletonOrThrow()))
                    .as("%s", kind)
                    .isEqualTo(models.answer(kind));
        }
        predictors.incrementAndGet();
        return !isTimeUp;
    }

    @Override
    public String done() {
        return String.format(Locale.ROOT, "%,d predictors", predictors.get());
    }

    @Override
    public int openArrays() {
        return models.openArrays();
    }

    @Override
    public void close() {
        models.close();
    }
}
