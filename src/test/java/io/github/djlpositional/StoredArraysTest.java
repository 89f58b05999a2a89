package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.assertj.core.api.ThrowableAssertAlternative;

/** The arrays in a model file: DJL has written three versions of them, and what is none of them is refused by name. */
class StoredArraysTest {

    private static byte[] saved(NDManager manager, TestBlocks kind) throws Exception {
        Block block = kind.block();
        block.initialize(manager, DataType.FLOAT32, kind.input());
        return BlockBytes.saved(block);
    }

    private static int find(String part, byte... file) {
        return new String(file, StandardCharsets.ISO_8859_1).indexOf(part);
    }

    private static byte[] without(int at, int count, byte... file) {
        ByteArrayOutputStream rest = new ByteArrayOutputStream();
        rest.write(file, 0, at);
        rest.write(file, at + count, file.length - at - count);
        return rest.toByteArray();
    }

    private static ThrowableAssertAlternative<MalformedModelException> refused(
            NDManager manager, TestBlocks kind, byte... file) {
        Block block = kind.block();
        return assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block, file));
    }

    private static byte[] ofVersion(int version, byte... file) {
        byte[] other = file.clone();
        ByteBuffer.wrap(other).putInt(find("NDAR", file) + 4, version);
        return other;
    }

    @EngineTest
    void arraysOfEveryVersionLoad(NDManager manager) throws Exception {
        byte[] third = saved(manager, TestBlocks.LEARNED);
        Block block = TestBlocks.LEARNED.block();
        BlockBytes.load(manager, block, third);
        float[] expected = block.getParameters().valueAt(0).getArray().toFloatArray();
        // the third has a byte for the byte order, before the 4 of the length and the numbers; both have a
        // name, behind a byte that says so and two of its length
        byte[] second = without(third.length - 4 - 96 - 1, 1, ofVersion(2, third));
        byte[] first = without(find("NDAR", third) + 8, 3 + "encodings".length(), ofVersion(1, second));
        for (byte[] file : new byte[][] {second, first}) {
            Block again = TestBlocks.LEARNED.block();
            BlockBytes.load(manager, again, file);
            assertThat(again.getParameters().valueAt(0).getArray().toFloatArray())
                    .isEqualTo(expected);
        }
        for (int version : new int[] {0, 4, -1}) {
            refused(manager, TestBlocks.LEARNED, ofVersion(version, third))
                    .withMessageContaining(
                            "the model file has an array of kind 'NDAR', version " + version + " for encodings");
        }
    }

    @EngineTest
    void countsAreRefusedFromTheFirstThatThereIsNot(NDManager manager) throws Exception {
        byte[] file = saved(manager, TestBlocks.LEARNED);
        int axes = find("FLOAT32", file) + 7;
        for (int count : new int[] {33, -1}) {
            byte[] hostile = file.clone();
            ByteBuffer.wrap(hostile).putInt(axes, count);
            refused(manager, TestBlocks.LEARNED, hostile)
                    .withMessageContaining("the model file claims " + count + " dimensions");
        }
        // as many as there may be: the file has no such shape, and says something else, or ends
        byte[] most = Arrays.copyOf(file, file.length + 1000);
        ByteBuffer.wrap(most).putInt(axes, 32);
        refused(manager, TestBlocks.LEARNED, most)
                .satisfies(refusal -> assertThat(refusal.getMessage()).doesNotContain("claims 32"));
    }

    @EngineTest
    void projectionsOfOtherSizesAreRefused(NDManager manager) throws Exception {
        byte[] file = saved(manager, TestBlocks.ATTENTION);
        // from 8 to 8: a version, then two numbers of 8 bytes
        int sizes = find("\4\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0\10", file) + 1;
        byte[] units = file.clone();
        ByteBuffer.wrap(units).putLong(sizes, 9);
        refused(manager, TestBlocks.ATTENTION, units)
                .withMessageContaining("the model file has a projection from 8 to 9: allowed is one from 8 to 8;");
        byte[] inputs = file.clone();
        ByteBuffer.wrap(inputs).putLong(sizes + 8, 7);
        refused(manager, TestBlocks.ATTENTION, inputs)
                .withMessageContaining("the model file has a projection from 7 to 8: allowed is one from 8 to 8;");
        byte[] version = file.clone();
        version[sizes - 1] = 3;
        refused(manager, TestBlocks.ATTENTION, version)
                .withMessageContaining("the model file has version 3 of a projection");
    }

    /** What a block knows of a file is enough to write the same file. */
    @EngineTest
    void aLoadedBlockSavesWhatItWasLoadedFrom(NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            byte[] file = saved(manager, kind);
            Block again = kind.block();
            BlockBytes.load(manager, again, file);
            assertThat(BlockBytes.saved(again)).as("%s", kind).isEqualTo(file);
        }
    }
}
