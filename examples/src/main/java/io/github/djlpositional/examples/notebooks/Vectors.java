package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.stream.IntStream;

/** Positions as vectors, and what is between two of them, in double. */
final class Vectors {

    private Vectors() {}

    /** A position's encoding. */
    static double[] of(SinusoidalEncoding encoding, double position) {
        return IntStream.range(0, encoding.getEmbeddingSize())
                .mapToDouble(dimension -> encoding.value(position, dimension))
                .toArray();
    }

    static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    static double distance(double[] a, double[] b) {
        return Math.sqrt(IntStream.range(0, a.length)
                .mapToDouble(i -> (a[i] - b[i]) * (a[i] - b[i]))
                .sum());
    }
}
