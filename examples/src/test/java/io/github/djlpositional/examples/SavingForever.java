package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A program that saves one of two models after the other to a folder until it is killed. */
final class SavingForever {

    /** Said once the folder holds a model. */
    static final String READY = "saved";

    private static final Vocabulary WORDS = Vocabulary.of(List.of("a", "person", "who", "writes", "books"));

    private SavingForever() {}

    /** Saves a model whose parameters depend on its width alone. */
    static void save(Path folder, int width) throws IOException {
        Engine engine = Engine.getEngine("PyTorch");
        engine.setRandomSeed(1);
        // two reserved ids
        EncoderSpec spec = new EncoderSpec(Encoding.SINUSOIDAL, 7, 8, width, 1, 2, width, 0);
        try (Model model = EncoderFolder.newModel(engine, Device.cpu())) {
            model.setBlock(new TransformerEncoder(spec));
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 8));
            EncoderFolder.save(folder, model, spec, WORDS, TrainingLog.empty());
        }
    }

    public static void main(String[] args) throws IOException {
        Path folder = Path.of(args[0]);
        save(folder, 8);
        System.out.println(READY);
        System.out.flush();
        while (true) {
            save(folder, 16);
            save(folder, 8);
        }
    }
}
