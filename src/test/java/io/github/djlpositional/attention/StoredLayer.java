package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.GradientCollector;
import ai.djl.util.Pair;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** A layer that {@code src/test/python/make_layers.py} wrote: weights, inputs, outputs and gradients, in FLOAT64. */
public final class StoredLayer {

    private static final Shape TOKENS = new Shape(-1, -1, 8);

    private final NDManager manager;
    private final WeightFile file;

    public StoredLayer(NDManager manager, String name) throws Exception {
        this.manager = manager;
        file = WeightFile.open(Path.of("src/test/resources/layers", name + ".safetensors"));
    }

    /** The tensor with a name. */
    public NDArray get(String name) throws Exception {
        return file.read(manager, name);
    }

    /** The tensor with a name, rounded. */
    public NDArray get(String name, DataType type) throws Exception {
        return get(name).toType(type, false);
    }

    /** Initializes a layer, and gives it the weights. */
    public TransformerLayerBlock load(TransformerLayerBlock layer) throws Exception {
        return load(layer, "");
    }

    /** Checks the gradients of the output of a forward by the inputs and by the parameters of a layer. */
    public void requireGradients(
            TransformerLayerBlock layer, Supplier<NDArray> forward, double tolerance, NDArray... inputs)
            throws Exception {
        Stream.of(inputs).forEach(input -> input.setRequiresGradient(true));
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(forward.get().mul(get("gradient_weight")).sum());
        }
        for (int i = 0; i < inputs.length; i++) {
            NDArray expected = get(i == 0 ? "gradient.input" : "gradient.memory");
            requireClose(inputs[i].getGradient(), doubles(expected), tolerance);
        }
        TransformerLayerBlock gradients = load(TransformerLayerBlock.fromArguments(layer.getArguments()), "gradient.");
        for (Pair<String, Parameter> entry : layer.getParameters()) {
            NDArray expected = gradients.getParameters().get(entry.getKey()).getArray();
            requireClose(entry.getValue().getArray().getGradient(), doubles(expected), tolerance);
        }
    }

    private TransformerLayerBlock load(TransformerLayerBlock layer, String prefix) throws Exception {
        boolean isDecoder = layer.getCrossAttention() != null;
        layer.initialize(manager, DataType.FLOAT64, isDecoder ? new Shape[] {TOKENS, TOKENS} : new Shape[] {TOKENS});
        WeightLoader loader = WeightLoader.of(file).allowUnused("*");
        List<RelativeEncoding> encodings = layer.getAttention().getRelativeEncodings();
        if (!encodings.isEmpty()) {
            addSwins(loader, layer, (WindowBiasBlock) encodings.get(0), prefix);
        } else if (layer.getFeedForward().getGateProjection() == null) {
            loader.module(prefix, layer);
        } else {
            addLlamas(loader, layer, prefix);
        }
        loader.load(layer);
        return layer;
    }

    /** Under the names of torchvision's {@code SwinTransformerBlock}. */
    private static void addSwins(
            WeightLoader loader, TransformerLayerBlock layer, WindowBiasBlock biases, String prefix) {
        MultiHeadAttentionBlock attention = layer.getAttention();
        List<Linear> projections =
                List.of(attention.getQueryProjection(), attention.getKeyProjection(), attention.getValueProjection());
        for (int i = 0; i < 3; i++) {
            for (Pair<String, Parameter> entry : projections.get(i).getParameters()) {
                loader.rows(prefix + "attn.qkv." + entry.getKey(), 8L * i, 8L * (i + 1), entry.getValue());
            }
        }
        loader.table(prefix + "attn.relative_position_bias_table", biases.getBiases())
                .module(prefix + "attn.proj.", attention.getResultProjection())
                .module(prefix + "norm1.", layer.getAttentionNorm())
                .module(prefix + "mlp.0.", layer.getFeedForward().getHiddenProjection())
                .module(prefix + "mlp.3.", layer.getFeedForward().getOutputProjection())
                .module(prefix + "norm2.", layer.getFeedForwardNorm());
    }

    private static void addLlamas(WeightLoader loader, TransformerLayerBlock layer, String prefix) {
        MultiHeadAttentionBlock attention = layer.getAttention();
        loader.module(prefix + "q_proj.", attention.getQueryProjection())
                .module(prefix + "k_proj.", attention.getKeyProjection())
                .module(prefix + "v_proj.", attention.getValueProjection())
                .module(prefix + "o_proj.", attention.getResultProjection())
                .module(prefix + "gate_proj.", layer.getFeedForward().getGateProjection())
                .module(prefix + "up_proj.", layer.getFeedForward().getHiddenProjection())
                .module(prefix + "down_proj.", layer.getFeedForward().getOutputProjection())
                .module(prefix + "input_layernorm.", layer.getAttentionNorm())
                .module(prefix + "post_attention_layernorm.", layer.getFeedForwardNorm());
    }
}
