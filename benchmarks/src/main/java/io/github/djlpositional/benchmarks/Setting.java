package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;

/** What every benchmark works with: an engine, a manager that frees whatever a call leaves, and a parameter store. */
final class Setting implements AutoCloseable {

    private final NDManager manager;

    Setting(String engine) {
        this(engine, Device.cpu());
    }

    Setting(String engine, Device device) {
        manager = Engine.getEngine(engine).newBaseManager(device);
    }

    /** Whether MXNet and its native library, which carries a description with it, are on the class path. */
    static boolean hasMxnet() {
        return Engine.hasEngine("MXNet") && Setting.class.getResource("/native/lib/mxnet.properties") != null;
    }

    /** Whether an engine finds a GPU. */
    static boolean hasGpu(String engine) {
        return Engine.getEngine(engine).getGpuCount() > 0;
    }

    /** The first GPU, or where there is none the CPU. */
    static Device gpuOrCpu(String engine) {
        return hasGpu(engine) ? Device.gpu() : Device.cpu();
    }

    NDManager manager() {
        return manager;
    }

    ParameterStore store() {
        return new ParameterStore(manager, false);
    }

    /** Random floats in [-1, 1). */
    NDArray numbers(Shape shape) {
        return manager.randomUniform(-1, 1, shape, DataType.FLOAT32);
    }

    /** A mask of tokens, (B, F), of which the last quarter is padding. */
    NDArray tokens(Shape sizes) {
        long length = sizes.get(1);
        NDArray row = manager.arange(0f, (float) length, 1f).lt(AttentionKind.tokensOf(length));
        return row.toType(DataType.FLOAT32, true).reshape(1, length).broadcast(sizes);
    }

    /** A shape from its text, such as {@code 32x128x512}; what follows a colon is not part of it. */
    static Shape shape(String text) {
        String[] sizes = text.split(":", 2)[0].split("x", -1);
        long[] shape = new long[sizes.length];
        for (int i = 0; i < sizes.length; i++) {
            shape[i] = Long.parseLong(sizes[i]);
        }
        return new Shape(shape);
    }

    @Override
    public void close() {
        manager.close();
    }
}
