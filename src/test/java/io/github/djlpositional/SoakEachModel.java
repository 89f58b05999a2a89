package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDList;
import ai.djl.translate.NoopTranslator;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Repeats an action with a model of every block in turn. */
final class SoakEachModel implements SoakTest.Activity {

    /** An action with one of the models. */
    @FunctionalInterface
    private interface Turn {
        void of(SoakModels models, TestBlocks kind) throws Exception;
    }

    private static final List<TestBlocks> KINDS = List.of(TestBlocks.values());

    private final SoakModels models;
    private final String what;
    private final Turn turn;
    private final AtomicInteger turns = new AtomicInteger();

    private SoakEachModel(Engine engine, String what, Turn turn) {
        models = new SoakModels(engine);
        this.what = what;
        this.turn = turn;
    }

    /** A model is saved and loaded into a new one, which answers as the saved one does. */
    static SoakTest.Activity saving(Engine engine, Path folder) {
        return new SoakEachModel(engine, "save/load cycles", (models, kind) -> {
            Path place = folder.resolve(kind.name());
            models.model(kind).save(place, "soak");
            try (Model loaded = models.newModel(kind)) {
                loaded.load(place, "soak");
                assertThat(models.answerOf(loaded, kind)).as("%s", kind).isEqualTo(models.answer(kind));
            }
        });
    }

    /** A predictor is opened, used, and closed. */
    static SoakTest.Activity predicting(Engine engine) {
        return new SoakEachModel(engine, "predictors", (models, kind) -> {
            Model model = models.model(kind);
            try (Predictor<NDList, NDList> predictor = model.newPredictor(new NoopTranslator())) {
                NDList answer = predictor.predict(new NDList(models.input(kind)));
                assertThat(models.values(model, answer.singletonOrThrow()))
                        .as("%s", kind)
                        .isEqualTo(models.answer(kind));
            }
        });
    }

    @Override
    public int threads() {
        return 1;
    }

    @Override
    public boolean step(int thread, boolean isTimeUp) throws Exception {
        turn.of(models, KINDS.get(turns.get() % KINDS.size()));
        turns.incrementAndGet();
        return !isTimeUp;
    }

    @Override
    public String done() {
        return String.format(Locale.ROOT, "%,d %s", turns.get(), what);
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
