package io.github.djlpositional.examples.pictures;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.RotaryPresets;
import io.github.djlpositional.attention.WindowBiasBlock;
import io.github.djlpositional.examples.Comparison;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Locale;
import java.util.Optional;

/**
 * The kinds of positional encodings of two dimensions. In a larger picture than the trained ones, the coordinates
 * either continue (8, 9, …), or are scaled to those of the trained pictures (0, 2/3, 4/3, …).
 */
enum PictureEncoding implements Comparison.Kind {
    /** No positions: the encoder treats a picture as a bag of pixels. */
    NONE("none"),

    /** A learned vector for each pixel, added to it; in larger pictures, interpolated. */
    LEARNED("learned grid"),

    /** Sinusoids of the row and of the column, added to the pixel; scaled. */
    FIXED_SCALED("fixed grid, scaled"),

    /** The same; continued. */
    FIXED_CONTINUED("fixed grid, continued"),

    /** Queries and keys rotated by row and by column, as in EVA-02; scaled. */
    ROTARY_SCALED("rotary, scaled"),

    /** The same; continued. */
    ROTARY_CONTINUED("rotary, continued"),

    /** A learned bias for each difference of rows and columns, as in Swin; in larger pictures, interpolated. */
    WINDOW_BIAS("window bias");

    private final String title;

    PictureEncoding(String title) {
        this.title = title;
    }

    @Override
    public String title() {
        return title;
    }

    /** Creates the block that adds positions to the pixels; an identity for the other kinds. */
    Block absolute(int embeddingSize, int side) {
        return switch (this) {
            case LEARNED ->
                // the forward parameter GRID_SIZES gives the grid of larger pictures
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(embeddingSize)
                        .optGrid(0, Picture.STORED_SIDE, Picture.STORED_SIDE)
                        .build();
            case FIXED_SCALED, FIXED_CONTINUED ->
                GridPositionalEncodingBlock.builder()
                        .setEncoding(GridEncoding.builder()
                                .setAxes(2)
                                .add(0, SinusoidalEncoding.vaswani(embeddingSize / 2))
                                .add(1, SinusoidalEncoding.vaswani(embeddingSize / 2))
                                .optScale(this == FIXED_SCALED ? (double) Picture.STORED_SIDE / side : 1)
                                .build())
                        .optGrid(0, side, side)
                        .build();
            default -> Blocks.identityBlock();
        };
    }

    /** Creates the relative encoding of one attention block; empty for the other kinds. */
    Optional<RelativeEncoding> relative(int heads, int headSize, int side) {
        return Optional.ofNullable(
                switch (this) {
                    case ROTARY_SCALED, ROTARY_CONTINUED ->
                        RotaryPresets.eva(headSize).build();
                    case WINDOW_BIAS ->
                        WindowBiasBlock.builder()
                                .setHeadCount(heads)
                                .setWindow(side, side)
                                .build();
                    default -> null;
                });
    }

    /** Returns the coordinates of the pixels, (2, pixels), for a rotary encoding; empty for the other kinds. */
    Optional<double[][]> coordinates(int side) {
        return Optional.ofNullable(
                switch (this) {
                    case ROTARY_SCALED -> RotaryPresets.evaPositions(0, Picture.STORED_SIDE, side, side);
                    case ROTARY_CONTINUED -> RotaryPresets.positions(side, side);
                    default -> null;
                });
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
