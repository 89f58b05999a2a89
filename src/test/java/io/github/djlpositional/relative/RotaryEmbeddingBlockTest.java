package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.relative.RotaryPresetsTest.stored;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import java.util.List;
import java.util.Map;

class RotaryEmbeddingBlockTest {

    private static RotaryEmbeddingBlock.Builder builder() {
        return RotaryEmbeddingBlock.builder().setHeadSize(16).optMaxSequenceLength(100);
    }

    private static NDArray heads(NDManager manager, long... shape) {
        return TestNumbers.numbers(manager, 5, DataType.FLOAT32, shape);
    }

    @EngineTest
    void rotatesQueriesAndKeysTogetherAsOneByOne(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray keys = heads(manager, 2, 1, 5, 16);
        NDArray positions = manager.create(new int[] {4, 3, 2, 1, 0});
        // four heads of queries, or none
        for (NDArray queries : List.of(heads(manager, 2, 4, 5, 16), manager.create(new Shape(2, 0, 5, 16)))) {
            NDList both = rotated(manager, block, queries, keys);
            requireSame(both.get(0), Forward.infer(manager, block, queries));
            requireSame(both.get(1), Forward.infer(manager, block, keys));
            NDList positioned = rotated(manager, block, queries, keys, positions);
            requireSame(positioned.get(0), Forward.infer(manager, block, queries, positions));
            requireSame(positioned.get(1), Forward.infer(manager, block, keys, positions));
        }
    }

    /** The last dimensions, or a share of them; the reference is src/test/python/make_rotary.py. */
    @EngineTest
    void rotatesAPartOfAHeadAsPublishedCode(NDManager manager) {
        Map.of(
                        "deepseek",
                        builder().setHeadSize(192).optRotaryStart(128),
                        "proportional",
                        builder()
                                .setHeadSize(32)
                                .optFrequencies(Frequencies.proportional(32, 0.25, 1e6, 8))
                                .optLayout(PairLayout.CONCATENATED))
                .forEach((name, builder) -> {
                    NDArray y = Forward.infer(manager, builder.build(), stored(manager, name + ".input"));
                    requireClose(y, stored(manager, name + ".output").toDoubleArray(), 1e-14);
                });
    }

    private static NDList rotated(NDManager manager, Block block, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), false);
    }

    private static NDArray scores(NDList rotated) {
        return rotated.get(0).matMul(rotated.get(1).transpose(0, 1, 3, 2));
    }

    @EngineTest
    void scoresWithXposAreThoseOfThePublishedCode(NDManager manager) {
        // reference: src/test/python/make_rotary.py, whose positions are centered
        NDArray queries = stored(manager, "xpos.queries");
        NDArray keys = stored(manager, "xpos.keys");
        double[] expected = stored(manager, "xpos.scores").toDoubleArray();
        RotaryEmbeddingBlock block = builder().optXpos(5).build();
        NDArray late = manager.arange(90, 97);
        NDArray real = late.toType(DataType.FLOAT64, true).sub(95.5);
        // sums of 16 products of numbers up to 8, whose scales differ by up to (7/2)^(97/5) · 2^-52 at late positions
        requireClose(scores(rotated(manager, block, queries, keys)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, late)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, real)), expected, 1e-12);
    }

    private static RotaryEmbeddingBlock.Builder axes() {
        return builder().optAxes(RotaryAxes.of(0, 1, 0, 1, 1, 1, 0, 0));
    }

    @EngineTest
    void anAttentionsPositionsAreThoseOfAForward(NDManager manager) {
        NDArray x = heads(manager, 2, 1, 3, 16);
        NDArray ragged = manager.create(new int[][] {{4, 9, 0}, {30, 2, 3}});
        NDArray onAxes = NDArrays.stack(new NDList(ragged, ragged.flip(1)));
        for (RotaryEmbeddingBlock.Builder builder : List.of(
                builder(), axes(), axes().optXpos(512), axes().optScaling(RotaryScaling.dynamicNtk(2, 8, 40)))) {
            RotaryEmbeddingBlock block = builder.build();
            for (NDArray positions : block.getAxes() == null ? List.of(ragged) : List.of(ragged, onAxes)) {
                NDArray reals = positions.toType(DataType.FLOAT64, true);
                for (NDArray given : List.of(positions, reals)) {
                    Positions tokens = new Positions(7, 3, given, 31);
                    AttentionCall call = TestNumbers.call(manager, tokens);
                    NDList expected = rotated(manager, block, x, x, given);
                    requireSame(TestNumbers.rotated(block, call, x, false), expected.get(0));
                    requireSame(TestNumbers.rotated(block, call, x, true), expected.get(1));
                }
            }
        }
    }
}
