package io.github.djlpositional.examples;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import picocli.CommandLine.TypeConversionException;

/**
 * A kind of positional encoding: absolute (added to the input), or one of the library's relative encodings (part of the
 * attention).
 *
 * @param name the name in settings, for example {@code KERPLE_POWER}
 * @param title the name in words
 * @param relative the library's name of the relative encoding; null for the other kinds
 */
public record Encoding(String name, String title, String relative) implements Comparison.Kind {

    /** No positions: the encoder treats a sentence as a bag of words. */
    public static final Encoding NONE = new Encoding("NONE", "none", null);

    /** The sinusoids of <em>Attention Is All You Need</em>, added to the input. */
    public static final Encoding SINUSOIDAL = new Encoding("SINUSOIDAL", "sinusoidal", null);

    /**
     * The same with the token vectors that the library starts with, N(0, 1); the other kinds start with smaller ones.
     */
    public static final Encoding SINUSOIDAL_UNIT = new Encoding("SINUSOIDAL_UNIT", "sinusoidal, N(0, 1)", null);

    /** The same with token vectors that start with N(0, 1 / D) and are multiplied by √D, as in the paper. */
    public static final Encoding SINUSOIDAL_SCALED = new Encoding("SINUSOIDAL_SCALED", "sinusoidal, scaled", null);

    /** A learned vector for each position, added to the input. */
    public static final Encoding LEARNED = new Encoding("LEARNED", "learned", null);

    private static final Encoding KERPLE_POWER = new Encoding("KERPLE_POWER", "KERPLE, power", "KERPLE");

    /** Encodings of the cells of a picture. */
    private static final Set<String> OF_WINDOWS = Set.of("Swin", "Swin V2", "MViTv2");

    private static final List<Encoding> VALUES = Stream.concat(
                    Stream.of(NONE, SINUSOIDAL, SINUSOIDAL_UNIT, SINUSOIDAL_SCALED, LEARNED),
                    RelativeEncoding.names().stream()
                            .filter(name -> !OF_WINDOWS.contains(name))
                            .flatMap(Encoding::ofRelative))
            .toList();

    private static Stream<Encoding> ofRelative(String relative) {
        String name = relative.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
        Encoding encoding = new Encoding(name, relative.equals("disentangled") ? "DeBERTa" : relative, relative);
        return relative.equals(KERPLE_POWER.relative) ? Stream.of(encoding, KERPLE_POWER) : Stream.of(encoding);
    }

    /**
     * Returns all kinds.
     *
     * @return the absolute ones first
     */
    public static List<Encoding> values() {
        return VALUES;
    }

    /**
     * Returns the kind of a name.
     *
     * @param name for example {@code SINUSOIDAL}
     * @return the kind
     * @throws IllegalArgumentException if there is none
     */
    public static Encoding valueOf(String name) {
        return VALUES.stream()
                .filter(encoding -> encoding.name.equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(name + " is no kind of encoding"));
    }

    /** The kind that an option of a command line names, in any case. */
    static Encoding ofOption(String text) {
        try {
            return valueOf(text.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException("expected one of " + VALUES + " but was '" + text + "'");
        }
    }

    /** The names of the kinds on a command line. */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return VALUES.stream().map(Encoding::toString).iterator();
        }
    }

    /**
     * Creates the block from token ids to vectors with positions; without positions for relative encodings.
     *
     * @param builder has the other options
     * @param embeddingSize D
     * @param maxLength the number of tokens in the longest input
     */
    InputEmbeddingBlock input(InputEmbeddingBlock.Builder builder, int embeddingSize, int maxLength) {
        InputEmbeddingBlock input = builder.setEmbeddingSize(embeddingSize)
                .optScaleEmbedding(equals(SINUSOIDAL_SCALED))
                .optPositionalEncoding(absolute(embeddingSize, maxLength))
                .build();
        if (!equals(SINUSOIDAL_UNIT) && !equals(SINUSOIDAL_SCALED)) {
            // in small models the positions matter more than the tokens, so tokens start smaller, with N(0, 2 / D)
            input.setInitializer(new NormalInitializer((float) Math.sqrt(2.0 / embeddingSize)), Parameter.Type.WEIGHT);
        }
        return input;
    }

    private Block absolute(int embeddingSize, int maxLength) {
        if (name.startsWith(SINUSOIDAL.name)) {
            return PositionalEncodingBlock.builder()
                    .setEmbeddingSize(embeddingSize)
                    .optMaxSequenceLength(maxLength)
                    .build();
        }
        return equals(LEARNED)
                ? LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(embeddingSize)
                        .optMaxSequenceLength(maxLength)
                        .build()
                : Blocks.identityBlock();
    }

    /**
     * Creates the relative encoding of one attention block; empty for the other kinds.
     *
     * @param heads the number of heads
     * @param headSize the size of a head
     * @param trainedLength the number of tokens in the longest example of the training
     * @param maxLength the number of tokens in the longest input
     * @param causal whether a token sees only the tokens before it
     */
    Optional<RelativeEncoding> relative(int heads, int headSize, int trainedLength, int maxLength, boolean causal) {
        return Optional.ofNullable(relative)
                .map(kind -> RelativeEncoding.named(kind, heads, headSize, options(trainedLength, maxLength, causal)));
    }

    /** The options that are not the defaults. */
    private Map<String, ?> options(int trainedLength, int maxLength, boolean causal) {
        return switch (name) {
            // as in T5's decoder; every bucket is trained
            case "T5" -> causal ? Map.of("bidirectional", false, "maxDistance", trainedLength) : Map.of();
            case "ROTARY" -> Map.of("maxSequenceLength", maxLength);
            case "KERPLE_POWER" -> Map.of("form", "POWER");
            case "DISTANCE_NETWORK" -> Map.of("hiddenSize", 32, "logarithmic", true);
            // as in the paper, a quarter of the length that is trained
            case "FIRE" -> Map.of("threshold", trainedLength / 4.0);
            // the defaults are for 512 tokens
            case "DISENTANGLED" -> Map.of("buckets", trainedLength, "maxDistance", 4 * trainedLength);
            default -> Map.of();
        };
    }

    @Override
    public String toString() {
        return name.toLowerCase(Locale.ROOT);
    }
}
