package io.github.djlpositional.refusals;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceRope;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.weights.WeightLoader;
import io.github.djlpositional.weights.Weights;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The functions that expressions of case files call. */
@SuppressWarnings("unused") // by reflection
final class Calls {

    private final NDManager manager;

    Calls(NDManager manager) {
        this.manager = manager;
    }

    NDManager manager() {
        return manager;
    }

    NDArray infer(Block block, NDArray... inputs) {
        return Forward.infer(manager, block, inputs);
    }

    NDArray infer(PairList<String, Object> params, Block block, NDArray... inputs) {
        return Forward.infer(manager, block, params, inputs);
    }

    /** The query, and keys that are the values, in PyTorch's order. */
    NDArray inferTwice(Block block, NDArray query, NDArray memory) {
        return infer(block, query, memory, memory);
    }

    NDArray packed(NDArray positions) {
        return MultiHeadAttentionBlock.packedMask(positions);
    }

    /** A forward parameter. */
    PairList<String, Object> param(String name, Object value) {
        return Forward.params(name, value);
    }

    PairList<String, Object> and(PairList<String, Object> params, String name, Object value) {
        params.add(name, value);
        return params;
    }

    PairList<String, Object> from(Object start) {
        return param(PositionalEncodingBlock.START_POSITION, start);
    }

    PairList<String, Object> positions(Object positions) {
        return param(PositionalEncodingBlock.POSITIONS, positions);
    }

    NDArray encode(PositionalEncodingBlock block, NDArray positions) {
        return block.encode(positions);
    }

    /** A block whose initialization is refused remains as it was. */
    Block initialize(Block block, DataType type, Shape... shapes) {
        boolean isInitialized = block.isInitialized();
        Shape[] before = isInitialized ? block.getInputShapes() : new Shape[0];
        try {
            block.initialize(manager, type, shapes);
        } catch (IllegalArgumentException e) {
            assertThat(block.isInitialized()).isEqualTo(isInitialized);
            assertThat(isInitialized ? block.getInputShapes() : before).isEqualTo(before);
            throw e;
        }
        return block;
    }

    Block initialized(Block block, Shape... shapes) {
        return initialize(block, DataType.FLOAT32, shapes);
    }

    Object option(HasArguments block, String name) {
        return block.getArguments().get(name);
    }

    Supplier<Object> nothing() {
        return () -> null;
    }

    Block inferred(Block block, NDArray... inputs) {
        infer(block, inputs);
        return block;
    }

    double quotient(double dividend, double divisor) {
        return dividend / divisor;
    }

    int[] ints(int... values) {
        return values;
    }

    /** Loads the file of a block into another one; if it is rejected, nothing is loaded. */
    Block load(Block from, Block to) throws IOException, MalformedModelException {
        return load(saved(from), to);
    }

    Block load(byte[] file, Block to) throws IOException, MalformedModelException {
        try {
            BlockBytes.load(manager, to, file);
        } catch (MalformedModelException e) {
            assertThat(to.isInitialized()).isFalse();
            assertThat(to.getParameters().values()).noneMatch(Parameter::isInitialized);
            throw e;
        }
        return to;
    }

    byte[] withByte(byte[] file, int index, int value) {
        file[index] = (byte) value;
        return file;
    }

    /** An index from the end is negative. */
    byte[] withInt(byte[] file, int index, int value) {
        ByteBuffer.wrap(file).putInt(index < 0 ? file.length + index : index, value);
        return file;
    }

    byte[] withLong(byte[] file, int index, long value) {
        ByteBuffer.wrap(file).putLong(index < 0 ? file.length + index : index, value);
        return file;
    }

