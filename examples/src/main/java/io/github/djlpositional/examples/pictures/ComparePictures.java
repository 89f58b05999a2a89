package io.github.djlpositional.examples.pictures;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.Comparison;
import io.github.djlpositional.examples.EncoderTraining;
import io.github.djlpositional.examples.EngineCommand;
import io.github.djlpositional.examples.Evaluation;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Are the rows and columns of this picture in their original order, or are they shuffled?
 *
 * <p>Trains a small vision transformer with each kind of positional encoding on handwritten digits of 8 x 8 pixels, and
 * measures it on others: of the same size, and enlarged.
 */
@Command(
        name = "compare-pictures",
        description = "Train a small vision transformer with each kind of positional encoding of two dimensions to"
                + " distinguish handwritten digits from ones with shuffled rows and columns, measure it on others that"
                + " are as large and larger, and print, save and draw the table.")
public final class ComparePictures extends EngineCommand {

    private static final int[] SIDES = {Picture.STORED_SIDE, 12, 16};
    private static final int HELD_OUT = 397;
    private static final float LEARNING_RATE = 0.002f;

    @Option(names = "--encoding", split = ",", description = "One or more kinds, separated by commas.")
    private List<PictureEncoding> encodings = List.of(PictureEncoding.values());

    @Option(names = "--digits", description = "The number of digits to learn from.")
    private int digits = 100;

    @Option(names = "--epochs", description = "The number of passes over these digits.")
    private int epochs = 20;

    @Option(
            names = "--seeds",
            description = "The number of trainings of each kind, with different weights and shuffles.")
    private int seeds = 5;

    @Option(
            names = "--quick",
            description = "Use few digits and one epoch, regardless of other options. This shows that everything runs;"
                    + " the accuracies are meaningless.")
    private boolean quick;

    @Option(names = "--out", description = "The folder for the tables and the picture.")
    private Path folder = Path.of("comparison-pictures");

    @Override
    protected void checkOptions() {
        Check.between("--digits", digits, 1, 1400);
        Check.positive("--epochs", epochs);
        Check.positive("--seeds", seeds);
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        AtomicFile.prepare(folder.resolve("runs.csv"));

        List<Picture> pictures = Picture.readAll();
        Collections.shuffle(pictures, new Random(1));
        List<Picture> heldOut = pictures.subList(0, quick ? 20 : HELD_OUT);
        List<Picture> learned = pictures.subList(HELD_OUT, HELD_OUT + (quick ? 64 : digits));
        out.printf(
                Locale.ROOT,
                "%,d digits of %d x %2$d pixels to learn from, %d others held out%n",
                learned.size(),
                Picture.STORED_SIDE,
                heldOut.size());
        List<Comparison.Run> runs = new ArrayList<>();
        for (int seed = 1; seed <= seeds; seed++) {
            for (PictureEncoding encoding : encodings) {
                EncoderTraining training = new EncoderTraining(engine, device, seed, quick ? 1 : epochs, LEARNING_RATE);
                runs.add(run(encoding, training, learned, heldOut));
                out.println(runs.get(runs.size() - 1));
                Comparison.saveRuns(folder, Comparison.Measure.ACCURACY, runs);
            }
        }
        Comparison.publish(
                out,
                folder,
                Comparison.Measure.ACCURACY,
                "Trained on 8 x 8 pixels, tested on other digits, also enlarged ones",
                "pixels",
                runs);
    }

    /** Trains an encoder, and measures it on each size. */
    private static Comparison.Run run(
            PictureEncoding encoding, EncoderTraining training, List<Picture> learned, List<Picture> heldOut)
            throws IOException {
        try (Model model = Model.newInstance(
                "pictures", training.device(), training.engine().getEngineName())) {
            PictureEncoder encoder = new PictureEncoder(encoding, Picture.STORED_SIDE);
            long start = System.nanoTime();
            PictureOrderDataset examples = new PictureOrderDataset(learned, training.seed(), true);
            Shape input = new Shape(1, Picture.STORED_SIDE, Picture.STORED_SIDE);
            training.train(encoder, input, examples, examples.batches(), model);
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            Map<String, Evaluation> evaluations = new LinkedHashMap<>();
            for (int side : SIDES) {
                List<Picture> resampled =
                        heldOut.stream().map(picture -> picture.resampled(side)).toList();
                model.setBlock(encoder.resized(side, model.getNDManager()));
                evaluations.put(
                        side + " x " + side, Evaluation.of(model, new PictureOrderDataset(resampled, 1, false)));
            }
            return Comparison.Run.of(encoding, training.seed(), evaluations, Comparison.parametersOf(encoder), time);
        }
    }
}
