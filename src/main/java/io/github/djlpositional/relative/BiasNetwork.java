package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Activation;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.relative.ScoreTermBlock.Layer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** Fully connected layers that compute the biases of the heads from a few inputs for each query and key. */
final class BiasNetwork {

    static final UnaryOperator<NDArray> RELU = Activation::relu;

    /** x · sigmoid(x). */
    static final UnaryOperator<NDArray> SILU = x -> {
        TorchFunctions functions = TorchFunctions.of(x);
        return functions == null ? x.mul(Activation.sigmoid(x)) : functions.silu(x);
    };

    /** As in PyTorch. */
    private static final float EPSILON = 1e-5f;

    private final UnaryOperator<NDArray> activation;

    private final int hiddenSize;

    private final int headCount;

    private final List<Layer> layers = new ArrayList<>();

    /** The scale and the offset of each hidden layer's normalization; empty for none. */
    private final List<Layer> norms = new ArrayList<>();

    /**
     * Adds the parameters {@code weight1}, {@code bias1}, {@code weight2}, … to a block.
     *
     * @param activation the function after each hidden layer
     * @param isNormalized whether hidden layers are normalized, with the parameters {@code scale1}, {@code offset1}, …
     * @param lastBias whether the last layer has a bias
     * @param inputs the number of inputs
     * @param hiddenSize the number of units of a hidden layer
     * @param hiddenLayers the number of hidden layers, at least 1
     */
    BiasNetwork(
            ScoreTermBlock block,
            UnaryOperator<NDArray> activation,
            boolean isNormalized,
            boolean lastBias,
            int inputs,
            int hiddenSize,
            int hiddenLayers,
            int headCount) {
        this.activation = activation;
        this.hiddenSize = hiddenSize;
        this.headCount = headCount;
        for (int i = 1; i <= hiddenLayers; i++) {
            layers.add(block.addLayer("weight" + i, "bias" + i, i == 1 ? inputs : hiddenSize, hiddenSize));
            if (isNormalized) {
                norms.add(block.addNorm("scale" + i, "offset" + i, hiddenSize));
            }
        }
        int last = hiddenLayers + 1;
        layers.add(block.addLayer("weight" + last, lastBias ? "bias" + last : null, hiddenSize, headCount));
    }

    /**
     * {@return the biases of the heads, (N, n), of the data type of the inputs} A row for each unit instead of a column
     * takes half the time, and is the layout of the scores.
     *
     * @param inputs n columns of inputs, (inputs, n), FLOAT32 for a block of FLOAT16
     */
    NDArray biases(AttentionCall call, NDArray inputs) {
        TorchFunctions functions =
                isInParts() && isLarge(inputs) && !call.training() ? TorchFunctions.of(inputs) : null;
        if (functions != null) {
            NDArray[] arrays = layers.stream()
                    .flatMap(layer -> Stream.of(layer.weight(), layer.bias()))
                    .map(parameter -> parameter == null ? null : call.value(parameter, inputs))
                    .toArray(NDArray[]::new);
            return activation == RELU
                    ? functions.perceptron(inputs, arrays[0], arrays[1], arrays[2], arrays[3])
                    : functions.siluPerceptron(inputs, arrays);
        }
        NDArray x = inputs;
        for (int i = 0; i < layers.size(); i++) {
            x = linear(layers.get(i), call, i == 0 ? x : activation.apply(x));
            if (i < norms.size()) {
                x = normalized(norms.get(i), call, x);
            }
        }
        return x;
    }

    /**
     * The size of a bias for each query and key: in training, each hidden layer before and after its activation, for
     * the gradients.
     */
    long sizePerQueryAndKey(AttentionCall call) {
        long hiddenLayers = layers.size() - 1L;
        return ScoreTermBlock.sequences(call)
                * (call.training() ? 2 * hiddenLayers * hiddenSize : isInParts() ? headCount : hiddenSize);
    }

    /**
     * Whether {@link TorchFunctions} have this network: a hidden layer with ReLU, or two with SiLU, not normalized. Its
     * hidden units are computed in parts.
     */
    private boolean isInParts() {
        return norms.isEmpty() && layers.size() == (activation == RELU ? 2 : 3);
    }

    /** Whether a CPU computes more than a million hidden units, which do not fit in its caches. */
    private boolean isLarge(NDArray inputs) {
        return HostData.isHost(inputs.getDevice()) && inputs.getShape().get(1) * hiddenSize > 1 << 20;
    }

    private NDArray linear(Layer layer, AttentionCall call, NDArray x) {
        NDArray product = call.value(layer.weight(), x).matMul(x);
        if (layer.bias() == null) {
            return product;
        }
        NDArray bias = call.value(layer.bias(), x).expandDims(1);
        return Arithmetic.isInPlaceSafe(product) ? product.addi(bias) : product.add(bias);
    }

    private NDArray normalized(Layer norm, AttentionCall call, NDArray x) {
        return ScoreTermBlock.normalized(norm, call, x.transpose(1, 0), EPSILON).transpose(1, 0);
    }
}
