package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;

/** The manager that a block was initialized with is closed under it. */
class FaultManagerTest {

    /** Initializes a block, lets it work, and closes its manager; returns its model file. */
    private static byte[] orphan(Engine engine, TestBlocks each, Block block) throws Exception {
        try (NDManager own = engine.newBaseManager(Device.cpu())) {
            block.initialize(own, DataType.FLOAT32, each.input());
            Forward.infer(own, block, each.numbers(own));
            return BlockBytes.saved(block);
        }
    }

    /** What a block with the parameters of a model file answers. */
    private static float[] expected(NDManager manager, TestBlocks each, byte... file) throws Exception {
        Block block = each.block();
        BlockBytes.load(manager, block, file);
        return Forward.infer(manager, block, each.numbers(manager)).toFloatArray();
    }

    @EngineTest
    void blockWithoutParametersGoesOnWithAnother(Engine engine, NDManager manager) throws Exception {
        for (TestBlocks each : TestBlocks.values()) {
            Block block = each.block();
            byte[] file = orphan(engine, each, block);
            if (block.getParameters().isEmpty()) {
                assertThat(Forward.infer(manager, block, each.numbers(manager)).toFloatArray())
                        .as("%s", each)
                        .isEqualTo(expected(manager, each, file));
            }
        }
    }

    @EngineTest
    void blockWithParametersSaysThatTheyAreFreed(Engine engine, NDManager root) throws Exception {
        for (TestBlocks each : TestBlocks.values()) {
            // closed each time: the tables of the blocks before would go at a time of the garbage collector's
            try (NDManager manager = root.newSubManager()) {
                Block block = each.block();
                orphan(engine, each, block);
                if (!block.getParameters().isEmpty()) {
                    NDArray input = each.numbers(manager);
                    int before = manager.getManagedArrays().size();
                    assertThatIllegalStateException()
                            .as("%s", each)
                            .isThrownBy(() -> Forward.infer(manager, block, input))
                            .withMessageContaining("has been released already");
                    assertThat(manager.getManagedArrays()).as("%s", each).hasSize(before);
                }
            }
        }
    }

    @EngineTest
    void everyBlockCanBeLoadedAgain(Engine engine, NDManager manager) throws Exception {
        for (TestBlocks each : TestBlocks.values()) {
            Block block = each.block();
            byte[] file = orphan(engine, each, block);
            BlockBytes.load(manager, block, file);
            assertThat(Forward.infer(manager, block, each.numbers(manager)).toFloatArray())
                    .as("%s", each)
                    .isEqualTo(expected(manager, each, file));
        }
    }

    @EngineTest
    void everyBlockCanBeInitializedAgain(Engine engine, NDManager manager) throws Exception {
        for (TestBlocks each : TestBlocks.values()) {
            Block block = each.block();
            orphan(engine, each, block);
            block.initialize(manager, DataType.FLOAT32, each.input());
            assertThat(block.getParameters().values())
                    .as("%s", each)
                    .noneMatch(parameter -> parameter.getArray().isReleased());
            assertThat(Forward.infer(manager, block, each.numbers(manager)).toFloatArray())
                    .as("%s", each)
                    .isNotEmpty();
        }
    }
}
