package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import java.util.EnumMap;
import java.util.Map;

/** An initialized model of every block, with an input and its output. */
final class SoakModels implements AutoCloseable {

    private final Engine engine;
    private final Map<TestBlocks, Model> models = new EnumMap<>(TestBlocks.class);
    private final Map<TestBlocks, NDArray> inputs = new EnumMap<>(TestBlocks.class);
    private final Map<TestBlocks, float[]> answers = new EnumMap<>(TestBlocks.class);

    SoakModels(Engine engine) {
        this.engine = engine;
        for (TestBlocks kind : TestBlocks.values()) {
            Model model = newModel(kind);
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, kind.input());
            // or each save would write a new file
            model.setProperty("Epoch", "0");
            models.put(kind, model);
            inputs.put(kind, kind.numbers(model.getNDManager()));
            answers.put(kind, answerOf(model, kind));
        }
    }

    /** Creates a model without parameters. */
    Model newModel(TestBlocks kind) {
        Model model = Model.newInstance("soak", Device.cpu(), engine.getEngineName());
        model.setBlock(kind.block());
        return model;
    }

    Model model(TestBlocks kind) {
        return models.get(kind);
    }

    NDArray input(TestBlocks kind) {
        return inputs.get(kind);
    }

    /** The first answer of the model. */
    float[] answer(TestBlocks kind) {
        return answers.get(kind);
    }

    /** The present answer of a model. */
    float[] answerOf(Model model, TestBlocks kind) {
        return values(model, Forward.infer(model.getNDManager(), model.getBlock(), input(kind)));
    }

    /**
     * Reads and closes an answer, and the copy that PyTorch's engine attaches to its manager if it is not contiguous.
     */
    float[] values(Model model, NDArray answer) {
        try (NDManager own = model.getNDManager().newSubManager()) {
            answer.attach(own);
            return answer.toFloatArray();
        }
    }

    int openArrays() {
        return models.values().stream()
                .mapToInt(model -> model.getNDManager().getManagedArrays().size())
                .sum();
    }

    @Override
    public void close() {
        models.values().forEach(Model::close);
    }
}
