package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import java.io.IOException;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Truncated, damaged and random model files of every block are rejected, or load as a valid block. */
class FuzzModelFilesTest {

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IOException.class));
    /** A buffer for each array. */
    private static final long DJL_BUFFER = 1 << 20;

    private static byte[] saved(NDManager manager, TestBlocks kind) throws IOException {
        Block block = kind.block();
        block.initialize(manager, DataType.FLOAT32, kind.input());
        byte[] bytes = BlockBytes.saved(block);
        block.clear();
        return bytes;
    }

    private static Map<TestBlocks, byte[]> files(NDManager manager) throws IOException {
        Map<TestBlocks, byte[]> files = new EnumMap<>(TestBlocks.class);
        for (TestBlocks kind : TestBlocks.values()) {
            files.put(kind, saved(manager, kind));
        }
        return files;
    }

    /** Loads a file; returns whether it was rejected. A loaded block must be usable. */
    private static boolean isRejected(NDManager manager, TestBlocks kind, byte... file) {
        Block block = kind.block();
        Exception rejection = LOADING.refusal(
                file.length, block.getParameters().size() * DJL_BUFFER, () -> BlockBytes.load(manager, block, file));
        if (rejection == null) {
            requireUsable(manager, kind, block);
        } else {
            assertThat(rejection).message().isNotBlank();
            assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
            assertThat(block.isInitialized()).isFalse();
        }
        block.clear();
        return rejection != null;
    }

    private static void requireUsable(NDManager manager, TestBlocks kind, Block block) {
        for (Pair<String, Parameter> parameter : block.getParameters()) {
            assertThat(parameter.getValue().isInitialized())
                    .as(parameter.getKey())
                    .isTrue();
        }
        DataType type = block.getParameters().isEmpty()
                ? DataType.FLOAT32
                : block.getParameters().valueAt(0).getArray().getDataType();
        if (type == DataType.FLOAT32) {
            NDArray input = kind.numbers(manager);
            NDList output = block.forward(new ParameterStore(manager, false), new NDList(input), false);
            assertThat(block.getOutputShapes(new Shape[] {kind.input()}))
                    .contains(output.head().getShape());
            output.close();
            input.close();
        }
    }

    @EngineTest
    void everyTruncatedFileIsRejected(NDManager manager) throws IOException {
        for (Map.Entry<TestBlocks, byte[]> saved : files(manager).entrySet()) {
            byte[] file = saved.getValue();
            assertThat(isRejected(manager, saved.getKey(), file)).isFalse();
            for (int length = 0; length < file.length; length++) {
                assertThat(isRejected(manager, saved.getKey(), Arrays.copyOf(file, length)))
                        .as("%s bytes of %s's %s", length, saved.getKey(), file.length)
                        .isTrue();
            }
        }
    }

    /** A flipped bit of a parameter only changes its value; others must be rejected or harmless. */
    @EngineTest
    void everyFlippedByteIsRejectedOrHarmless(NDManager manager) throws IOException {
        for (Map.Entry<TestBlocks, byte[]> saved : files(manager).entrySet()) {
            byte[] file = saved.getValue();
            int rejected = 0;
            for (int at = 0; at < file.length; at++) {
                // every fourth byte gets its highest bit flipped, which makes a count negative or huge, the others
                // another bit
                byte[] flipped = file.clone();
                flipped[at] ^= (byte) (at % 4 == 0 ? 0x80 : 1 << at % 7);
                rejected += isRejected(manager, saved.getKey(), flipped) ? 1 : 0;
            }
            assertThat(rejected).as("%s", saved.getKey()).isPositive();
        }
    }

    @EngineTest
    void aDamagedFileIsRejectedOrHarmless(NDManager manager) throws IOException {
        Map<TestBlocks, byte[]> files = files(manager);

        RandomCases.check(3000, random -> {
            try (NDManager own = manager.newSubManager()) {
                TestBlocks kind = RandomCases.one(random, List.of(TestBlocks.values()));
                isRejected(own, kind, FileCorruption.of(random, files.get(kind)));
            }
        });
    }
}
