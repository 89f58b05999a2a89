package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.engine.Engine;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** A model is saved and loaded into a new one, which answers as the saved one does; of every block in turn. */
final class SoakSaving implements SoakActivity {

    private final SoakModels models;
    private final Path folder;
    private final AtomicInteger cycles = new AtomicInteger();

    SoakSaving(Engine engine, Path folder) {
        models = new SoakModels(engine);
        this.folder = folder;
    }

    @Override
    public int threads() {
        return 1;
    }

    @Override
    public boolean step(int thread, boolean isTimeUp) throws Exception {
        TestBlocks kind = SoakModels.inTurn(cycles.get());
        Path place = folder.resolve(kind.name());
        models.model(kind).save(place, "soak");
        try (Model loaded = models.newModel(kind)) {
            loaded.load(place, "soak");
            assertThat(models.answerOf(loaded, kind)).as("%s", kind).isEqualTo(models.answer(kind));
        }
        cycles.incrementAndGet();
        return !isTimeUp;
    }

    @Override
    public String done() {
        return String.format(Locale.ROOT, "%,d save/load cycles", cycles.get());
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
