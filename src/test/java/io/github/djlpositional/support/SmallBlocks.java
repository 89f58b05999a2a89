package io.github.djlpositional.support;

import static io.github.djlpositional.attention.TestNumbers.doubles;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.options.HasArguments;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Small blocks, their inputs, and what tests do with them. */
public final class SmallBlocks {

    /** The data types of embeddings. */
    public static final List<DataType> TYPES = List.of(DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16);

    private SmallBlocks() {}

    /** D = 4, at most 10 positions. */
    public static PositionalEncodingBlock.Builder positions() {
        return PositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
    }

    /** D = 4, at most 10 positions. */
    public static LearnedPositionalEncodingBlock.Builder learned() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
    }

    /** V = 7, D = 4. */
    public static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder().setVocabularySize(7).setEmbeddingSize(4);
    }

    /** Token ids (2, 3): 0 and 3 occur twice, 1 and 6 once. */
    public static NDArray ids(NDManager manager) {
        return manager.create(new long[] {1, 0, 6, 3, 3, 0}, new Shape(2, 3));
    }

    /** A model on the CPU with a block. */
    public static Model model(Engine engine, Block block) {
        Model model = Model.newInstance("small", Device.cpu(), engine.getEngineName());
        model.setBlock(block);
        return model;
    }

    public static <B extends Block> B initialized(NDManager manager, B block, long... shape) {
        block.initialize(manager, DataType.FLOAT32, new Shape(shape));
        return block;
    }

    /**
     * A forward in training. The gradients of the sum of the output, each number multiplied by its weight, are
     * computed.
     *
     * @param weights the shape of the output
     */
    public static void train(NDManager manager, Block block, NDArray weights, NDArray... inputs) {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = Forward.train(manager, block, inputs);
            collector.backward(y.mul(weights).sum());
        }
    }

    /** The fraction of zeros in the output of a forward in training. */
    public static double dropped(NDManager manager, Block block, NDArray input) {
        double[] y = doubles(Forward.trainRecorded(manager, block, input));
        return Arrays.stream(y).filter(value -> value == 0).count() / (double) y.length;
    }

    /** Calls a method by reflection; throws its exception. */
    public static Object call(Method method, Object on, Object... arguments) throws Exception {
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    public static HasArguments fromArguments(Class<?> type, Map<?, ?> arguments) throws Exception {
        return (HasArguments) call(type.getMethod("fromArguments", Map.class), null, arguments);
    }
}
