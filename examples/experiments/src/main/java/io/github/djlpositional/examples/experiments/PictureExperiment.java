package io.github.djlpositional.examples.experiments;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.math.GridResampling;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.commons.csv.CSVFormat;

/**
 * Are the rows and columns of a handwritten digit in order? On digits as large as the trained ones, and enlarged.
 *
 * <p>A picture is square: its pixels row by row, from 0 for white to 1 for black.
 */
final class PictureExperiment implements Experiment {

    private static final int SIDE = PictureEncoder.TRAINED_SIDE;
    private static final double DARKEST = 16;
    private static final int BATCH = 64;
    private static final int HELD_OUT = 397;

    private final List<double[]> learned;
    private final List<double[]> heldOut;

    PictureExperiment(int count, boolean quick) throws IOException {
        List<double[]> digits = readDigits();
        Collections.shuffle(digits, new Random(1));
        if (count > digits.size() - HELD_OUT) {
            throw new IllegalArgumentException(
                    count + " digits: expected at most " + (digits.size() - HELD_OUT) + "; use fewer with --examples");
        }
        heldOut = digits.subList(0, quick ? 20 : HELD_OUT);
        learned = digits.subList(HELD_OUT, HELD_OUT + count);
    }

    /**
     * Reads the dataset: <em>Optical Recognition of Handwritten Digits</em> by E. Alpaydin and C. Kaynak (1998), UCI
     * Machine Learning Repository, licensed under CC BY 4.0; its test set of 1797 digits by 13 people, as in
     * scikit-learn.
     */
    static List<double[]> readDigits() throws IOException {
        try (InputStream file = PictureExperiment.class.getResourceAsStream("/digits.csv.gz");
                Reader in = new InputStreamReader(new GZIPInputStream(file), StandardCharsets.US_ASCII)) {
            return new ArrayList<>(CSVFormat.DEFAULT.parse(in).stream()
                    // the last column is the digit
                    .map(row -> row.stream()
                            .limit(SIDE * SIDE)
                            .mapToDouble(pixel -> Integer.parseInt(pixel) / DARKEST)
                            .toArray())
                    .toList());
        }
    }

    private static int side(double... picture) {
        return (int) Math.sqrt(picture.length);
    }

    /** Pictures of the same size in order, and with their rows and columns shuffled. */
    static final class Pictures extends OrderDataset<double[]> {

        Pictures(List<double[]> pictures, long seed, boolean newEveryEpoch) {
            super(pictures, BATCH, seed, newEveryEpoch);
        }

        @Override
        double[] shuffled(double[] picture, Random random) {
            int side = side(picture);
            double[] shuffled;
            do {
                List<Integer> rows = order(side, random);
                List<Integer> columns = order(side, random);
                shuffled = IntStream.range(0, picture.length)
                        .mapToDouble(i -> picture[rows.get(i / side) * side + columns.get(i % side)])
                        .toArray();
            } while (Arrays.equals(shuffled, picture));
            return shuffled;
        }

        private static List<Integer> order(int side, Random random) {
            List<Integer> order =
                    new ArrayList<>(IntStream.range(0, side).boxed().toList());
            Collections.shuffle(order, random);
            return order;
        }

        @Override
        NDArray input(NDManager manager, List<double[]> pictures) {
            int side = side(pictures.get(0));
            float[] values = new float[pictures.size() * side * side];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) pictures.get(i / (side * side))[i % (side * side)];
            }
            return manager.create(values, new Shape(pictures.size(), side, side));
        }
    }

    @Override
    public Description description() {
        String examples =
                learned.size() + " digits of 8 x 8 pixels to learn from, " + heldOut.size() + " others held out";
        String title = "Trained on 8 x 8 pixels, tested on other digits, also enlarged ones";
        int batches = new Pictures(learned, 1, true).batches();
        return new Description(examples, title, "accuracy", "pixels", batches, 0.002f, new Shape(1, SIDE, SIDE));
    }

    @Override
    public Block block(Encoding encoding) {
        return new PictureEncoder(encoding, SIDE);
    }

    @Override
    public Pictures training(int seed, NDManager manager) {
        return new Pictures(learned, seed, true);
    }

    @Override
    public Map<String, Double> measure(Model trained, Encoding as) throws IOException, TranslateException {
        NDManager manager = trained.getNDManager();
        PictureEncoder encoder = (PictureEncoder) trained.getBlock();
        Map<String, Double> accuracies = new LinkedHashMap<>();
        for (int side : new int[] {SIDE, 12, 16}) {
            int[] from = {SIDE, SIDE};
            int[] to = {side, side};
            List<double[]> enlarged = heldOut.stream()
                    .map(picture -> GridResampling.BILINEAR.resample(picture, from, to))
                    .toList();
            Block resized = encoder.resized(side, manager);
            accuracies.put(
                    side + " x " + side, Evaluation.accuracy(manager, resized, new Pictures(enlarged, 1, false)));
        }
        return accuracies;
    }
}