    byte[] withText(byte[] file, String text, String other) {
        String bytes = new String(file, StandardCharsets.ISO_8859_1);
        assertThat(bytes).contains(text);
        return bytes.replace(text, other).getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Another number of rows of the first parameter, which follows its type. */
    byte[] withRows(byte[] file, long rows) {
        int type = new String(file, StandardCharsets.ISO_8859_1).indexOf("FLOAT32");
        return withLong(file, type + "FLOAT32".length() + Integer.BYTES, rows);
    }

    /** A version, the length of the options as JSON, the options, and the rest. */
    byte[] withOptions(byte[] file, String text, String other) {
        String options = new String(file, 5, ByteBuffer.wrap(file).getInt(1), StandardCharsets.UTF_8);
        assertThat(options).contains(text);
        return onlyOptions(file, options.replace(text, other));
    }

    byte[] onlyOptions(byte[] file, String options) {
        byte[] json = options.getBytes(StandardCharsets.UTF_8);
        int end = 5 + ByteBuffer.wrap(file).getInt(1);
        return ByteBuffer.allocate(5 + json.length + file.length - end)
                .put(file[0])
                .putInt(json.length)
                .put(json)
                .put(file, end, file.length - end)
                .array();
    }

    /** Nested brackets, which are closed unless there are many. */
    String deep(String start, String bracket, int depth) {
        return depth > 100 ? bracket.repeat(depth) : start + bracket.repeat(depth) + "]".repeat(depth) + "}";
    }

    byte[] saved(Block block) throws IOException {
        return BlockBytes.saved(block);
    }

    /** A block of the user, which gives zeros of a shape. */
    Block giving(Shape shape) {
        return LambdaBlock.singleton(x -> x.getManager().zeros(shape));
    }

    /** A block of the user, which sums along an axis. */
    Block summing(int axis) {
        return LambdaBlock.singleton(x -> x.sum(new int[] {axis}));
    }

    /** A layer whose cross-attention is its attention. */
    TransformerLayerBlock crossing(MultiHeadAttentionBlock attention) {
        return TransformerLayerBlock.builder()
                .setAttention(attention)
                .optCrossAttention(attention)
                .setHiddenSize(8)
                .build();
    }

    List<TransformerLayerBlock> layersWith(MultiHeadAttentionBlock attention) {
        return Stream.generate(() -> TransformerLayerBlock.builder()
                        .setAttention(attention)
                        .setHiddenSize(8)
                        .build())
                .limit(2)
                .toList();
    }

    ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes);
    }

    /** The configuration of a model with other values. */
    HuggingFaceRope rope(String model, Map<String, ?> values) throws IOException {
        String json = Files.readString(Path.of("src/test/resources/configurations", model + ".json"));
        Map<String, Object> config = new HashMap<>();
        ((Map<?, ?>) JsonUtils.GSON.fromJson(json, Map.class)).forEach((key, value) -> config.put((String) key, value));
        config.putAll(values);
        return HuggingFaceRope.of(config);
    }

    /** Llama 2 with a section of scaled positions. */
    HuggingFaceRope scaled(Map<String, ?> section) throws IOException {
        return rope("Llama-2-7b-hf", Map.of("max_position_embeddings", 2048, "rope_scaling", section));
    }

    HuggingFaceRope longRope() throws IOException {
        List<Double> divisors = Collections.nCopies(64, 2.0);
        return scaled(Map.of("rope_type", "longrope", "factor", 2, "short_factor", divisors, "long_factor", divisors));
    }

    Map<String, Object> with(Map<String, Object> map, String key, Object value) {
        Map<String, Object> longer = new HashMap<>(map);
        longer.put(key, value);
        return longer;
    }

    /** A strict loader of a file of layers. */
    WeightLoader layers(String file) throws Exception {
        return WeightLoader.of(Weights.layers(file))
                .allowUnused("input", "memory*", "padding", "output*", "gradient*", "decoder.layers.*");
    }

    Parameter parameter(Shape shape) {
        return Weights.parameter(manager, shape.getShape());
    }

    Parameter parameter(DataType type, Shape shape) {
        return Weights.parameter(manager, type, shape.getShape());
    }

    Parameter closed(Parameter parameter) {
        parameter.getArray().close();
        return parameter;
    }
}
