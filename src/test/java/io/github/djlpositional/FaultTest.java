package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** Every block with an interrupted thread, with a manager that was closed, and with a full disk. */
class FaultTest {

    private static final String FULL = "No space left on device";

    @AfterEach
    void clearTheInterrupt() {
        Thread.interrupted();
    }

    private static float[] values(NDManager manager, TestBlocks kind, Block block) {
        return Forward.infer(manager, block, kind.numbers(manager)).toFloatArray();
    }

    private static Model model(Engine engine, TestBlocks kind) {
        Model model = Model.newInstance("fault", Device.cpu(), engine.getEngineName());
        model.setBlock(kind.block());
        return model;
    }

    private static Model initialized(Engine engine, TestBlocks kind) {
        Model model = model(engine, kind);
        model.getBlock().initialize(model.getNDManager(), DataType.FLOAT32, kind.input());
        return model;
    }

    @EngineTest
    void aBlockWorksOnAnInterruptedThreadAndKeepsTheInterrupt(NDManager manager) {
        for (TestBlocks kind : TestBlocks.values()) {
            Block block = kind.block();
            Thread.currentThread().interrupt();
            block.initialize(manager, DataType.FLOAT32, kind.input());
            float[] interrupted = values(manager, kind, block);
            assertThat(Thread.interrupted()).as("%s", kind).isTrue();
            assertThat(interrupted).as("%s", kind).isEqualTo(values(manager, kind, block));
        }
    }

    @EngineTest
    void aModelIsSavedAndLoadedOnAnInterruptedThread(Engine engine, @TempDir Path folder) throws Exception {
        TestBlocks kind = TestBlocks.ATTENTION;
        try (Model model = initialized(engine, kind);
                Model loaded = model(engine, kind)) {
            Thread.currentThread().interrupt();
            model.save(folder, "fault");
            loaded.load(folder, "fault");
            assertThat(Thread.interrupted()).isTrue();
            assertThat(values(model.getNDManager(), kind, loaded.getBlock()))
                    .isEqualTo(values(model.getNDManager(), kind, model.getBlock()));
        }
    }

    /** Initializes and uses a block with a manager that is closed then; returns its model file. */
    private static byte[] orphan(Engine engine, TestBlocks kind, Block block) throws Exception {
        try (NDManager own = engine.newBaseManager(Device.cpu())) {
            block.initialize(own, DataType.FLOAT32, kind.input());
            values(own, kind, block);
            return BlockBytes.saved(block);
        }
    }

    private static float[] valuesOfFile(NDManager manager, TestBlocks kind, byte... file) throws Exception {
        Block block = kind.block();
        BlockBytes.load(manager, block, file);
        return values(manager, kind, block);
    }

    @EngineTest
    void aBlockWithoutParametersWorksAfterItsManagerIsClosed(Engine engine, NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            Block block = kind.block();
            byte[] file = orphan(engine, kind, block);
            if (block.getParameters().isEmpty()) {
                assertThat(values(manager, kind, block)).as("%s", kind).isEqualTo(valuesOfFile(manager, kind, file));
            }
        }
    }

    @EngineTest
    void aBlockSaysThatItsParametersAreFreed(Engine engine, NDManager root) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            // closed each time, or the garbage collector would free the tables of the blocks before at any time
            try (NDManager manager = root.newSubManager()) {
                Block block = kind.block();
                orphan(engine, kind, block);
                if (!block.getParameters().isEmpty()) {
                    NDArray input = kind.numbers(manager);
                    int before = manager.getManagedArrays().size();
                    assertThatIllegalStateException()
                            .as("%s", kind)
                            .isThrownBy(() -> Forward.infer(manager, block, input))
                            .withMessageContaining("has been released already");
                    assertThat(manager.getManagedArrays()).as("%s", kind).hasSize(before);
                }
            }
        }
    }

    @EngineTest
    void aBlockIsLoadedOrInitializedAgainAfterItsManagerIsClosed(Engine engine, NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            Block loaded = kind.block();
            byte[] file = orphan(engine, kind, loaded);
            BlockBytes.load(manager, loaded, file);
            assertThat(values(manager, kind, loaded)).as("%s", kind).isEqualTo(valuesOfFile(manager, kind, file));

            Block initialized = kind.block();
            orphan(engine, kind, initialized);
            initialized.initialize(manager, DataType.FLOAT32, kind.input());
            assertThat(initialized.getParameters().values())
                    .as("%s", kind)
                    .extracting(Parameter::getArray)
                    .noneMatch(NDArray::isReleased);
            assertThat(values(manager, kind, initialized)).as("%s", kind).isNotEmpty();
        }
    }

    /** A disk with room for a number of bytes. */
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
    void aFullDiskLeavesABlockAsItWas(NDManager root) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            try (NDManager manager = root.newSubManager()) {
                Block block = kind.block();
                block.initialize(manager, DataType.FLOAT32, kind.input());
                NDArray input = kind.numbers(manager);
                float[] expected = Forward.infer(manager, block, input).toFloatArray();
                byte[] whole = BlockBytes.saved(block);
                int before = manager.getManagedArrays().size();
                for (int room = 0; room < whole.length; room++) {
                    DataOutputStream disk = new DataOutputStream(new SmallDisk(room));
                    assertThatExceptionOfType(IOException.class)
                            .isThrownBy(() -> block.saveParameters(disk))
                            .withMessage(FULL);
                }
                assertThat(manager.getManagedArrays()).as("%s", kind).hasSize(before);
                assertThat(BlockBytes.saved(block)).as("%s", kind).isEqualTo(whole);
                assertThat(Forward.infer(manager, block, input).toFloatArray())
                        .as("%s", kind)
                        .isEqualTo(expected);
            }
        }
    }

    @EngineTest
    void aModelIsSavedElsewhereWhenADiskIsFull(Engine engine, @TempDir Path folder) throws Exception {
        // Linux has a device that is always full
        Path full = Path.of("/dev/full");
        assumeTrue(Files.isWritable(full), "there is no /dev/full");
        Files.createSymbolicLink(folder.resolve("fault-0000.params"), full);
        TestBlocks kind = TestBlocks.EMBEDDING;
        try (Model model = initialized(engine, kind);
                Model loaded = model(engine, kind)) {
            // or DJL would take the next number
            model.setProperty("Epoch", "0");
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> model.save(folder, "fault"))
                    .withMessageContaining(FULL);
            model.save(folder.resolve("other"), "fault");
            loaded.load(folder.resolve("other"), "fault");
            assertThat(values(loaded.getNDManager(), kind, loaded.getBlock()))
                    .isEqualTo(values(model.getNDManager(), kind, model.getBlock()));
        }
    }
}
