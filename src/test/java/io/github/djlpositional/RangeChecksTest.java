package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import java.util.List;
import java.util.function.Function;

/** {@code optRangeChecks}, on a CPU, where checks are on without it. */
class RangeChecksTest {

    /** A block with its checks on or off, and an input for it. */
    private record Case(Function<Boolean, Block> maker, Shape input, String what) {

        Block initialized(NDManager manager, boolean checks) {
            Block block = maker.apply(checks);
            block.initialize(manager, DataType.FLOAT32, input);
            return block;
        }

        /** The indices as token ids, or as the positions of an input. */
        NDArray[] inputs(NDManager manager, long... indices) {
            NDArray given = manager.create(indices);
            boolean isIds = input.dimension() == 2;
            return isIds
                    ? new NDArray[] {given.expandDims(0)}
                    : new NDArray[] {manager.ones(input, DataType.FLOAT32), given};
        }
    }

    private static final List<Case> CASES = List.of(
            new Case(
                    checks -> PositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .optMaxSequenceLength(10)
                            .optRangeChecks(checks)
                            .build(),
                    new Shape(1, 3, 4),
                    "position"),
            new Case(
                    checks -> LearnedPositionalEncodingBlock.builder()
                            .setEmbeddingSize(4)
                            .optMaxSequenceLength(10)
                            .optRangeChecks(checks)
                            .build(),
                    new Shape(1, 3, 4),
                    "position"),
            new Case(
                    checks -> RotaryEmbeddingBlock.builder()
                            .setHeadSize(4)
                            .optMaxSequenceLength(10)
                            .optRangeChecks(checks)
                            .build(),
                    new Shape(1, 2, 3, 4),
                    "position"),
            new Case(
                    checks -> InputEmbeddingBlock.builder()
                            .setVocabularySize(10)
                            .setEmbeddingSize(4)
                            .optRangeChecks(checks)
                            .build(),
                    new Shape(1, 3),
                    "token id"));

    @EngineTest
    void checkedIndicesAreRefusedByName(NDManager manager) {
        for (Case tested : CASES) {
            Block block = tested.initialized(manager, true);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Forward.infer(manager, block, tested.inputs(manager, 0, 10, 1)))
                    .withMessageStartingWith(tested.what + " 10 at index 1");
        }
    }

    @EngineTest
    void uncheckedIndicesGiveTheSameWhereTheyAreInRange(NDManager manager) {
        for (Case tested : CASES) {
            Block block = tested.initialized(manager, false);
            NDArray[] inputs = tested.inputs(manager, 9, 0, 5);
            NDArray alone = Forward.infer(manager, block, tested.inputs(manager, 5, 5, 5));
            NDArray answer = Forward.infer(manager, block, inputs);
            assertThat(answer.get("...,2,:").toFloatArray())
                    .containsExactly(alone.get("...,2,:").toFloatArray());
        }
    }

    @EngineTest
    void uncheckedIndicesOutOfRangeAreTheEnginesAffair(Engine engine, NDManager manager) {
        for (Case tested : CASES) {
            Block block = tested.initialized(manager, false);
            NDArray[] inputs = tested.inputs(manager, 0, 10, 1);
            if ("PyTorch".equals(engine.getEngineName())) {
                assertThatExceptionOfType(EngineException.class)
                        .isThrownBy(() -> Forward.infer(manager, block, inputs))
                        .withMessageContaining("index out of range");
            } else {
                assertThat(Forward.infer(manager, block, inputs).toFloatArray()).isNotEmpty();
            }
        }
    }

    @EngineTest
    void aBlockThatExtendsItselfReadsThePositionsAllTheSame(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .optRangeChecks(false)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
        NDArray zeros = manager.zeros(new Shape(1, 3, 4));
        NDArray answer = Forward.infer(manager, block, zeros, manager.create(new long[] {0, 25, 1}));
        assertThat(answer.getFloat(0, 1, 0)).isEqualTo((float) Math.sin(25));
        assertThat(block.getMaxSequenceLength()).isGreaterThan(25);
    }
}
