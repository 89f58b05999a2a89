package io.github.djlpositional.examples.pictures;

import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.GridResampling;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;

/** A square picture of a handwritten digit. */
final class Picture {

    /** The side of the pictures in the dataset. */
    static final int STORED_SIDE = 8;

    private static final double DARKEST = 16;

    private final int side;
    private final double[] pixels;

    /**
     * Creates a picture.
     *
     * @param side the number of rows, and of columns
     * @param pixels row by row, from 0 for white to 1 for black
     */
    Picture(int side, double... pixels) {
        this.side = side;
        this.pixels = pixels.clone();
    }

    int side() {
        return side;
    }

    double[] pixels() {
        return pixels.clone();
    }

    /**
     * Reads the dataset: <em>Optical Recognition of Handwritten Digits</em> by E. Alpaydin and C. Kaynak (1998), UCI
     * Machine Learning Repository, licensed under CC BY 4.0; its test set of 1797 digits by 13 people, as in
     * scikit-learn.
     */
    static List<Picture> readAll() throws IOException {
        byte[] file = new Resource("/digits.csv.gz", "djl-positional-examples").read();
        List<Picture> pictures = new ArrayList<>();
        try (InputStreamReader in =
                new InputStreamReader(new GZIPInputStream(new ByteArrayInputStream(file)), StandardCharsets.US_ASCII)) {
            for (CSVRecord line : CSVFormat.DEFAULT.parse(in)) {
                // the last column is the digit
                pictures.add(new Picture(
                        STORED_SIDE,
                        IntStream.range(0, STORED_SIDE * STORED_SIDE)
                                .mapToDouble(i -> Integer.parseInt(line.get(i)) / DARKEST)
                                .toArray()));
            }
        }
        return pictures;
    }

    /** Returns the picture with more or fewer pixels. */
    Picture resampled(int newSide) {
        int[] from = {side, side};
        int[] to = {newSide, newSide};
        return new Picture(newSide, GridResampling.BILINEAR.resample(pixels, from, to));
    }

    /** Returns the picture with its rows in a random order, and its columns in another. */
    Picture shuffled(Random random) {
        Picture shuffled;
        do {
            List<Integer> rows = order(random);
            List<Integer> columns = order(random);
            shuffled = new Picture(
                    side,
                    IntStream.range(0, side * side)
                            .mapToDouble(i -> pixels[rows.get(i / side) * side + columns.get(i % side)])
                            .toArray());
        } while (Arrays.equals(shuffled.pixels, pixels));
        return shuffled;
    }

    private List<Integer> order(Random random) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, side).boxed().toList());
        Collections.shuffle(order, random);
        return order;
    }
}
