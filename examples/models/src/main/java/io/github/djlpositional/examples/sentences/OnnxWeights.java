package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.types.Shape;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnsafeByteOperations;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * The weights in an ONNX file, under the names that they have in PyTorch.
 *
 * <p>An ONNX file is a protobuf message. Its weights are initializers of the graph. PyTorch's exporter keeps the names
 * of most, but stores the matrix of a linear layer transposed, (in, out), under a generated name. It is found through
 * the node that multiplies by it: {@code /encoder/layer.0/output/dense/MatMul} multiplies by what is
 * {@code encoder.layer.0.output.dense.weight} in PyTorch.
 */
final class OnnxWeights {

    /** The numbers of the fields in {@code onnx.proto}. */
    private static final int MODEL_GRAPH = 7;

    private static final int GRAPH_NODE = 1;
    private static final int GRAPH_INITIALIZER = 5;
    private static final int NODE_INPUT = 1;
    private static final int NODE_NAME = 3;
    private static final int NODE_OPERATION = 4;
    private static final int TENSOR_DIMENSION = 1;
    private static final int TENSOR_TYPE = 2;
    private static final int TENSOR_NAME = 8;
    private static final int TENSOR_BYTES = 9;

    /** {@code TensorProto.FLOAT}. */
    private static final long FLOAT = 1;

    private static final Pattern LINEAR = Pattern.compile("/(.*)/MatMul", Pattern.DOTALL);

    /** The tensors by their names in PyTorch or, of linear layers, by generated names. */
    private final Map<String, ByteString> stored = new HashMap<>();

    /** The tensors of linear layers by their names in PyTorch. */
    private final Map<String, ByteString> transposed = new HashMap<>();

    /**
     * Reads the graph of a file; the tensors are read by {@link #get}.
     *
     * @param file the content of the file, which must not change
     * @throws IOException if it is damaged
     */
    OnnxWeights(byte[] file) throws IOException {
        UnknownFieldSet graph = message(only(message(UnsafeByteOperations.unsafeWrap(file)), MODEL_GRAPH));
        for (ByteString tensor : all(graph, GRAPH_INITIALIZER)) {
            stored.put(only(message(tensor), TENSOR_NAME).toStringUtf8(), tensor);
        }
        for (ByteString bytes : all(graph, GRAPH_NODE)) {
            UnknownFieldSet node = message(bytes);
            Matcher path = LINEAR.matcher(only(node, NODE_NAME).toStringUtf8());
            List<ByteString> inputs = all(node, NODE_INPUT);
            if (only(node, NODE_OPERATION).toStringUtf8().equals("MatMul") && path.matches() && inputs.size() == 2) {
                // null if the second input is not a weight
                transposed.put(
                        path.group(1).replace('/', '.') + ".weight",
                        stored.get(inputs.get(1).toStringUtf8()));
            }
        }
    }

    /**
     * Reads a tensor.
     *
     * @param name its name in PyTorch
     * @param shape its shape in PyTorch
     * @return its numbers in C order
     * @throws IOException if the file has no such tensor of floats, or the tensor is damaged
     */
    FloatBuffer get(String name, Shape shape) throws IOException {
        ByteString linear = transposed.get(name);
        ByteString bytes = linear == null ? stored.get(name) : linear;
        if (bytes == null) {
            throw new IOException("no tensor '" + name + "' is among the " + stored.size()
                    + " tensors of the ONNX file: expected the names of PyTorch; use the file of another export");
        }
        UnknownFieldSet tensor = message(bytes);
        List<Long> type = tensor.getField(TENSOR_TYPE).getVarintList();
        List<Long> found = tensor.getField(TENSOR_DIMENSION).getVarintList();
        Shape expected = linear == null ? shape : new Shape(shape.get(1), shape.get(0));
        if (!type.equals(List.of(FLOAT))
                || !found.equals(LongStream.of(expected.getShape()).boxed().toList())) {
            throw new IOException("tensor '" + name + "' has the ONNX type " + type + " and the shape " + found
                    + ": expected " + FLOAT + ", float, and " + expected + "; use the file of a model of this size that"
                    + " is not quantized");
        }
        ByteString content = only(tensor, TENSOR_BYTES);
        if (content.size() != Float.BYTES * shape.size()) {
            throw new IOException("tensor '" + name + "' of the ONNX file has " + content.size()
                    + " bytes: expected floats of the shape " + expected + "; download the file again");
        }
        FloatBuffer numbers =
                content.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
        return linear == null ? numbers : transposed(numbers, shape);
    }

    private static FloatBuffer transposed(FloatBuffer numbers, Shape shape) {
        int rows = Math.toIntExact(shape.get(0));
        int columns = Math.toIntExact(shape.get(1));
        FloatBuffer result = FloatBuffer.allocate(rows * columns);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                result.put(numbers.get(column * rows + row));
            }
        }
        return result.flip();
    }

    private static UnknownFieldSet message(ByteString bytes) throws IOException {
        CodedInputStream in = bytes.newCodedInput();
        // the fields are parts of the given bytes, not copies
        in.enableAliasing(true);
        try {
            return UnknownFieldSet.newBuilder().mergeFrom(in).build();
        } catch (InvalidProtocolBufferException e) {
            throw new IOException(
                    "the ONNX file is damaged: expected one that PyTorch has exported; download it again", e);
        }
    }

    private static List<ByteString> all(UnknownFieldSet message, int field) {
        return message.getField(field).getLengthDelimitedList();
    }

    private static ByteString only(UnknownFieldSet message, int field) throws IOException {
        List<ByteString> values = all(message, field);
        if (values.size() != 1) {
            throw new IOException("the ONNX file has field " + field + " " + values.size()
                    + " times in a message: expected once; use a file that PyTorch has exported");
        }
        return values.get(0);
    }
}
