package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/**
 * The files that {@code src/test/python/make_weights.py} created with torch, their expected numbers, and files that are
 * created in memory, for tests to damage.
 */
public final class Weights {

    private Weights() {}

    public static Path path(String name) throws Exception {
        return Path.of(Weights.class.getResource("/weights/" + name).toURI());
    }

    public static WeightFile open(String name) throws Exception {
        return WeightFile.open(path(name));
    }

    /** A file of layers or stacks. */
    public static WeightFile layers(String name) throws Exception {
        return WeightFile.open(Path.of("src/test/resources/layers", name + ".safetensors"));
    }

    /** A loader that may leave tensors unused, for tests of single ones. */
    public static WeightLoader loader(String name) throws Exception {
        return WeightLoader.of(open(name)).allowUnused("*");
    }

    /** The numbers that torch computed in float64. */
    public static double[] expected(String name) throws Exception {
        String line = Files.readAllLines(path("expected.csv")).stream()
                .filter(candidate -> candidate.startsWith(name + ","))
                .findFirst()
                .orElseThrow();
        return Arrays.stream(line.substring(name.length() + 1).split(",", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    /** A parameter of sevens. MXNet has no gradients in float16. */
    public static Parameter parameter(NDManager manager, DataType type, long... shape) {
        Parameter parameter = Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .optRequiresGrad(type.isFloating() && type != DataType.FLOAT16)
                .optShape(new Shape(shape))
                .optInitializer((factory, size, kind) ->
                        factory.full(size, 7, DataType.FLOAT32).toType(kind, false))
                .build();
        parameter.initialize(manager, type);
        return parameter;
    }

    public static Parameter parameter(NDManager manager, long... shape) {
        return parameter(manager, DataType.FLOAT32, shape);
    }

    /** Asserts that nothing was loaded into parameters. */
    public static void assertUnchanged(Parameter... parameters) {
        for (Parameter parameter : parameters) {
            assertThat(HostData.doubles(parameter.getArray())).containsOnly(7);
        }
    }

    /** Opens a file and loads each of its tensors of up to a thousand numbers into a parameter of its shape. */
    public static void loadAll(NDManager manager, Path path) throws Exception {
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

    /** A safetensors file of an unpadded header and zeros as data. */
    public static byte[] safetensors(String header, int dataBytes) {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        byte[] file = new byte[Long.BYTES + text.length + dataBytes];
        littleEndian(file).putLong(text.length).put(text);
        return file;
    }

    public static ByteBuffer littleEndian(byte... bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
