package io.github.djlpositional.weights;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/** The files that {@code src/test/python/make_weights.py} made with torch and numpy, and what these expect of them. */
final class Weights {

    private Weights() {}

    static Path path(String name) {
        try {
            return Path.of(Weights.class.getResource("/weights/" + name).toURI());
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }

    static WeightFile open(String name) throws Exception {
        return WeightFile.open(path(name));
    }

    /** What torch computed, in float64. */
    static double[] expected(String name) {
        try {
            String line = Files.readAllLines(path("expected.csv")).stream()
                    .filter(candidate -> candidate.startsWith(name + ","))
                    .findFirst()
                    .orElseThrow();
            return Arrays.stream(line.substring(name.length() + 1).split(",", -1))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static float[] expectedFloats(String name) {
        double[] doubles = expected(name);
        float[] floats = new float[doubles.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) doubles[i];
        }
        return floats;
    }

    /** A parameter that holds sevens. MXNet has no gradients in float16. */
    static Parameter parameter(NDManager manager, DataType type, long... shape) {
        Parameter parameter = Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .optRequiresGrad(type != DataType.FLOAT16)
                .optShape(new Shape(shape))
                .optInitializer((factory, size, kind) ->
                        factory.full(size, 7, DataType.FLOAT32).toType(kind, false))
                .build();
        parameter.initialize(manager, type);
        return parameter;
    }

    /** Opens a file and loads each table that it lists, of up to a thousand numbers, into a parameter of its shape. */
    static void loadAll(NDManager manager, Path path) throws Exception {
        WeightFile file = WeightFile.open(path);
        WeightLoader loader = WeightLoader.of(file);
        for (Map.Entry<String, TensorInfo> tensor : file.getTensors().entrySet()) {
            long[] shape = tensor.getValue().shape().getShape();
            double size = Arrays.stream(shape).asDoubleStream().reduce(1, (a, b) -> a * b);
            long[] bounded = size > 0 && size < 1000 ? shape : new long[] {1};
            loader.table(tensor.getKey(), parameter(manager, DataType.FLOAT64, bounded));
        }
        loader.load();
    }

    /** A parameter without an array. */
    static Parameter uninitialized() {
        return Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .optInitializer(Initializer.ZEROS)
                .build();
    }

    /** A safetensors file of a header, unpadded, and data. */
    static byte[] safetensors(String header, int dataBytes) {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(Long.BYTES + text.length + dataBytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(text.length)
                .put(text)
                .array();
    }
}
