package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.internal.Temporaries;
import java.util.ArrayList;
import java.util.List;

/** Fully connected layers that compute the biases of the heads from a few numbers about query and key. */
final class BiasNetwork {

    private final ScoreTermBlock block;
    private final boolean isSmooth;
    private final List<Parameter> weights = new ArrayList<>();
    private final List<Parameter> biases = new ArrayList<>();

    /**
     * Adds the parameters {@code weight1}, {@code bias1}, {@code weight2}, … to a block.
     *
     * @param block the block that has the parameters
     * @param isSmooth whether the activation is SiLU, x · sigmoid(x), instead of ReLU
     * @param lastBias whether the last layer has a bias
     * @param inputs the number of inputs
     * @param hidden the sizes of the hidden layers
     * @param heads the number of outputs
     */
    BiasNetwork(ScoreTermBlock block, boolean isSmooth, boolean lastBias, int inputs, List<Integer> hidden, int heads) {
        this.block = block;
        this.isSmooth = isSmooth;
        List<Integer> sizes = new ArrayList<>(hidden);
        sizes.add(heads);
        int width = inputs;
        for (int i = 0; i < sizes.size(); i++) {
            int outputs = sizes.get(i);
            weights.add(block.addWeights("weight" + (i + 1), width, new Shape(outputs, width)));
            boolean hasBias = lastBias || i < hidden.size();
            biases.add(hasBias ? block.addWeights("bias" + (i + 1), width, new Shape(outputs)) : null);
            width = outputs;
        }
    }

    /**
     * {@return the biases, (…, N), of the data type of the inputs; closed by temporaries}
     *
     * @param inputs (…, inputs), FLOAT32 for a block of FLOAT16
     */
    NDArray biases(Temporaries temporaries, AttentionCall call, NDArray inputs) {
        NDArray x = inputs;
        for (int i = 0; i < weights.size(); i++) {
            NDArray weight = block.value(temporaries, weights.get(i), call, inputs);
            NDArray bias = biases.get(i) == null ? null : block.value(temporaries, biases.get(i), call, inputs);
            NDArray layer = i == 0 ? x : activated(temporaries, x);
            x = temporaries.add(Linear.linear(layer, weight, bias).singletonOrThrow());
        }
        return x;
    }

    private NDArray activated(Temporaries temporaries, NDArray x) {
        return temporaries.add(isSmooth ? x.mul(temporaries.add(Activation.sigmoid(x))) : Activation.relu(x));
    }
}
