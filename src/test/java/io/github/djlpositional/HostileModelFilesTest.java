package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.ThrowableAssertAlternative;

/** Model files whose arrays claim what would end the JVM: DJL by itself would make what it is told. */
class HostileModelFilesTest {

    /** The table of {@link TestBlocks#LEARNED}: (6, 4), a letter for each axis, the byte order, and 96 bytes. */
    private static final String TYPE = "FLOAT32";

    private static byte[] saved(NDManager manager, TestBlocks kind) throws IOException {
        Block block = kind.block();
        block.initialize(manager, DataType.FLOAT32, kind.input());
        return BlockBytes.saved(block);
    }

    private static byte[] saved(NDManager manager) throws IOException {
        return saved(manager, TestBlocks.LEARNED);
    }

    private static int afterType(byte... file) {
        return new String(file, StandardCharsets.ISO_8859_1).indexOf(TYPE) + TYPE.length();
    }

    private static ThrowableAssertAlternative<MalformedModelException> refused(NDManager manager, byte... file) {
        return refused(manager, TestBlocks.LEARNED, file);
    }

    private static ThrowableAssertAlternative<MalformedModelException> refused(
            NDManager manager, TestBlocks kind, byte... file) {
        Block block = kind.block();
        ThrowableAssertAlternative<MalformedModelException> refusal = assertThatExceptionOfType(
                        MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
        assertThat(block.isInitialized()).isFalse();
        assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
        return refusal;
    }

    private static byte[] ofType(String type, byte... file) throws IOException {
        int after = afterType(file);
        ByteArrayOutputStream other = new ByteArrayOutputStream();
        other.write(file, 0, after - TYPE.length() - Short.BYTES);
        new DataOutputStream(other).writeUTF(type);
        other.write(file, after, file.length - after);
        return other.toByteArray();
    }

    /** PyTorch ends the JVM where an array of BFLOAT16 is made. */
    @EngineTest
    void arraysOfTypesThatNoParameterHasAreNotMade(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        for (DataType type : DataType.values()) {
            if (type != DataType.FLOAT32 && type != DataType.FLOAT64 && type != DataType.FLOAT16) {
                refused(manager, ofType(type.name(), file))
                        .withMessageContaining("the model file has data type " + type.name()
                                + " for encodings: allowed are FLOAT16, FLOAT32 and FLOAT64;");
            }
        }
        refused(manager, ofType("FLOAT8", file)).withMessageContaining("has data type FLOAT8 for encodings");
    }

    @EngineTest
    void whatWasReadBeforeTheEndIsForgotten(NDManager manager) throws IOException {
        for (TestBlocks kind : List.of(TestBlocks.TRANSFORMER_XL, TestBlocks.ATTENTION)) {
            byte[] file = saved(manager, kind);
            refused(manager, kind, Arrays.copyOf(file, file.length - 1))
                    .withMessageContaining("ends or is damaged within");
        }
    }

    /** DJL's identity block, and the token table behind it, read the shapes of their inputs. */
    @EngineTest
    void moreInputsThanThereAreAreNotMade(NDManager manager) throws IOException {
        byte[] file = saved(manager, TestBlocks.EMBEDDING_WITHOUT_POSITIONS);
        // a version, one shape, its number of axes
        for (byte[] part : new byte[][] {{2, 0, 0, 0, 1, 0, 0, 0, 3}, {6, 0, 0, 0, 1, 0, 0, 0, 2}}) {
            byte[] hostile = file.clone();
            int at = new String(file, StandardCharsets.ISO_8859_1)
                    .indexOf(new String(part, StandardCharsets.ISO_8859_1));
            ByteBuffer.wrap(hostile).putInt(at + 1, Integer.MAX_VALUE);
            refused(manager, TestBlocks.EMBEDDING_WITHOUT_POSITIONS, hostile)
                    .withMessageContaining("claims 2147483647 shapes, which no file");
        }
    }

    @EngineTest
    void aShapeOfMoreAxesThanThereAreIsNotMade(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        ByteBuffer.wrap(file).putInt(afterType(file), Integer.MAX_VALUE);
        refused(manager, file).withMessageContaining("claims 2147483647 dimensions, which no file");
    }

    @EngineTest
    void anArrayOfMoreBytesThanItsShapeIsNotMade(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        ByteBuffer.wrap(file).putInt(file.length - 96 - Integer.BYTES, Integer.MAX_VALUE);
        refused(manager, file).withMessageContaining("the model file has 2147483647 bytes of FLOAT32 for encodings");
    }

    @EngineTest
    void anArrayOfAnotherShapeIsNotMade(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        ByteBuffer.wrap(file).putLong(afterType(file) + Integer.BYTES, 1L << 40);
        refused(manager, file)
                .withMessageContaining("the model file has (1099511627776, 4) for encodings: allowed is (6, 4) of")
                .withMessageContaining("; load the file that belongs to it");
    }

    @EngineTest
    void anAxisOfASizeThatNoneHasIsRefused(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        ByteBuffer.wrap(file).putLong(afterType(file) + Integer.BYTES, -2);
        refused(manager, file).withMessageContaining("an axis of size -2, which no array has");
    }

    @EngineTest
    void axesOfUnknownKindsAreRefused(NDManager manager) throws IOException {
        byte[] file = saved(manager);
        ByteBuffer.wrap(file).putChar(afterType(file) + 2 * Integer.BYTES + 2 * Long.BYTES, '!');
        refused(manager, file).withMessageContaining("the axes '!");
    }
}
