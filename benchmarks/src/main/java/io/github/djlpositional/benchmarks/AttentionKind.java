package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.PairLayout;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The relative positions or the mask of an attention of 8 heads. */
public enum AttentionKind {
    NONE,
    ROTARY,
    ALIBI,
    T5,
    KERPLE,
    SANDWICH,
    GAUSSIAN,
    DISTANCE_NETWORK,
    FIRE,
    SHAW,
    TRANSFORMER_XL,
    DISENTANGLED,
    FOX,
    INKLING,
    LEARNED_ROTARY,
    SWIN,
    SWIN_V2,
    MVITV2,

    /** The last quarter of the keys is padding. */
    PADDING,

    /** Four sequences are packed in a row: a token sees those of its own. */
    PACKED,

    CAUSAL,

    /** Causal, with a window of a quarter of the keys. */
    WINDOW;

    static final int HEADS = 8;

    /** DJL's number for what is hidden. */
    private static final float HIDDEN = -100000f;

    private static int quarter(long length) {
        return (int) Math.max(1, length / 4);
    }

    /** This library's attention of T tokens, or of each next token to a cache of T tokens. */
    MultiHeadAttentionBlock.Builder attention(int size, int length, boolean isDecoder) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(HEADS)
                .optCausal(isDecoder || this == CAUSAL || this == WINDOW || this == FOX);
        return switch (this) {
            case NONE, PADDING, PACKED, CAUSAL -> builder;
            case WINDOW -> builder.optWindow(quarter(length));
            default ->
                builder.optRelativeEncoding(
                        RelativeEncoding.named(name(), HEADS, size / HEADS, options(size, length, isDecoder)));
        };
    }

    /** The options that are not the defaults. */
    private Map<String, ?> options(int size, int length, boolean isDecoder) {
        return switch (this) {
            case ROTARY -> Map.of("layout", PairLayout.CONCATENATED, "maxSequenceLength", length + 1);
            case T5 -> Map.of("bidirectional", !isDecoder);
            // as x-transformers
            case DISTANCE_NETWORK -> Map.of("hiddenSize", size / 4);
            case SWIN, SWIN_V2, MVITV2 -> {
                int width = widthOf(length);
                yield Map.of("window", List.of(length / width, width));
            }
            default -> Map.of();
        };
    }

    /** The smallest divisor of a number of cells that is at least its root. */
    private static int widthOf(int length) {
        return IntStream.rangeClosed((int) Math.ceil(Math.sqrt(length)), length)
                .filter(width -> length % width == 0)
                .findFirst()
                .orElseThrow();
    }

    /** What this library gets beside x, (B, F) or (B, T, F) with T = F; null for nothing. */
    NDArray mask(NDManager manager, long batch, long length) {
        NDArray positions = manager.arange((float) length);
        return switch (this) {
            case PADDING ->
                isToken(positions)
                        .toType(DataType.FLOAT32, true)
                        .reshape(1, length)
                        .broadcast(batch, length);
            case PACKED -> {
                NDArray sequences = sequences(positions);
                yield sequences
                        .reshape(1, 1, length)
                        .eq(sequences.reshape(1, length, 1))
                        .broadcast(batch, length, length);
            }
            default -> null;
        };
    }

    /** What users of DJL's own attention give as a mask (1, N, T, T), which it adds to the scores; null for nothing. */
    NDArray maskOfDjl(NDManager manager, long length) {
        NDArray positions = manager.arange((float) length);
        NDArray distances = positions.reshape(1, 1, 1, length).sub(positions.reshape(1, 1, length, 1));
        return switch (this) {
            case NONE -> null;
            case ALIBI -> distances.abs().mul(slopes(manager)).neg();
            case PADDING -> hiding(isToken(positions).logicalNot().reshape(1, 1, 1, length));
            case PACKED -> {
                NDArray sequences = sequences(positions);
                yield hiding(sequences.reshape(1, 1, 1, length).neq(sequences.reshape(1, 1, length, 1)));
            }
            case CAUSAL -> hiding(distances.gt(0));
            case WINDOW -> hiding(distances.gt(0).logicalOr(distances.lte(-quarter(length))));
            default -> throw new IllegalArgumentException(this + " has no mask");
        };
    }

    private static NDArray isToken(NDArray positions) {
        long length = positions.size();
        return positions.lt(length - length / 4);
    }

    private static NDArray sequences(NDArray positions) {
        return positions.div(quarter(positions.size())).floor();
    }

    private static NDArray hiding(NDArray isHidden) {
        return isHidden.toType(DataType.FLOAT32, true).mul(HIDDEN);
    }

    private static NDArray slopes(NDManager manager) {
        float[] slopes = new float[HEADS];
        for (int head = 0; head < HEADS; head++) {
            slopes[head] = (float) AlibiSlopes.of(HEADS).get(head);
        }
        return manager.create(slopes, new Shape(1, HEADS, 1, 1));
    }
}
