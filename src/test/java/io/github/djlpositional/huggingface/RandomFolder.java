package io.github.djlpositional.huggingface;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.weights.TensorNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Folders of small models with random numbers, as Hugging Face publishes models. */
public final class RandomFolder {

    private final Map<String, Object> header = new LinkedHashMap<>();
    private final List<float[]> data = new ArrayList<>();
    private int size;

    private RandomFolder() {}

    /**
     * Writes a model of text, with an output layer of its own, a model with an encoder and a decoder, or one of
     * pictures.
     *
     * @param config the values of its {@code config.json}, of a type without fused tensors
     * @return the folder
     */
    public static Path write(Path folder, Map<String, ?> config, NDManager manager) throws IOException {
        RandomFolder file = new RandomFolder();
        HuggingFaceConfig first = HuggingFaceConfig.of(config);
        TensorNames names = first.tensorNames();
        if (ModelType.WITH_DECODER.containsKey(config.get("model_type"))) {
            file.add(names, manager, first.stack().build(), new Shape(1, 1));
            HuggingFaceConfig decoder = HuggingFaceConfig.ofDecoder(config);
            Shape memory = new Shape(1, 1, first.input().build().getOutputSize());
            file.add(decoder.tensorNames(), manager, decoder.stack().build(), new Shape(1, 1), memory);
        } else if (VisionModel.isOfPictures(first)) {
            VisionTransformerBlock encoder = first.visionEncoder().build();
            initialize(encoder, manager, new VisionModel(first).inputShape());
            names.tensors(encoder).forEach(tensor -> file.add("", tensor));
        } else {
            TransformerStackBlock stack = first.withHead(first.stack()).build();
            initialize(stack, manager, new Shape(1, 1));
            names.tensors(stack).forEach(tensor -> file.add(names.getPrefix(), tensor));
            names.outputTensors(stack).forEach(tensor -> file.add("", tensor));
        }
        Files.writeString(folder.resolve("config.json"), JsonUtils.GSON.toJson(config));
        Files.write(folder.resolve("model.safetensors"), file.toBytes());
        return folder;
    }

    private static void initialize(Block block, NDManager manager, Shape... inputs) {
        block.setInitializer(new NormalInitializer(0.3f), parameter -> true);
        block.initialize(manager, DataType.FLOAT32, inputs);
    }

    private void add(TensorNames names, NDManager manager, TransformerStackBlock stack, Shape... inputs) {
        initialize(stack, manager, inputs);
        names.tensors(stack).forEach(tensor -> add("", tensor));
    }

    private void add(String prefix, TensorNames.Tensor tensor) {
        Parameter only = tensor.parameters().get(0);
        int bytes = Math.toIntExact(Float.BYTES * only.getShape().size());
        header.put(
                prefix + tensor.name(),
                Map.of("dtype", "F32", "shape", only.getShape().getShape(), "data_offsets", new int[] {
                    size, size + bytes
                }));
        data.add(only.getArray().toFloatArray());
        size += bytes;
    }

    private byte[] toBytes() {
        byte[] json = JsonUtils.GSON.toJson(header).getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES + json.length + size).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(json.length).put(json);
        data.forEach(values -> {
            for (float value : values) {
                bytes.putFloat(value);
            }
        });
        return bytes.array();
    }
}
