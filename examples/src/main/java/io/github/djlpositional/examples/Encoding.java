package io.github.djlpositional.examples;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.DisentangledPositionBlock;
import io.github.djlpositional.attention.DistanceNetworkBiasBlock;
import io.github.djlpositional.attention.FireBiasBlock;
import io.github.djlpositional.attention.KerpleBiasBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.SandwichBiasBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import java.util.Locale;
import java.util.Optional;

/** The kinds of positional encodings, absolute (added to the input) or relative (part of the attention). */
public enum Encoding implements Comparison.Kind {

    /** No positions: the encoder treats a sentence as a bag of words. */
    NONE("none"),

    /** The sinusoids of <em>Attention Is All You Need</em>, added to the input. */
    SINUSOIDAL("sinusoidal"),

    /**
     * The same with the token vectors that the library starts with, N(0, 1); the other kinds start with smaller ones.
     */
    SINUSOIDAL_UNIT("sinusoidal, N(0, 1)"),

    /** The same with token vectors that start with N(0, 1 / D) and are multiplied by √D, as in the paper. */
    SINUSOIDAL_SCALED("sinusoidal, scaled"),

    /** A learned vector for each position, added to the input. */
    LEARNED("learned"),

    /** Rotated queries and keys. */
    ROTARY("rotary"),

    /** Scores that decrease with the distance. */
    ALIBI("ALiBi"),

    /** Learned biases for buckets of distances. */
    T5("T5"),

    /** Scores that decrease with the logarithm of the distance, at learned rates. */
    KERPLE("KERPLE"),

    /** Scores that decrease with a learned power of the distance, at learned rates. */
    KERPLE_POWER("KERPLE, power"),

    /** Scores that decrease with the distance as the product of two sinusoids does. */
    SANDWICH("Sandwich"),

    /** Biases that a small network computes from the distance. */
    DISTANCE_NETWORK("distance network"),

    /** Biases that a small network computes from the distance as a share of the query's position. */
    FIRE("FIRE"),

    /** Learned vectors for distances up to 16, added to keys and values. */
    SHAW("Shaw"),

    /** Projected sinusoids of the distance. */
    TRANSFORMER_XL("Transformer-XL"),

    /** Learned vectors of distances, projected for queries and for keys, as in DeBERTa. */
    DISENTANGLED("DeBERTa");

    private final String title;

    Encoding(String title) {
        this.title = title;
    }

    @Override
    public String title() {
        return title;
    }

    /** Creates the block that adds positions to the input; an identity for the other kinds. */
    Block absolute(EncoderSpec spec) {
        return switch (this) {
            case SINUSOIDAL, SINUSOIDAL_UNIT, SINUSOIDAL_SCALED ->
                PositionalEncodingBlock.builder()
                        .setEmbeddingSize(spec.embeddingSize())
                        .optMaxSequenceLength(spec.maxWords())
                        .build();
            case LEARNED ->
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(spec.embeddingSize())
                        .optMaxSequenceLength(spec.maxWords())
                        .build();
            default -> Blocks.identityBlock();
        };
    }

    /** Creates the relative encoding of one attention block; empty for the other kinds. */
    Optional<RelativeEncoding> relative(EncoderSpec spec) {
        return Optional.ofNullable(
                switch (this) {
                    case ROTARY ->
                        RotaryEmbeddingBlock.builder()
                                .setHeadSize(spec.headSize())
                                .optMaxSequenceLength(spec.maxWords())
                                .build();
                    case ALIBI ->
                        AlibiBiasBlock.builder().setHeadCount(spec.heads()).build();
                    case T5 ->
                        RelativePositionBiasBlock.builder()
                                .setHeadCount(spec.heads())
                                .build();
                    case KERPLE ->
                        KerpleBiasBlock.builder().setHeadCount(spec.heads()).build();
                    case KERPLE_POWER ->
                        KerpleBiasBlock.builder()
                                .setHeadCount(spec.heads())
                                .optForm(KerpleBiasBlock.Form.POWER)
                                .build();
                    case SANDWICH ->
                        SandwichBiasBlock.builder().setHeadCount(spec.heads()).build();
                    case DISTANCE_NETWORK ->
                        DistanceNetworkBiasBlock.builder()
                                .setHeadCount(spec.heads())
                                .setHiddenSize(32)
                                .optLogarithmic(true)
                                .build();
                    case FIRE ->
                        // as in the paper, a quarter of the length that is trained
                        FireBiasBlock.builder()
                                .setHeadCount(spec.heads())
                                .optThreshold(LengthClass.TRAINED_WORDS / 4.0)
                                .build();
                    case SHAW ->
                        ShawRelativePositionBlock.builder()
                                .setHeadSize(spec.headSize())
                                .build();
                    case TRANSFORMER_XL ->
                        TransformerXlPositionBlock.builder()
                                .setEmbeddingSize(spec.embeddingSize())
                                .setHeadCount(spec.heads())
                                .build();
                    case DISENTANGLED ->
                        // the defaults are for 512 tokens
                        DisentangledPositionBlock.builder()
                                .setEmbeddingSize(spec.embeddingSize())
                                .setHeadCount(spec.heads())
                                .optBuckets(LengthClass.TRAINED_WORDS)
                                .optMaxDistance(4 * LengthClass.TRAINED_WORDS)
                                .build();
                    default -> null;
                });
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
