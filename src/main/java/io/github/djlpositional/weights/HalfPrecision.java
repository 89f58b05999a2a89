package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.options.Settings;
import java.io.IOException;
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
        Map<Parameter, StoredTensor> tensors = new LinkedHashMap<>();
        for (var entry : model.getParameters()) {
            StoredTensor tensor = StoredTensor.of(origin, entry.getKey(), entry.getValue());
            NDArray array = entry.getValue().getArray();
            if ("MXNet".equals(array.getManager().getEngine().getEngineName())) {
                throw new UnsupportedOperationException("MXNet has no matrix products in float16 on a CPU: expected a"
                        + " model on PyTorch; load it there");
            }
            DataTypes.requireEmbedding(array, tensor.toString());
            if (array.getDataType() != DataType.FLOAT16) {
                tensors.put(entry.getValue(), tensor);
            }
        }
        if (tensors.isEmpty()) {
            return;
        }
        NDManager manager = tensors.keySet().iterator().next().getArray().getManager();
        try (NDManager staging = manager.newSubManager(Device.cpu())) {
            Map<Parameter, NDArray> rounded = new LinkedHashMap<>();
            for (Parameter parameter : tensors.keySet()) {
                rounded.put(parameter, TensorSlice.whole(tensors.get(parameter)).read(staging, DataType.FLOAT16));
            }
            rounded.forEach(HalfPrecision::replace);
        } catch (IOException | MalformedModelException e) {
            throw new IllegalStateException(e); // there is no file
        }
    }

    private static void replace(Parameter parameter, NDArray half) {
        NDArray before = parameter.getArray();
        boolean hadGradient = before.hasGradient();
        NDArray array = half.reshape(before.getShape()).toDevice(before.getDevice(), false);
        array.attach(before.getManager());
        NDScope.unregister(array);
        parameter.close();
        // DJL takes an array only where there is neither an array nor a shape
        parameter.setShape(null);
        parameter.setArray(array);
        array.setRequiresGradient(hadGradient);
    }
}
