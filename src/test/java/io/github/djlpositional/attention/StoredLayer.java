package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.weights.WeightFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A layer that {@code src/test/python/make_layers.py} wrote: weights, inputs, outputs and gradients, in FLOAT64. */
public final class StoredLayer {

    private final Map<String, NDArray> tensors = new HashMap<>();

    public StoredLayer(NDManager manager, String name) throws Exception {
        WeightFile file = WeightFile.open(Path.of("src/test/resources/layers", name + ".safetensors"));
        for (String tensor : file.getTensors().keySet()) {
            NDArray array = file.read(manager, tensor);
            array.setName(tensor);
            tensors.put(tensor, array);
        }
    }

    /** The tensor with a name. */
    public NDArray get(String name) {
        return tensors.get(name);
    }

    /** The tensor with a name, rounded. */
    public NDArray get(String name, DataType type) {
        return tensors.get(name).toType(type, false);
    }

    /** Initializes a block, and gives it the weights. */
    public TransformerLayerBlock load(NDManager manager, TransformerLayerBlock layer, DataType type) {
        NDArray x = get("input");
        Shape[] shapes = layer.getCrossAttention() == null
                ? new Shape[] {x.getShape()}
                : new Shape[] {x.getShape(), get("memory").getShape()};
        layer.initialize(manager, type, shapes);
        parametersOf(layer, "")
                .forEach((parameter, tensor) -> tensor.toType(type, false).copyTo(parameter.getArray()));
        return layer;
    }

    /** The tensors of a layer's parameters, or their gradients. */
    public Map<Parameter, NDArray> parametersOf(TransformerLayerBlock layer, String prefix) {
        Map<Parameter, NDArray> found = new LinkedHashMap<>();
        List<RelativeEncoding> encodings = layer.getAttention().getRelativeEncodings();
        if (!encodings.isEmpty() && encodings.get(0) instanceof WindowBiasBlock window) {
            addSwins(found, layer, prefix);
            found.put(window.getBiases(), get(prefix + "attn.relative_position_bias_table"));
        } else if (layer.getGateProjection() == null) {
            addTorchs(found, layer, prefix);
        } else {
            addLlamas(found, layer, prefix);
        }
        assertThat(found).hasSize(layer.getParameters().size());
        return found;
    }

    /** Under the names of {@code nn.TransformerEncoderLayer} and {@code nn.TransformerDecoderLayer}. */
    private void addTorchs(Map<Parameter, NDArray> found, TransformerLayerBlock layer, String prefix) {
        MultiHeadAttentionBlock cross = layer.getCrossAttention();
        addTorchs(found, layer.getAttention(), prefix + "self_attn.");
        addNorm(found, layer.getAttentionNorm(), prefix + "norm1");
        if (cross != null) {
            addTorchs(found, cross, prefix + "multihead_attn.");
            addNorm(found, layer.getCrossAttentionNorm(), prefix + "norm2");
        }
        add(found, layer.getHiddenProjection(), prefix + "linear1");
        add(found, layer.getOutputProjection(), prefix + "linear2");
        addNorm(found, layer.getFeedForwardNorm(), prefix + (cross == null ? "norm2" : "norm3"));
    }

    /** Under the names of torchvision's {@code SwinTransformerBlock}. */
    private void addSwins(Map<Parameter, NDArray> found, TransformerLayerBlock layer, String prefix) {
        addJoined(found, layer.getAttention(), prefix + "attn.qkv.");
        add(found, layer.getAttention().getResultProjection(), prefix + "attn.proj");
        addNorm(found, layer.getAttentionNorm(), prefix + "norm1");
        add(found, layer.getHiddenProjection(), prefix + "mlp.0");
        add(found, layer.getOutputProjection(), prefix + "mlp.3");
        addNorm(found, layer.getFeedForwardNorm(), prefix + "norm2");
    }

    private void addTorchs(Map<Parameter, NDArray> found, MultiHeadAttentionBlock attention, String prefix) {
        addJoined(found, attention, prefix + "in_proj_");
        add(found, attention.getResultProjection(), prefix + "out_proj");
    }

    /** The projections of queries, keys and values in one array. */
    private void addJoined(Map<Parameter, NDArray> found, MultiHeadAttentionBlock attention, String prefix) {
        NDList weights = get(prefix + "weight").split(3);
        NDList biases = get(prefix + "bias").split(3);
        List<Linear> projections =
                List.of(attention.getQueryProjection(), attention.getKeyProjection(), attention.getValueProjection());
        for (int i = 0; i < 3; i++) {
            found.put(parameter(projections.get(i), "weight"), weights.get(i));
            found.put(parameter(projections.get(i), "bias"), biases.get(i));
        }
    }

    private void addLlamas(Map<Parameter, NDArray> found, TransformerLayerBlock layer, String prefix) {
        MultiHeadAttentionBlock attention = layer.getAttention();
        Map<String, Block> blocks = Map.of(
                "q_proj", attention.getQueryProjection(),
                "k_proj", attention.getKeyProjection(),
                "v_proj", attention.getValueProjection(),
                "o_proj", attention.getResultProjection(),
                "gate_proj", layer.getGateProjection(),
                "up_proj", layer.getHiddenProjection(),
                "down_proj", layer.getOutputProjection());
        blocks.forEach((name, block) -> found.put(parameter(block, "weight"), get(prefix + name + ".weight")));
        found.put(parameter(layer.getAttentionNorm(), "gamma"), get(prefix + "input_layernorm.weight"));
        found.put(parameter(layer.getFeedForwardNorm(), "gamma"), get(prefix + "post_attention_layernorm.weight"));
    }

    private void add(Map<Parameter, NDArray> found, Block linear, String name) {
        found.put(parameter(linear, "weight"), get(name + ".weight"));
        found.put(parameter(linear, "bias"), get(name + ".bias"));
    }

    private void addNorm(Map<Parameter, NDArray> found, Block norm, String name) {
        found.put(parameter(norm, "gamma"), get(name + ".weight"));
        found.put(parameter(norm, "beta"), get(name + ".bias"));
    }

    private static Parameter parameter(Block block, String name) {
        return block.getDirectParameters().get(name);
    }
}
