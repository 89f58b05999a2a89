package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** What a benchmark computes with: an engine, and arrays and blocks, which are freed with it. */
@State(Scope.Thread)
public abstract class Setting {

    private static final int CALLS_BEFORE_WAITING = 32;

    @Param("PyTorch")
    String engine;

    /** {@code cpu}, or {@code gpu0}. */
    @Param("cpu")
    String device;

    @Param("FLOAT32")
    DataType type;

    /** The number of threads of PyTorch; 0 for the engine's default. */
    @Param("0")
    int threads;

    NDManager manager;
    ParameterStore store;

    /** Gets the result of each call; null for nothing. */
    Consumer<NDArray> results;

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private int calls;

    /** Makes what is measured. */
    abstract void prepare() throws Exception;

    /** Starts the engine and prepares. */
    @Setup
    public final void setUp() throws Exception {
        if (threads > 0) { // the engine reads it when it starts
            System.setProperty("ai.djl.pytorch.num_threads", Integer.toString(threads));
        }
        manager = own(Engine.getEngine(engine).newBaseManager(Device.fromName(device)));
        store = new ParameterStore(manager, false);
        if (!manager.getDevice().equals(Device.cpu())) {
            results = this::waitNowAndThen;
        }
        prepare();
    }

    /** Frees everything, the latest first. */
    @TearDown
    public final void tearDown() throws Exception {
        while (!owned.isEmpty()) {
            owned.pop().close();
        }
    }

    /** A GPU works behind the program: one call of many waits, by reading a number of its result. */
    private void waitNowAndThen(NDArray result) {
        if (++calls % CALLS_BEFORE_WAITING == 0) {
            try (NDArray corner = result.flatten().get("0:1");
                    NDArray read = corner.toDevice(Device.cpu(), true)) {
                read.toByteBuffer();
            }
        }
    }

    /** Ends a call: closes its result. */
    final void finish(NDResource result) {
        if (results != null) {
            results.accept(result.getResourceNDArrays().get(0));
        }
        result.close();
    }

    final <T extends AutoCloseable> T own(T resource) {
        owned.push(resource);
        return resource;
    }

    /** The shape that a parameter writes as {@code 8x256x512}. */
    static Shape shape(String text) {
        return new Shape(
                Arrays.stream(text.split("x", -1)).mapToLong(Long::parseLong).toArray());
    }

    /** Initializes a block, with the same random parameters in each setting that asks for the same. */
    final <B extends Block> B initialized(B block, Shape... inputs) {
        manager.getEngine().setRandomSeed(2);
        block.initialize(manager, type, inputs);
        own(block::clear);
        return block;
    }

    /** Random numbers in [-1, 1), the same in each setting that asks for the same. */
    final NDArray numbers(Shape shape) {
        manager.getEngine().setRandomSeed(1);
        return manager.randomUniform(-1, 1, shape).toType(type, false);
    }

    /** Scattered numbers of {0, …, bound - 1}. */
    final NDArray ids(Shape shape, int bound) {
        int[] ids = IntStream.range(0, Math.toIntExact(shape.size()))
                .map(i -> (int) (i * 7919L % bound))
                .toArray();
        return manager.create(ids, shape);
    }

    final NDList forward(Block block, NDArray... inputs) {
        return block.forward(store, new NDList(inputs), false);
    }

    /** A computation that frees all arrays but its result. */
    static NDArray scoped(Supplier<NDArray> computation) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray result = computation.get();
            NDScope.unregister(result);
            return result;
        }
    }

    /** A forward and the backward from the sum of its result. */
    final NDArray backward(Supplier<NDArray> forward) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            return scoped(() -> {
                NDArray result = forward.get();
                collector.backward(result.sum());
                return result;
            });
        }
    }
}
