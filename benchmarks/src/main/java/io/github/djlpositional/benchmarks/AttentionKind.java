package io.github.djlpositional.benchmarks;

import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.DisentangledPositionBlock;
import io.github.djlpositional.attention.DistanceNetworkBiasBlock;
import io.github.djlpositional.attention.FireBiasBlock;
import io.github.djlpositional.attention.KerpleBiasBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.SandwichBiasBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import io.github.djlpositional.attention.WindowBiasBlock;
import io.github.djlpositional.attention.WindowNetworkBiasBlock;
import io.github.djlpositional.math.PairLayout;
import java.util.Locale;
import java.util.stream.IntStream;

/** The positions and masks that an attention is measured with; {@code peers.py} has the same ones. */
enum AttentionKind {
    NONE,
    ROTARY,
    ALIBI,
    T5,
    KERPLE,
    KERPLE_POWER,
    SANDWICH,
    FIRE,
    DISTANCE_NETWORK,

    /** The biases of Swin: the tokens are the cells of one window. */
    SWIN,
    SWIN_V2,
    SHAW,
    DISENTANGLED,
    TRANSFORMER_XL,

    /** The last quarter of the keys is padding. */
    PADDING,
    CAUSAL,

    /** Causal, and a query sees a quarter of the keys. */
    WINDOW;

    static final int HEADS = 8;

    /** The kind of a text such as {@code 8x256x512:transformer-xl}. */
    static AttentionKind of(String shape) {
        return valueOf(
                shape.substring(shape.indexOf(':') + 1).toUpperCase(Locale.ROOT).replace('-', '_'));
    }

    /** Its name in a table. */
    String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Whether DJL's own block can have it, as a mask that is added to the scores. */
    boolean isMask() {
        return switch (this) {
            case ALIBI, T5, KERPLE, PADDING, CAUSAL, WINDOW -> true;
            default -> false;
        };
    }

    /** Whether Python's module has it. */
    boolean isInPython() {
        return switch (this) {
            case KERPLE_POWER, SANDWICH, FIRE, DISTANCE_NETWORK, SWIN, SWIN_V2, DISENTANGLED -> false;
            default -> true;
        };
    }

    static int windowOf(long length) {
        return Math.toIntExact(Math.max(1, length / 4));
    }

    /** The smallest divisor of the number of cells that is at least its root. */
    private static int widthOf(long length) {
        return IntStream.rangeClosed((int) Math.ceil(Math.sqrt((double) length)), Math.toIntExact(length))
                .filter(width -> length % width == 0)
                .findFirst()
                .orElseThrow();
    }

    /** The height of a window for all cells; a decoder's step has one more than its cache. */
    private static int heightOf(long length, boolean causal) {
        return Math.toIntExact(length / widthOf(length)) + (causal ? 1 : 0);
    }

    /** The number of keys that are no padding. */
    static long tokensOf(long length) {
        return length - length / 4;
    }

    /** This library's attention of this kind. */
    MultiHeadAttentionBlock.Builder attention(int size, long length, boolean causal) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(HEADS)
                .optCausal(causal || this == CAUSAL || this == WINDOW);
        RelativeEncoding encoding = encoding(size, length, causal);
        if (encoding != null) {
            builder.optRelativeEncoding(encoding);
        }
        return this == WINDOW ? builder.optWindow(windowOf(length)) : builder;
    }

    private RelativeEncoding encoding(int size, long length, boolean causal) {
        return switch (this) {
            case ROTARY ->
                RotaryEmbeddingBlock.builder()
                        .setHeadSize(size / HEADS)
                        .optLayout(PairLayout.CONCATENATED)
                        // a decoder's step has one more position than its cache
                        .optMaxSequenceLength(Math.toIntExact(length + 1))
                        .build();
            case ALIBI -> AlibiBiasBlock.builder().setHeadCount(HEADS).build();
            case T5 ->
                RelativePositionBiasBlock.builder()
                        .setHeadCount(HEADS)
                        .optBidirectional(!causal)
                        .build();
            case KERPLE -> KerpleBiasBlock.builder().setHeadCount(HEADS).build();
            case KERPLE_POWER ->
                KerpleBiasBlock.builder()
                        .setHeadCount(HEADS)
                        .optForm(KerpleBiasBlock.Form.POWER)
                        .build();
            case SANDWICH -> SandwichBiasBlock.builder().setHeadCount(HEADS).build();
            case FIRE -> FireBiasBlock.builder().setHeadCount(HEADS).build();
            case DISTANCE_NETWORK ->
                DistanceNetworkBiasBlock.builder()
                        .setHeadCount(HEADS)
                        // as x-transformers
                        .setHiddenSize(size / 4)
                        .build();
            case SWIN ->
                WindowBiasBlock.builder()
                        .setHeadCount(HEADS)
                        .setWindow(heightOf(length, causal), widthOf(length))
                        .build();
            case SWIN_V2 ->
                WindowNetworkBiasBlock.builder()
                        .setHeadCount(HEADS)
                        .setWindow(heightOf(length, causal), widthOf(length))
                        .build();
            case DISENTANGLED ->
                DisentangledPositionBlock.builder()
                        .setEmbeddingSize(size)
                        .setHeadCount(HEADS)
                        .build();
            case SHAW ->
                ShawRelativePositionBlock.builder().setHeadSize(size / HEADS).build();
            case TRANSFORMER_XL ->
                TransformerXlPositionBlock.builder()
                        .setEmbeddingSize(size)
                        .setHeadCount(HEADS)
                        .build();
            case NONE, PADDING, CAUSAL, WINDOW -> null;
        };
    }
}
