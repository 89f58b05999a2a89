package io.github.djlpositional.math;

import io.github.djlpositional.arguments.internal.Check;

/** The kinds of {@link QueryScale}, whose factories document them. */
final class QueryScales {

    private QueryScales() {}

    record FloorLogarithm(double coefficient, double length) implements QueryScale {

        FloorLogarithm {
            Check.that(
                    coefficient >= 0 && Double.isFinite(coefficient),
                    () -> "coefficient " + coefficient
                            + ": expected 0 or more and finite; set it to the model's, 0.1 in" + " Llama 4");
            Check.positive("length", length, "8192 in Llama 4");
        }

        @Override
        public double factor(double position) {
            requirePosition(position);
            return coefficient * StrictMath.log(Math.floor((position + 1) / length) + 1) + 1;
        }
    }

    record LogN(int trainedLength) implements QueryScale {

        LogN {
            Check.between("trainedLength", trainedLength, 2, Integer.MAX_VALUE);
        }

        @Override
        public double factor(double position) {
            requirePosition(position);
            return Math.max(1, StrictMath.log(position + 1) / StrictMath.log(trainedLength));
        }
    }

    private static void requirePosition(double position) {
        Check.that(
                position >= 0 && Double.isFinite(position),
                () -> "position " + position + ": expected 0 or more and finite; count positions from 0");
    }
}
