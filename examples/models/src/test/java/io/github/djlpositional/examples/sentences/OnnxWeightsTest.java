package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.Shape;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.github.djlpositional.FileDamage;
import io.github.djlpositional.RandomCases;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A small ONNX file, with the numbers of fields in {@code onnx.proto}, is read, or rejected with one line. That the
 * published weights are right is tested by {@link SentenceEncoderTest}.
 */
class OnnxWeightsTest {

    private static final String NAME = "encoder.layer.0.output.dense.weight";
    private static final String NODE = "/encoder/layer.0/output/dense/MatMul";

    private static Field field(ByteString... values) {
        Field.Builder field = Field.newBuilder();
        Stream.of(values).forEach(field::addLengthDelimited);
        return field.build();
    }

    private static Field text(String... values) {
        return field(Stream.of(values).map(ByteString::copyFromUtf8).toArray(ByteString[]::new));
    }

    /** A tensor (3, 2) of the numbers from 0. */
    private static ByteString tensor(String name, int type, int bytes) {
        ByteBuffer numbers = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < bytes / Float.BYTES; i++) {
            numbers.putFloat(i);
        }
        return UnknownFieldSet.newBuilder()
                .addField(1, Field.newBuilder().addVarint(3).addVarint(2).build())
                .addField(2, Field.newBuilder().addVarint(type).build())
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
                .addField(5, field(tensor("table", 1, 24), matrix))
                .build()
                .toByteString();
        return UnknownFieldSet.newBuilder().addField(7, field(graph)).build().toByteArray();
    }

    private static byte[] file(int type, int bytes) {
        return file(NODE, text("x", "onnx::7"), tensor("onnx::7", type, bytes));
    }

    private static FloatBuffer matrix(byte... file) throws IOException {
        return new OnnxWeights(file).get(NAME, new Shape(2, 3));
    }

    @Test
    void matricesOfLinearLayersAreTransposed() throws Exception {
        assertThat(matrix(file(1, 24))).isEqualTo(FloatBuffer.wrap(new float[] {0, 2, 4, 1, 3, 5}));
        assertThat(new OnnxWeights(file(1, 24)).get("table", new Shape(3, 2)).get(1))
                .isEqualTo(1);
    }

    @Test
    void damagedFilesAreReadOrRejected() {
        RandomCases.check(10_000, random -> {
            byte[] damaged = FileDamage.of(random, file(1, 24));
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
    void otherFilesAreRejected() {
        ByteString tensor = tensor("onnx::7", 1, 24);
        for (byte[] file : new byte[][] {
            file("", text("x", "onnx::7"), tensor),
            file("MatMul", text("x", "onnx::7"), tensor),
            file(NODE, text("onnx::7"), tensor),
            file(7, 24),
            file(1, 0),
            file(1, 23),
            file(1, 28)
        }) {
            assertThatThrownBy(() -> matrix(file))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(NAME);
        }
        assertThatThrownBy(() -> new OnnxWeights(file(1, 24)).get(NAME, new Shape(3, 2)))
                .hasMessageContainingAll(NAME, "(2, 3)");
    }
}
