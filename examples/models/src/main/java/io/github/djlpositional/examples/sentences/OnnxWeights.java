package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnsafeByteOperations;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The weights in the ONNX file of the published encoder, under the names that they have in PyTorch.
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
    private static final int TENSOR_DIMENSION = 1;
    private static final int TENSOR_NAME = 8;
    private static final int TENSOR_BYTES = 9;

    private static final Pattern LINEAR = Pattern.compile("/(.*)/MatMul");

    /** The tensors by their names in the file. */
    private final Map<String, UnknownFieldSet> stored = new HashMap<>();

    /** The names in the file of the transposed matrices, by their names in PyTorch. */
    private final Map<String, String> transposed = new HashMap<>();

    /** Reads the graph of a file; the tensors are converted by {@link #get}. */
    OnnxWeights(byte[] file) throws IOException {
        UnknownFieldSet graph = messages(message(UnsafeByteOperations.unsafeWrap(file)), MODEL_GRAPH)
                .get(0);
        for (UnknownFieldSet tensor : messages(graph, GRAPH_INITIALIZER)) {
            stored.put(text(tensor, TENSOR_NAME, 0), tensor);
        }
        for (UnknownFieldSet node : messages(graph, GRAPH_NODE)) {
            Matcher path = LINEAR.matcher(text(node, NODE_NAME, 0));
            if (path.matches()) {
                transposed.put(path.group(1).replace('/', '.') + ".weight", text(node, NODE_INPUT, 1));
            }
        }
    }

    /** Returns the names in PyTorch of all weights and biases. */
    Set<String> names() {
        Set<String> names = new TreeSet<>(stored.keySet());
        transposed.forEach((name, inFile) -> {
            if (names.remove(inFile)) { // a product of two results has none
                names.add(name);
            }
        });
        names.removeIf(name -> !name.matches(".*\\.(weight|bias)"));
        return names;
    }

    /** Creates an array of the tensor with a name in PyTorch, in the shape that it has there. */
    NDArray get(NDManager manager, String name) {
        UnknownFieldSet tensor = stored.get(transposed.getOrDefault(name, name));
        Shape shape = new Shape(tensor.getField(TENSOR_DIMENSION).getVarintList());
        ByteString bytes = bytes(tensor, TENSOR_BYTES, 0);
        NDArray array = manager.create(
                bytes.asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer(), shape);
        return transposed.containsKey(name) ? array.transpose() : array;
    }

    /** Parses a message; the fields are parts of these bytes, not copies. */
    private static UnknownFieldSet message(ByteString bytes) throws IOException {
        CodedInputStream in = bytes.newCodedInput();
        in.enableAliasing(true);
        return UnknownFieldSet.newBuilder().mergeFrom(in).build();
    }

    private static List<UnknownFieldSet> messages(UnknownFieldSet message, int field) throws IOException {
        List<UnknownFieldSet> messages = new ArrayList<>();
        for (ByteString bytes : message.getField(field).getLengthDelimitedList()) {
            messages.add(message(bytes));
        }
        return messages;
    }

    private static ByteString bytes(UnknownFieldSet message, int field, int index) {
        return message.getField(field).getLengthDelimitedList().get(index);
    }

    private static String text(UnknownFieldSet message, int field, int index) {
        return bytes(message, field, index).toStringUtf8();
    }
}
