package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * One thing to measure.
 *
 * @param operation what is called
 * @param engine a DJL engine, or {@link #PYTHON}, whose operations are in {@code peers.py}
 * @param shape the sizes that the operation works with
 * @param type the data type of the input
 * @param kind the positions or the mask of an attention; null for anything else
 */
record Case(Operation operation, String engine, Shape shape, DataType type, AttentionKind kind) {

    static final String PYTORCH = "PyTorch";
    static final String MXNET = "MXNet";
    static final String PYTHON = "Python";

    /** A case on PyTorch in FLOAT32. */
    static Case of(Operation operation, Shape shape) {
        return new Case(operation, PYTORCH, shape, DataType.FLOAT32, null);
    }

    Case calling(Operation other) {
        return new Case(other, engine, shape, type, kind);
    }

    Case on(String otherEngine) {
        return new Case(operation, otherEngine, shape, type, kind);
    }

    Case in(DataType otherType) {
        return new Case(operation, engine, shape, otherType, kind);
    }

    Case with(AttentionKind otherKind) {
        return new Case(operation, engine, shape, type, otherKind);
    }

    /** The same with a small shape. */
    Case quick() {
        int last = shape.dimension() - 1;
        long[] sizes = LongStream.rangeClosed(0, last)
                .map(axis -> axis == last ? 64 : axis == last - 1 ? 8 : 1)
                .toArray();
        return new Case(operation, engine, new Shape(sizes), type, kind);
    }

    boolean isPython() {
        return engine.equals(PYTHON);
    }

    /** Whether the operation is there for the kind. */
    boolean exists() {
        boolean isDjlMask =
                operation.equals(Attentions.ATTEND_DJL_MASK) || operation.equals(Attentions.TRAIN_ATTENTION_DJL_MASK);
        return kind == null || (isPython() ? kind.isInPython() : kind.isMask() || !isDjlMask);
    }

    /** The shape, and what it is of, such as {@code 8 × 256 × 512, rotary}. */
    String label() {
        String detail = kind != null ? kind.text() : operation.isOnGpu() ? type.name() : operation.column();
        return sizes(" × ") + (detail.isEmpty() ? "" : ", " + detail);
    }

    String sizes(String separator) {
        return Arrays.stream(shape.getShape()).mapToObj(Long::toString).collect(Collectors.joining(separator));
    }
}
