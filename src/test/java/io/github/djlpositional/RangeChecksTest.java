package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import java.util.List;

/** {@code optRangeChecks} on a CPU, where checks are on by default. */
class RangeChecksTest {

    /** A block, and the shape of an input; of ids if it has rank 2. Indices are from 0 to 9. */
    private record Case(Block block, Shape input) {

        /** The indices as token ids, or with an input as its positions. */
        List<NDArray> inputs(NDManager manager, long... indices) {
            NDArray given = manager.create(indices);
            return input.dimension() == 2
                    ? List.of(given.expandDims(0))
                    : List.of(manager.ones(input, DataType.FLOAT32), given);
        }

        NDArray infer(NDManager manager, long... indices) {
            return Forward.infer(manager, block, inputs(manager, indices).toArray(new NDArray[0]));
        }
    }

    private static List<Case> cases(NDManager manager, boolean checks) {
        Block rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optMaxSequenceLength(10)
                .optRangeChecks(checks)
                .build();
        Shape x = new Shape(1, 3, 4);
        Block tokens = embedding().setVocabularySize(10).optRangeChecks(checks).build();
        List<Case> cases = List.of(
                new Case(positions().optRangeChecks(checks).build(), x),
                new Case(learned().optRangeChecks(checks).build(), x),
                new Case(rotary, new Shape(1, 2, 3, 4)),
                new Case(tokens, new Shape(1, 3)));
        cases.forEach(tested -> tested.block.initialize(manager, DataType.FLOAT32, tested.input));
        return cases;
    }

    @EngineTest
    void checkedIndicesAreRefusedByName(NDManager manager) {
        for (Case tested : cases(manager, true)) {
            String what = tested.input.dimension() == 2 ? "token id" : "position";
            refused(manager, tested.block, tested.inputs(manager, 0, 10, 1), what + " 10 at index 1");
        }
    }

    @EngineTest
    void uncheckedIndicesInRangeHaveTheSameOutput(NDManager manager) {
        for (Case tested : cases(manager, false)) {
            assertThat(tested.infer(manager, 9, 0, 5).get("...,2,:").toFloatArray())
                    .containsExactly(
                            tested.infer(manager, 5, 5, 5).get("...,2,:").toFloatArray());
        }
    }

    @EngineTest
    void uncheckedIndicesOutOfRangeReachTheEngine(Engine engine, NDManager manager) {
        for (Case tested : cases(manager, false)) {
            if ("PyTorch".equals(engine.getEngineName())) {
                assertThatExceptionOfType(EngineException.class)
                        .isThrownBy(() -> tested.infer(manager, 0, 10, 1))
                        .withMessageContaining("index out of range");
            } else {
                assertThat(tested.infer(manager, 0, 10, 1).toFloatArray()).isNotEmpty();
            }
        }
    }

    @EngineTest
    void aBlockThatExtendsItselfReadsPositionsThatAreNotChecked(NDManager manager) {
        PositionalEncodingBlock block =
                positions().optAutoExtend(1 << 20).optRangeChecks(false).build();
        NDArray y = new Case(initialized(manager, block, 1, 3, 4), new Shape(1, 3, 4)).infer(manager, 0, 25, 1);
        assertThat(y.getFloat(0, 1, 0)).isEqualTo(1 + (float) Math.sin(25));
        assertThat(block.getMaxSequenceLength()).isGreaterThan(25);
    }
}
