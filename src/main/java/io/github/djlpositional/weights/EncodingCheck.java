package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;

/** Compares a saved sinusoidal table with the exact one. */
record EncodingCheck(StoredTensor tensor, SinusoidalEncoding encoding) {

    private static final int VALUES_AT_ONCE = 1 << 16;

    /** Checks that the tensor is a table of real numbers of the encoding's size. */
    void requireTable() {
        Check.that(
                tensor.type() != null && tensor.type().isReal(),
                () -> tensor + " has type " + InvalidFileException.quoted(tensor.typeName())
                        + ": expected F16, BF16, F32 or F64; give the name of a sinusoidal table");
        Shape shape = tensor.shape();
        int width = encoding.getEmbeddingSize();
        int rank = shape.dimension();
        boolean isTable = rank == 2 || (rank == 3 && (shape.get(0) == 1 || shape.get(1) == 1));
        Check.that(
                isTable && shape.get(rank - 1) == width && shape.size() > 0,
                () -> tensor + " has shape " + shape + ": expected (n, " + width + "), (1, n, " + width + ") or (n, 1, "
                        + width + ") for " + encoding
                        + "; give the name of a sinusoidal table, or an encoding of its size");
    }

    /** Checks that the tensor has the encoding's values from position 0. */
    void requireValues() throws IOException, MalformedModelException {
        tensor.read(0, tensor.shape().size(), VALUES_AT_ONCE, (first, count, raw) -> {
            for (int i = 0; i < count; i++) {
                requireValue(first + i, tensor.type().get(raw, i));
            }
        });
    }

    private void requireValue(long index, double found) {
        int width = encoding.getEmbeddingSize();
        long height = tensor.shape().size() / width;
        long position = tensor.isColumnMajor() ? index % height : index / width;
        int dimension = (int) (tensor.isColumnMajor() ? index / height : index % width);
        double expected = encoding.value((double) position, dimension);
        // also false for NaN
        if (!(Math.abs(found - expected) <= tolerance(position, dimension))) {
            throw new IllegalArgumentException(tensor + " has " + found + " at position " + position + ", dimension "
                    + dimension + ": expected " + expected + " as in " + encoding + ", within the error of float"
                    + " arithmetic; give the encoding of the tensor, or load it as a learned table");
        }
    }

    /**
     * Returns the greatest error of published code that computes sin(p·θ) or cos(p·θ) in {@code float} on a CPU, where
     * each rounding has a relative error of up to 2⁻²⁴:
     *
     * <ul>
     *   <li>θ = exp(k · c), as in PyTorch's tutorial and tensor2tensor: c and k · c are rounded, so θ has a relative
     *       error of |ln θ| · 2⁻²³; exp itself adds up to one ulp, 2⁻²³. θ = 1 / base^(2k/d) has a smaller error. If
     *       frequencies are multiplied by a factor, as in diffusion models, the exponent is that of θ / θ₀, where θ₀ is
     *       the first frequency: the greater of the two counts.
     *   <li>p · θ is rounded, 2⁻²⁴ more. So the error of the angle is up to p·θ · (|ln θ| · 2⁻²³ + 2⁻²²), and so is the
     *       error of the sine, whose slope is 1 at most.
     *   <li>The sine itself adds up to one ulp, 2⁻²⁴ below 1; storing it adds half an ulp of the stored type.
     * </ul>
     */
    private double tolerance(long position, int dimension) {
        double rounding = 0x1p-24 + tensor.type().halfUlp();
        double frequency = Math.abs(encoding.frequency(dimension));
        double first = Math.abs(encoding.frequency(0));
        if (frequency == 0) {
            return rounding;
        }
        double unscaled = first == 0 ? 0 : Math.abs(Math.log(frequency / first));
        double exponent = Math.max(Math.abs(Math.log(frequency)), unscaled);
        return position * frequency * (exponent * 0x1p-23 + 0x1p-22) + rounding;
    }
}
