package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** The thread was interrupted before: a block neither fails nor forgets it. */
class FaultInterruptTest {

    @AfterEach
    void leavesTheThreadToTheNextTest() {
        Thread.interrupted();
    }

    @EngineTest
    void everyBlockWorksAndKeepsTheInterrupt(NDManager manager) {
        for (TestBlocks each : TestBlocks.values()) {
            Block block = each.block();
            NDArray input = each.numbers(manager);
            Thread.currentThread().interrupt();
            block.initialize(manager, DataType.FLOAT32, each.input());
            float[] interrupted = Forward.infer(manager, block, input).toFloatArray();
            assertThat(Thread.interrupted()).as("%s", each).isTrue();
            assertThat(interrupted)
                    .as("%s", each)
                    .isEqualTo(Forward.infer(manager, block, input).toFloatArray());
        }
    }

    @EngineTest
    void modelIsSavedAndLoadedAndKeepsTheInterrupt(Engine engine, @TempDir Path folder) throws Exception {
        TestBlocks kind = TestBlocks.ATTENTION;
        try (Model model = Model.newInstance("fault", Device.cpu(), engine.getEngineName());
                Model loaded = Model.newInstance("fault", Device.cpu(), engine.getEngineName())) {
            NDManager manager = model.getNDManager();
            model.setBlock(kind.block());
            loaded.setBlock(kind.block());
            model.getBlock().initialize(manager, DataType.FLOAT32, kind.input());
            Thread.currentThread().interrupt();
            model.save(folder, "fault");
            loaded.load(folder, "fault");
            assertThat(Thread.interrupted()).isTrue();
            NDArray input = kind.numbers(manager);
            assertThat(Forward.infer(manager, loaded.getBlock(), input).toFloatArray())
                    .isEqualTo(Forward.infer(manager, model.getBlock(), input).toFloatArray());
        }
    }
}
