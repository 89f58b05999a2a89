package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** The disk is full while a model is saved: the model in memory stays as it is, and can be saved elsewhere. */
class FaultSavingTest {

    private static final String FULL = "No space left on device";

    /** A disk with room for so many bytes. */
    private static final class SmallDisk extends OutputStream {
        private int room;

        SmallDisk(int room) {
            this.room = room;
        }

        @Override
        public void write(int value) throws IOException {
            if (room-- == 0) {
                throw new IOException(FULL);
            }
        }
    }

    @EngineTest
    void diskThatIsFullAtAnyByteLeavesEveryBlockAsItWas(NDManager root) throws Exception {
        for (TestBlocks each : TestBlocks.values()) {
            // closed each time: the tables of the blocks before would go at a time of the garbage collector's
            try (NDManager manager = root.newSubManager()) {
                Block block = each.block();
                block.initialize(manager, DataType.FLOAT32, each.input());
                NDArray input = each.numbers(manager);
                float[] expected = Forward.infer(manager, block, input).toFloatArray();
                byte[] whole = BlockBytes.saved(block);
                int before = manager.getManagedArrays().size();
                for (int room = 0; room < whole.length; room++) {
                    DataOutputStream disk = new DataOutputStream(new SmallDisk(room));
                    assertThatExceptionOfType(IOException.class)
                            .isThrownBy(() -> block.saveParameters(disk))
                            .withMessage(FULL);
                }
                assertThat(manager.getManagedArrays()).as("%s", each).hasSize(before);
                assertThat(BlockBytes.saved(block)).as("%s", each).isEqualTo(whole);
                assertThat(Forward.infer(manager, block, input).toFloatArray())
                        .as("%s", each)
                        .isEqualTo(expected);
            }
        }
    }

    @EngineTest
    void modelThatMetAFullDiskIsSavedOnAnother(Engine engine, @TempDir Path folder) throws Exception {
        // Linux has a device that is always full
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no /dev/full");
        Files.createSymbolicLink(folder.resolve("fault-0000.params"), full);
        TestBlocks kind = TestBlocks.EMBEDDING;
        float[] expected;
        try (Model model = Model.newInstance("fault", Device.cpu(), engine.getEngineName())) {
            model.setBlock(kind.block());
            model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, kind.input());
            NDArray ids = kind.numbers(model.getNDManager());
            expected =
                    Forward.infer(model.getNDManager(), model.getBlock(), ids).toFloatArray();
            // or DJL would take the next number
            model.setProperty("Epoch", "0");
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> model.save(folder, "fault"))
                    .withMessageContaining(FULL);
            model.save(folder.resolve("other"), "fault");
        }
        try (Model model = Model.newInstance("fault", Device.cpu(), engine.getEngineName())) {
            model.setBlock(kind.block());
            model.load(folder.resolve("other"), "fault");
            NDArray ids = kind.numbers(model.getNDManager());
            assertThat(Forward.infer(model.getNDManager(), model.getBlock(), ids)
                            .toFloatArray())
                    .isEqualTo(expected);
        }
    }
}
