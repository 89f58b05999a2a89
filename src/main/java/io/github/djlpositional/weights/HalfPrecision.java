package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.options.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Rounds a trained model to {@code FLOAT16}, which takes half the memory of {@code FLOAT32}. */
public final class HalfPrecision {

    private HalfPrecision() {}

    /**
     * Replaces the arrays of all parameters of a model by {@code FLOAT16} ones, on the same devices and with the same
     * owners. Each number is rounded once, to nearest, ties to even. The model then expects {@code FLOAT16} inputs, or
     * token ids; it is saved and loaded in {@code FLOAT16}. If anything is rejected, no parameter has changed.
     *
     * <p>Call this before a predictor is created, and while no other thread uses the model. Until it returns, the model
     * takes 1.5 times its memory; {@link WeightLoader#allowRounding} rounds a file tensor by tensor.
     *
     * @param model an initialized block, on PyTorch; owned by the caller
     * @throws IllegalArgumentException if a parameter has no array or is not a floating-point one, or a number would
     *     become infinite
     * @throws UnsupportedOperationException if the engine is MXNet, which has no matrix products in FLOAT16 on a CPU
     */
    public static void round(Block model) {
        String origin = "the block " + Settings.classOf(model);
        Map<Parameter, NDArray> rounded = new LinkedHashMap<>();
        try {
            for (var entry : model.getParameters()) {
                Parameter parameter = entry.getValue();
                TensorPart part = TensorPart.whole(StoredTensor.of(origin, entry.getKey(), parameter));
                NDArray array = parameter.getArray();
                if ("MXNet".equals(array.getManager().getEngine().getEngineName())) {
                    throw new UnsupportedOperationException("MXNet has no matrix products in float16 on a CPU: expected"
                            + " a model on PyTorch; load it there");
                }
                DataTypes.requireEmbedding(array, part.toString());
                if (array.getDataType() != DataType.FLOAT16 && !rounded.containsKey(parameter)) {
                    rounded.put(parameter, rounded(part, array));
                }
            }
        } catch (IOException | MalformedModelException e) {
            throw new UncheckedIOException(new IOException(e)); // there is no file
        }
        rounded.forEach(HalfPrecision::replace);
    }

    private static NDArray rounded(TensorPart part, NDArray array) throws IOException, MalformedModelException {
        NDManager manager = array.getManager();
        try (NDManager staging = manager.newSubManager()) {
            NDArray half = part.read(staging, DataType.FLOAT16).reshape(array.getShape());
            half.attach(manager);
            NDScope.unregister(half);
            return half;
        }
    }

    private static void replace(Parameter parameter, NDArray half) {
        boolean hadGradient = parameter.getArray().hasGradient();
        parameter.close();
        // DJL takes an array only where there is neither an array nor a shape
        parameter.setShape(null);
        parameter.setArray(half);
        half.setRequiresGradient(hadGradient);
    }
}
