package io.github.djlpositional.attention;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Default;
import io.github.djlpositional.options.NotSaved;
import io.github.djlpositional.options.Range;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Stream;

/** The options of a {@link MultiHeadAttentionBlock}. */
record MultiHeadAttentionBlockOptions(
        @Range(min = 1) int embeddingSize,
        @Range(min = 1) int headCount,
        @Range(min = 1) Integer keyValueHeadCount,
        @Range(min = 1) Integer headSize,
        @Default("false") boolean causal,
        @Range(min = 1, max = ForwardParameters.UNLIMITED) Integer window,
        @Range(min = 1, max = 1 << 24) Integer chunkSize,
        Double scale,
        @Default("false") boolean cosine,
        QueryScale queryScale,
        @Range(above = 0) Double scoreCap,
        @Default("false") boolean sinks,
        @Default("true") boolean bias,
        Boolean resultBias,
        List<RelativeEncoding> relativeEncoding,
        Block queryNorm,
        Block keyNorm,
        @Default("false") boolean normOfAllHeads,
        @NotSaved @Default("true") boolean fusedKernel,
        @NotSaved DataType kernelType,

        @NotSaved @Default("0") @Range(min = 0, below = 1) float dropoutRate) {

    MultiHeadAttentionBlockOptions {
        Check.that(
                encodings(relativeEncoding).distinct().count()
                        == encodings(relativeEncoding).count(),
                "relativeEncoding has the same block twice: expected different ones; leave one out");
        relativeEncoding = encodings(relativeEncoding).count() == 0 ? null : relativeEncoding;
        if (headSize == null) {
            Check.divides("headCount", headCount, "embeddingSize", embeddingSize);
            headSize = embeddingSize / headCount;
        }
        Check.that(
                (long) headCount * headSize <= Integer.MAX_VALUE,
                "headCount " + headCount + " with headSize " + headSize + ": expected a product of at most "
                        + Integer.MAX_VALUE + "; set smaller values");
        keyValueHeadCount = Objects.requireNonNullElse(keyValueHeadCount, headCount);
        Check.that(
                headCount % keyValueHeadCount == 0,
                "headCount " + headCount + " with keyValueHeadCount " + keyValueHeadCount
                        + ": expected a number of key heads that divides the number of heads; change one of them");
        Check.that(
                window == null || chunkSize == null,
                "window " + window + " with chunkSize " + chunkSize + ": expected one of them; leave one out");
        Check.that(
                !(cosine && queryScale instanceof QueryScale.LearnedLogN),
                "cosine true with queryScale " + queryScale
                        + ": expected one learned temperature of each head; leave one out");
        if (scale == null && cosine) {
            scale = 1.0;
        } else if (scale == null) {
            scale = encodings(relativeEncoding)
                    .map(RelativeEncoding::defaultScale)
                    .filter(Objects::nonNull)
                    .findFirst()
                    .orElse(1 / Math.sqrt((double) headSize));
        }
        // also checks the scale of a relative encoding
        Check.positive("scale", scale, "usually 1 / √H");
        resultBias = Objects.requireNonNullElse(resultBias, bias);
        Check.that(
                kernelType == null || kernelType == DataType.FLOAT16 || kernelType == DataType.BFLOAT16,
                "kernelType " + kernelType + ": expected FLOAT16 or BFLOAT16; leave it out for the type of the input");
        Check.that(
                kernelType == null || fusedKernel,
                "kernelType " + kernelType
                        + " with fusedKernel false: expected a fused kernel with this type; leave one of them out");
    }

    private static Stream<RelativeEncoding> encodings(List<RelativeEncoding> all) {
        return all == null ? Stream.empty() : all.stream();
    }

    /** The relative encodings; empty for none. */
    List<RelativeEncoding> encodings() {
        return relativeEncoding == null ? List.of() : relativeEncoding;
    }

    /** Whether several query heads share a head of keys and values. */
    boolean isGrouped() {
        return headCount != keyValueHeadCount;
    }

    /** The initial value of the learned temperature; null for none. */
    Float initialTemperature() {
        return cosine
                ? Float.valueOf((float) Math.log(10))
                : queryScale instanceof QueryScale.LearnedLogN learned ? (float) learned.initialTemperature() : null;
    }

    /** The shape of the heads that a norm gets. */
    Shape normShape(long batch, long length, int heads) {
        return normOfAllHeads
                ? new Shape(batch, length, (long) heads * headSize)
                : new Shape(batch, length, heads, headSize);
    }

    /** Whether the scale is 1 / √H, which fused kernels use. */
    boolean hasStandardScale() {
        return scale == 1 / Math.sqrt(headSize);
    }

    /** The keys that the order of tokens lets a query see. */
    Visibility.Order order() {
        return Visibility.Order.of(causal, window, chunkSize);
    }

    /** The builder methods of the scores, and of the keys that a query sees. */
    abstract static class ScoreBuilder<B extends ScoreBuilder<B>> extends BlockBuilder<MultiHeadAttentionBlock, B> {

        ScoreBuilder(Function<MultiHeadAttentionBlockOptions, MultiHeadAttentionBlock> create) {
            super(MultiHeadAttentionBlockOptions.class, create);
        }

        /**
         * Sets w, the size of the window of keys that a query sees, by index, at least 1 (default: none). In a causal
         * attention, query i sees the keys i - w + 1 … i, as in Mistral; otherwise those with |i - j| ≤ w / 2, rounded
         * down, as in Longformer and ModernBERT. Not together with {@link #optChunkSize}.
         */
        public B optWindow(int window) {
            return set("window", window);
        }

        /**
         * Divides positions into chunks of a size from 1 to 2<sup>24</sup>, as in Llama 4 (default: one chunk). A query
         * sees only keys of its chunk, whose number is the position divided by the size, rounded down.
         */
        public B optChunkSize(int chunkSize) {
            return set("chunkSize", chunkSize);
        }

        /**
         * Multiplies each query by a factor that depends on its position (default: none); the terms that a relative
         * encoding adds to the scores are not multiplied. With {@link QueryScale.LearnedLogN}, each head also has a
         * learned factor, the parameter {@code temperature}, (N).
         */
        public B optQueryScale(QueryScale queryScale) {
            return set("queryScale", queryScale);
        }

        /**
         * Limits each score s smoothly to c · tanh(s / c), before any mask. The cap c is positive; Gemma 2 uses 50
         * (default: no limit).
         */
        public B optScoreCap(double scoreCap) {
            return set("scoreCap", scoreCap);
        }

        /**
         * Adds a sink to each head, as in GPT-OSS (default: false): a learned logit that takes part in the softmax but
         * has no value, so that the probabilities of the keys may sum to less than 1. The parameter {@code sinks}, (N),
         * is initialized with 0.
         */
        public B optSinks(boolean sinks) {
            return set("sinks", sinks);
        }

        /**
         * Sets the positive factor of the products of queries and keys (default: 1 / √H, or
         * {@link RelativeEncoding#defaultScale}); T5 uses 1.
         */
        public B optScale(double scale) {
            return set("scale", scale);
        }

        /**
         * Divides queries and keys by their lengths, so that their products are cosines, and multiplies these by
         * exp(min(t, ln 100)) instead of 1 / √H, as in Swin V2 (default: false). The parameter {@code temperature}, t,
         * (N), is initialized with ln 10. After Liu et al., <em>Swin Transformer V2</em> (2022), section 3.2.
         */
        public B optCosine(boolean cosine) {
            return set("cosine", cosine);
        }
    }
}
