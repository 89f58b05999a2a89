package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A program that alternately saves two models to the same file until it is killed. */
final class SavingForever {

    /** Printed after the first model is saved. */
    static final String READY = "saved";

    private static final Vocabulary WORDS = Vocabulary.of(List.of("a", "person", "who", "writes", "books"));

    private SavingForever() {}

    /** Saves a model whose parameters depend only on its width. */
    static void save(Path file, int width) throws IOException {
        Engine engine = Engine.getEngine("PyTorch");
        engine.setRandomSeed(1);
        // two reserved ids
        EncoderSpec spec = new EncoderSpec(Encoding.SINUSOIDAL, 7, 8, width, 1, 2, width, 0);
        try (Model model = EncoderFile.newModel(engine, Device.cpu())) {
            model.setBlock(new TransformerEncoder(spec, false));
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 8));
            EncoderFile.save(file, model, spec, WORDS, new TrainingLog(List.of()));
        }
    }

    public static void main(String[] args) throws IOException {
        Path file = Path.of(args[0]);
        save(file, 8);
        System.out.println(READY);
        System.out.flush();
        while (true) {
            save(file, 16);
            save(file, 8);
        }
    }
}
