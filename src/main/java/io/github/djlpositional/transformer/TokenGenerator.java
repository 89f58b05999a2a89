package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongPredicate;

/**
 * Continues a sequence of tokens with a decoder. A {@link KeyValueCache} holds the keys and values of earlier tokens,
 * so that each step computes one token.
 *
 * <pre>{@code
 * TokenGenerator generator = TokenGenerator.builder()
 *         .setDecoder(decoder)                // (B, T) ids -> (B, T, V)
 *         .optSampling(Sampling.builder().optTemperature(0.8).optTopP(0.9).build())
 *         .optEndTokens(List.of(2L))
 *         .build();
 * long[] added = generator.generate(prompt, 100);
 * }</pre>
 *
 * <p>A {@link TextGenerator} continues texts.
 *
 * <p>An object may be used by several threads, as long as the decoder may.
 */
public final class TokenGenerator {

    record Options(Block decoder, Sampling sampling, List<Long> endTokens) {

        Options {
            Check.present("decoder", decoder);
            if (decoder instanceof TransformerStackBlock stack) {
                stack.requireScoresOfNext();
            }
            sampling = sampling == null ? Sampling.greedy() : sampling;
            endTokens = endTokens == null ? List.of() : List.copyOf(endTokens);
        }
    }

    private final Options options;

    private TokenGenerator(Options options) {
        this.options = options;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the tokens that follow a prompt, without it}
     *
     * @param prompt token ids, at least one
     * @param most the maximum number of tokens, at least 1; fewer if one of them ends the sequence
     * @throws IllegalArgumentException if the prompt is empty, or the decoder rejects it
     */
    public long[] generate(long[] prompt, int most) {
        return generate(prompt, most, token -> true);
    }

    /**
     * {@return the tokens that follow a prompt, without it}
     *
     * @param prompt token ids, at least one
     * @param most the maximum number of tokens, at least 1; fewer if one of them ends the sequence
     * @param continues gets each token, except one that ends the sequence, as soon as it is chosen; returns whether
     *     another one is wanted
     * @throws IllegalArgumentException if the prompt is empty, or the decoder rejects it
     */
    public long[] generate(long[] prompt, int most, LongPredicate continues) {
        Check.that(
                prompt.length > 0, "the prompt is empty: expected at least one token; pass a token that begins a text");
        Check.positive("the maximum number of tokens", most);
        Random random = options.sampling.random();
        long[] all = prompt.clone();
        try (NDManager manager = manager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            ParameterStore store = new ParameterStore(manager, false);
            while (all.length < prompt.length + most) {
                long[] step = Arrays.copyOfRange(all, cache.getLength(), all.length);
                long token = options.sampling.choose(scores(store, step, cache.nextStep()), all, random);
                if (options.endTokens.contains(token)) {
                    break;
                }
                all = Arrays.copyOf(all, all.length + 1);
                all[all.length - 1] = token;
                if (!continues.test(token)) {
                    break;
                }
            }
        }
        return Arrays.copyOfRange(all, prompt.length, all.length);
    }

    /** A manager on the device of the decoder. */
    private NDManager manager() {
        Parameter parameter = options.decoder.getParameters().values().stream()
                .filter(Parameter::isInitialized)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "the decoder is not initialized: expected a trained or loaded one; load its parameters first"));
        return parameter
                .getArray()
                .getManager()
                .newSubManager(parameter.getArray().getDevice());
    }

    /** The scores of the token after those of a step. */
    private double[] scores(ParameterStore store, long[] step, PairList<String, Object> params) {
        try (NDManager manager = store.getManager().newSubManager()) {
            NDList ids = new NDList(HostData.integers(
                    manager, manager.getDevice(), new Shape(1, step.length), i -> Math.toIntExact(step[i])));
            if (options.decoder instanceof TransformerStackBlock stack) {
                return HostData.doubles(stack.scoresOfNext(store, ids, params));
            }
            NDArray scores = options.decoder.forward(store, ids, false, params).singletonOrThrow();
            Shape shape = scores.getShape();
            Check.that(
                    shape.dimension() == 3 && shape.get(0) == 1 && shape.get(1) == step.length,
                    () -> "the decoder " + Settings.classOf(options.decoder) + " returned " + shape + " for ids (1, "
                            + step.length + "): expected (1, " + step.length
                            + ", V), scores of the next token; use a decoder with an output layer");
            return HostData.doubles(scores.get(NDIndex.sliceAxis(1, step.length - 1, step.length)));
        }
    }

    /** Builds a {@link TokenGenerator}. */
    public static final class Builder extends BlockBuilder<TokenGenerator, Builder> {

        private Builder() {
            super(Options.class, TokenGenerator::new);
        }

        /**
         * Sets the decoder: a block that maps ids (B, T) to a score for each next token, (B, T, V), and passes forward
         * parameters to its attentions, such as a {@link TransformerStackBlock} with an output layer. It is not closed.
         */
        public Builder setDecoder(Block decoder) {
            return set("decoder", decoder);
        }

        /** Sets how tokens are chosen (default: the best one). */
        public Builder optSampling(Sampling sampling) {
            return set("sampling", sampling);
        }

        /** Sets tokens that end a sequence and are not part of it (default: none). */
        public Builder optEndTokens(List<Long> endTokens) {
            return set("endTokens", endTokens);
        }
    }
}
