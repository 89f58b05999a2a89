package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;

import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;

/** What several chapters compute of vectors, which are arrays of numbers. */
public final class Vectors {

    private Vectors() {}

    /** Returns a row of a sinusoidal encoding; the position need not be a whole number. */
    public static double[] row(SinusoidalEncoding encoding, double t) {
        return each(encoding.getEmbeddingSize(), i -> encoding.value(t, i));
    }

    public static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    public static double norm(double... vector) {
        return Math.sqrt(dot(vector, vector));
    }

    /** Returns the dot product divided by both norms. */
    public static double cosine(double[] a, double[] b) {
        return dot(a, b) / norm(a) / norm(b);
    }

    /** Multiplies a matrix by a vector. */
    public static double[] times(double[][] matrix, double[] vector) {
        return Arrays.stream(matrix).mapToDouble(row -> dot(row, vector)).toArray();
    }

    public static double mean(double... numbers) {
        return Arrays.stream(numbers).average().orElseThrow();
    }

    /** Returns the number below which a share of the numbers lies, from 0 to less than 1. */
    public static double quantile(double share, double... numbers) {
        return Arrays.stream(numbers).sorted().toArray()[(int) (share * numbers.length)];
    }
}
