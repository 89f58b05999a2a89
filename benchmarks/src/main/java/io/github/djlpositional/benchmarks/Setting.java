package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * What a case works with: its arrays and blocks, which are freed with it.
 *
 * @param owned what is closed, the latest first
 */
record Setting(Case of, NDManager manager, ParameterStore store, Deque<AutoCloseable> owned) implements AutoCloseable {

    static Setting of(Case measured) {
        Engine engine = Engine.getEngine(measured.engine());
        boolean isOnGpu = measured.operation().isOnGpu() && engine.getGpuCount() > 0;
        NDManager manager = engine.newBaseManager(isOnGpu ? Device.gpu() : Device.cpu());
        return new Setting(measured, manager, new ParameterStore(manager, false), new ArrayDeque<>(List.of(manager)));
    }

    /** Whether MXNet and its native library, which carries a description with it, are on the class path. */
    static boolean hasMxnet() {
        return Engine.hasEngine(Case.MXNET) && Setting.class.getResource("/native/lib/mxnet.properties") != null;
    }

    static boolean hasGpu() {
        return Engine.getEngine(Case.PYTORCH).getGpuCount() > 0;
    }

    Shape shape() {
        return of.shape();
    }

    /** The size of an axis of the shape. */
    int size(int axis) {
        return Math.toIntExact(shape().get(axis));
    }

    /** Closes this before anything that was made before it. */
    <T extends AutoCloseable> T own(T resource) {
        owned.push(resource);
        return resource;
    }

    <B extends Block> B initialized(B block, Shape... inputs) {
        block.initialize(manager, of.type(), inputs);
        own(block::clear);
        return block;
    }

    /** Random numbers in [-1, 1), the same in every setting that asks for the same. */
    NDArray numbers(Shape shape) {
        manager.getEngine().setRandomSeed(1);
        return manager.randomUniform(-1, 1, shape).toType(of.type(), false);
    }

    NDArray x() {
        return numbers(shape());
    }

    /** Scattered numbers of {0, …, bound - 1}. */
    NDArray ids(Shape shape, int bound) {
        int[] ids = IntStream.range(0, Math.toIntExact(shape.size()))
                .map(i -> (int) (i * 7919L % bound))
                .toArray();
        return manager.create(ids, shape);
    }

    NDList forward(Block block, NDArray... inputs) {
        return block.forward(store, new NDList(inputs), false);
    }

    /** A forward that frees all arrays but the result. */
    NDArray scoped(Supplier<NDArray> forward) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray result = forward.get();
            NDScope.unregister(result);
            return result;
        }
    }

    /** A forward and the backward from the sum of its result. */
    NDArray backward(Supplier<NDArray> forward) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            return scoped(() -> {
                NDArray result = forward.get();
                collector.backward(result.sum());
                return result;
            });
        }
    }

    @Override
    public void close() {
        try {
            while (!owned.isEmpty()) {
                owned.pop().close();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
