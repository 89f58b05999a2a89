package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import java.nio.ByteBuffer;
import java.util.Map;

/**
 * A factor of the query at each position p, so that attention is as sharp over many keys as over few. Immutable. Two
 * scales are equal if they have the same class and the same arguments.
 */
public sealed interface QueryScale extends HasArguments, Rows {

    /**
     * The temperature of Llama 4 (Meta, 2025), which it applies on its layers without positions, and of Ministral 3
     * (Mistral AI, 2025): coefficient · ln(⌊(p + offset) / length⌋ + 1) + 1.
     *
     * @param coefficient 0 or more and finite; 0.1 in Llama 4, where it is {@code attn_scale}
     * @param length in positions, positive and finite; 8192 in Llama 4, where it is {@code floor_scale}
     * @param offset what is added to a position, 0 or more; 1 in Llama 4, 0 in Ministral 3
     */
    record FloorLogarithm(
            double coefficient, double length, @Default("1") int offset) implements QueryScale {

        /**
         * Creates the scale.
         *
         * @param coefficient 0 or more and finite
         * @param length positive and finite
         * @param offset 0 or more
         * @throws IllegalArgumentException if an argument is outside its range
         */
        public FloorLogarithm {
            Check.that(
                    coefficient >= 0 && Double.isFinite(coefficient),
                    () -> "coefficient " + coefficient
                            + ": expected 0 or more and finite; set it to the model's, 0.1 in Llama 4");
            Check.positive("length", length, "8192 in Llama 4");
            Check.between("offset", offset, 0, Integer.MAX_VALUE);
        }

        /**
         * Creates the scale of Llama 4, with the offset 1.
         *
         * @param coefficient 0 or more and finite
         * @param length positive and finite
         * @throws IllegalArgumentException if an argument is outside its range
         */
        public FloorLogarithm(double coefficient, double length) {
            this(coefficient, length, 1);
        }

        @Override
        public double factor(double position) {
            requirePosition(position);
            return coefficient * StrictMath.log(Math.floor((position + offset) / length) + 1) + 1;
        }
    }

    /**
     * Log-n attention: max(1, ln(p + 1) / ln(trainedLength)). By Su Jianlin (2021); this is the form of Qwen's
     * {@code use_logn_attn} (2023).
     *
     * @param trainedLength the sequence length that the model was trained with, at least 2; {@code seq_length} in Qwen
     */
    record LogN(int trainedLength) implements QueryScale {

        /**
         * Creates the scale.
         *
         * @param trainedLength at least 2
         * @throws IllegalArgumentException if the length is outside its range
         */
        public LogN {
            Check.between("trainedLength", trainedLength, 2, Integer.MAX_VALUE);
        }

        @Override
        public double factor(double position) {
            requirePosition(position);
            return Math.max(1, StrictMath.log(position + 1) / StrictMath.log(trainedLength));
        }
    }

    /**
     * Scalable-Softmax: s · ln(p + 1), where p + 1 is the number of keys of a causal attention, and s is learned by
     * each head. After Nakanishi, <em>Scalable-Softmax Is Superior for Attention</em> (2025).
     *
     * @param initialTemperature the initial value of s, finite, for example 0.43
     */
    record LearnedLogN(double initialTemperature) implements QueryScale {

        /** Creates the scale; throws {@link IllegalArgumentException} if the number is not finite. */
        public LearnedLogN {
            Check.that(
                    Double.isFinite(initialTemperature),
                    () -> "initialTemperature " + initialTemperature + ": expected a finite number; set it to 0.43");
        }

        /** {@return ln(p + 1), which the attention multiplies by s} */
        @Override
        public double factor(double position) {
            requirePosition(position);
            return StrictMath.log1p(position);
        }
    }

    /**
     * {@return the scale that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code type}, which is {@code FloorLogarithm}, {@code LogN} or {@code LearnedLogN}, and the
     *     components of that record by name
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    static QueryScale fromArguments(Map<?, ?> arguments) {
        return Settings.createOneOf(QueryScale.class, arguments);
    }

    @Override
    default Map<String, Object> getArguments() {
        return Settings.toMap((Record) this);
    }

    /**
     * Returns the factor of a query.
     *
     * @param position p, 0 or more and finite
     * @return 0 or more
     * @throws IllegalArgumentException if the position is outside its range
     */
    double factor(double position);

    @Override
    default int width() {
        return 1;
    }

    @Override
    default void write(double[] positions, FloatFormat format, ByteBuffer out) {
        Rows.requireRoom(positions.length, 1, format, out);
        for (int i = 0; i < positions.length; i++) {
            format.put(out, i, factor(positions[i]));
        }
    }

    private static void requirePosition(double position) {
        Check.that(
                position >= 0 && Double.isFinite(position),
                () -> "position " + position + ": expected 0 or more and finite; count positions from 0");
    }
}
