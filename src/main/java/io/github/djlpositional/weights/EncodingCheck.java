package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Compares a saved table of sinusoids with the exact one. */
final class EncodingCheck {

    private static final int VALUES_AT_ONCE = 1 << 16;

    private final StoredTensor tensor;
    private final SinusoidalEncoding encoding;
    private final int width;
    private final long height;

    EncodingCheck(StoredTensor tensor, SinusoidalEncoding encoding) {
        this.tensor = tensor;
        this.encoding = encoding;
        width = encoding.getEmbeddingSize();
        height = tensor.shape().size() / width;
    }

    /** Refuses a tensor that is no table of the encoding's size, or of no real numbers. */
    void requireTable() {
        if (tensor.type() == null) {
            throw new IllegalArgumentException(tensor + " has type " + Quoted.text(tensor.typeName())
                    + ": allowed for encodings are F16, BF16, F32 and F64; give the name of a table of positions");
        }
        Shape shape = tensor.shape();
        int rank = shape.dimension();
        boolean isTable = rank == 2 || (rank == 3 && (shape.get(0) == 1 || shape.get(1) == 1));
        if (!isTable || shape.get(rank - 1) != width || shape.size() == 0) {
            throw new IllegalArgumentException(
                    tensor + " has shape " + shape + ": allowed is (n, " + width + "), (1, n, "
                            + width + ") or (n, 1, " + width + ") for " + encoding
                            + "; give the name of a table of positions, or an encoding of its size");
        }
    }

    /** Refuses a tensor whose numbers are not those of the encoding from position 0 on. */
    void requireValues() throws IOException, MalformedModelException {
        long size = tensor.shape().size();
        ByteBuffer raw = ByteBuffer.allocate(
                (int) Math.min(size, VALUES_AT_ONCE) * tensor.type().bytes());
        try (TensorReader reader = TensorReader.open(tensor)) {
            for (long first = 0; first < size; first += VALUES_AT_ONCE) {
                int count = (int) Math.min(VALUES_AT_ONCE, size - first);
                reader.read(count, raw);
                for (int i = 0; i < count; i++) {
                    requireValue(first + i, tensor.type().get(raw, i));
                }
            }
            reader.requireEnd();
        }
    }

    private void requireValue(long index, double found) {
        long position = tensor.isColumnMajor() ? index % height : index / width;
        int dimension = (int) (tensor.isColumnMajor() ? index / height : index % width);
        double expected = encoding.value((double) position, dimension);
        // false for what is no number, too
        if (!(Math.abs(found - expected) <= tolerance(position, dimension))) {
            throw new IllegalArgumentException(tensor + " has " + found + " at position " + position + ", dimension "
                    + dimension + ", where " + encoding + " has " + expected
                    + ": allowed is what float arithmetic makes of it; give the encoding that the tensor was made with,"
                    + " or load it as a learned table");
        }
    }

    /**
     * How far published code may be from the true value sin(p·θ), or cos(p·θ), when it computes in {@code float} on a CPU, one
     * rounding being a relative 2⁻²⁴:
     *
     * <ul>
     *   <li>θ = exp(k · c), as in PyTorch's tutorial and tensor2tensor: c and k · c are rounded, so that the exponent, which is
     *       ln θ, is wrong by |ln θ| · 2⁻²³, and θ relatively by as much; exp itself adds at most an ulp, 2⁻²³.
     *   <li>θ = 1 / base^(2k/d), as in the book: 2k/d is rounded, which makes θ wrong by |ln θ| · 2⁻²⁴; the power adds at most
     *       an ulp, 2⁻²³, the quotient 2⁻²⁴.
     *   <li>Where frequencies are multiplied by a factor, as those of diffusion models, the exponent is that of θ / θ₀, θ₀ being the
     *       first: whichever of both is greater counts.
     *   <li>p · θ is rounded: 2⁻²⁴ more. So the angle is wrong by at most p·θ · (|ln θ| · 2⁻²³ + 2⁻²²), and the sine by no more
     *       than the angle, its slope being 1 at most.
     *   <li>The sine itself adds at most an ulp, 2⁻²⁴ below 1; storing it adds half an ulp of the stored type.
     * </ul>
     *
     * Code that computes in {@code double} is within that too.
     */
    private double tolerance(long position, int dimension) {
        double frequency = Math.abs(encoding.frequency(dimension));
        double angle = frequency == 0 ? 0 : position * frequency * (exponent(frequency) * 0x1p-23 + 0x1p-22);
        return angle + 0x1p-24 + tensor.type().halfUlp();
    }

    private double exponent(double frequency) {
        double first = Math.abs(encoding.frequency(0));
        double unscaled = first == 0 ? 0 : Math.log(frequency / first);
        return Math.max(Math.abs(Math.log(frequency)), Math.abs(unscaled));
    }
}
