package io.github.djlpositional.examples.pictures;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.examples.OrderDataset;
import java.util.List;
import java.util.Random;

/** Pictures in order, and with their rows and columns shuffled. All have the same size. */
final class PictureOrderDataset extends OrderDataset<Picture> {

    private static final int BATCH_SIZE = 64;

    /**
     * Creates a dataset.
     *
     * @param pictures the pictures
     * @param seed determines the shuffles
     * @param newEveryEpoch whether every epoch has different shuffles
     */
    PictureOrderDataset(List<Picture> pictures, long seed, boolean newEveryEpoch) {
        super(pictures, BATCH_SIZE, seed, newEveryEpoch);
    }

    @Override
    protected Picture shuffled(Picture picture, Random random) {
        return picture.shuffled(random);
    }

    @Override
    protected NDArray input(NDManager manager, List<Picture> pictures) {
        int side = pictures.get(0).side();
        float[] values = new float[pictures.size() * side * side];
        int i = 0;
        for (Picture picture : pictures) {
            for (double pixel : picture.pixels()) {
                values[i++] = (float) pixel;
            }
        }
        return manager.create(values, new Shape(pictures.size(), side, side));
    }
}
