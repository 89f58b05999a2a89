package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.Shape;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.github.djlpositional.examples.FileDamage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

/** A small ONNX file, with the numbers of fields in {@code onnx.proto}, is read, or rejected with one line. */
class DamagedOnnxTest {

    private static final String NAME = "encoder.layer.0.output.dense.weight";

    private static Field field(ByteString... values) {
        Field.Builder field = Field.newBuilder();
        for (ByteString value : values) {
            field.addLengthDelimited(value);
        }
        return field.build();
    }

    private static Field text(String... values) {
        Field.Builder field = Field.newBuilder();
        for (String value : values) {
            field.addLengthDelimited(ByteString.copyFromUtf8(value));
        }
        return field.build();
    }

    private static ByteString tensor(String name, int rows, int columns, int bytes) {
        ByteBuffer numbers = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < bytes / Float.BYTES; i++) {
            numbers.putFloat(i);
        }
        return UnknownFieldSet.newBuilder()
                .addField(
                        1, Field.newBuilder().addVarint(rows).addVarint(columns).build())
                .addField(2, Field.newBuilder().addVarint(1).build())
                .addField(8, text(name))
                .addField(9, field(ByteString.copyFrom(numbers.rewind())))
                .build()
                .toByteString();
    }

    private static byte[] file(String node, Field inputs, ByteString matrix) {
        ByteString multiplication = UnknownFieldSet.newBuilder()
                .addField(1, inputs)
                .addField(3, text(node))
                .addField(4, text("MatMul"))
                .build()
                .toByteString();
        ByteString graph = UnknownFieldSet.newBuilder()
                .addField(1, field(multiplication))
                .addField(5, field(tensor("table", 3, 2, 24), matrix))
                .build()
                .toByteString();
        return UnknownFieldSet.newBuilder().addField(7, field(graph)).build().toByteArray();
    }

    private static byte[] whole() {
        return file("/encoder/layer.0/output/dense/MatMul", text("x", "onnx::7"), tensor("onnx::7", 3, 2, 24));
    }

    private static FloatBuffer matrix(byte... file) throws IOException {
        return new OnnxWeights(file).get(NAME, new Shape(2, 3));
    }

    @Test
    void theWholeFileIsRead() throws Exception {
        assertThat(matrix(whole())).isEqualTo(FloatBuffer.wrap(new float[] {0, 2, 4, 1, 3, 5}));
    }

    @Test
    void damagedFilesAreReadOrRejected() {
        FileDamage.check(10_000, random -> {
            byte[] damaged = FileDamage.of(random, whole());
            try {
                OnnxWeights weights = new OnnxWeights(damaged);
                weights.get("table", new Shape(3, 2));
                weights.get(NAME, new Shape(2, 3));
            } catch (IOException e) {
                assertThat(e.getMessage()).hasLineCount(1).contains("ONNX", ": expected ", "; ");
            }
        });
    }

    @Test
    void nodesThatAreNotThoseOfLinearLayersAreNone() {
        ByteString tensor = tensor("onnx::7", 3, 2, 24);
        for (byte[] file : new byte[][] {
            file("", text("x", "onnx::7"), tensor),
            file("MatMul", text("x", "onnx::7"), tensor),
            file("/encoder/layer.0/output/dense/MatMul", text("onnx::7"), tensor)
        }) {
            assertThatThrownBy(() -> matrix(file))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(NAME);
        }
    }

    @Test
    void tensorsOfAnotherSizeThanTheirShapeAreRejected() {
        for (int bytes : new int[] {0, 23, 25, 28}) {
            byte[] file =
                    file("/encoder/layer.0/output/dense/MatMul", text("x", "onnx::7"), tensor("onnx::7", 3, 2, bytes));
            assertThatThrownBy(() -> matrix(file))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(NAME)
                    .hasMessageContaining(bytes + " bytes");
        }
    }
}
