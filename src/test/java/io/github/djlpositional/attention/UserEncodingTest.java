package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.EncodingType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** A user's relative encoding, -(i - j)² / (2 σ²) with a learned σ of each head, gets what this library's own get. */
class UserEncodingTest {

    private static class GaussianBias extends AbstractBlock implements RelativeEncoding {

        private final Parameter sigmas = addParameter(Parameter.builder()
                .setName("sigmas")
                .setType(Parameter.Type.OTHER)
                .optShape(new Shape(HEADS))
                .optInitializer(new ConstantInitializer(1))
                .build());
        private final Set<Term> terms;

        /** The numbers of distances that biases were asked for. */
        private final List<Integer> sizes = new ArrayList<>();

        GaussianBias(Set<Term> terms) {
            this.terms = terms;
        }

        @Override
        public void requireFits(int headCount, int headSize) {
            assertThat(headCount).isEqualTo(HEADS);
        }

        @Override
        public Set<Term> terms() {
            return terms;
        }

        @Override
        public NDArray distanceBias(AttentionCall call, Distances distances) {
            sizes.add(distances.size());
            try (NDManager own = sigmas.getArray().getManager().newSubManager()) {
                NDArray all = distances.toArray();
                NDArray sigma = call.parameterStore().getValue(sigmas, all.getDevice(), call.training());
                NDArray ratio = all.expandDims(0).div(sigma.expandDims(1));
                NDArray biases = ratio.mul(ratio).mul(own.full(new Shape(1), -0.5f, all.getDataType()));
                all.close();
                return biases;
            }
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    private static MultiHeadAttentionBlock attention(NDManager manager, GaussianBias bias, boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optRelativeEncoding(bias)
                        .optCausal(true)
                        .optFusedKernel(isFused)
                        .build(),
                DataType.FLOAT64);
        block.freezeParameters(true);
        return block;
    }

    private static NaiveAttention formula(MultiHeadAttentionBlock block, GaussianBias bias, int... positions) {
        double[] sigmas = TestNumbers.doubles(bias.sigmas.getArray());
        return new NaiveAttention(EncodingType.NONE, block)
                .with((head, query, key) -> -0.5 * Math.pow((positions[key] - positions[query]) / sigmas[head], 2));
    }

    @EngineTest
    void givesItsFormulaWithIndicesAndPositions(NDManager manager) {
        for (boolean isFused : new boolean[] {true, false}) {
            for (Set<RelativeEncoding.Term> terms :
                    List.of(EnumSet.allOf(RelativeEncoding.Term.class), Set.of(RelativeEncoding.Term.DISTANCE_BIAS))) {
                GaussianBias bias = new GaussianBias(terms);
                MultiHeadAttentionBlock block = attention(manager, bias, isFused);
                NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, 5, SIZE);
                ParameterStore store = new ParameterStore(manager, false);
                NDArray y = block.forward(store, new NDList(x), false).head();
                requireClose(y, formula(block, bias, 0, 1, 2, 3, 4).forward(0, x, x, x, (i, j) -> j <= i), 1e-12);
                int[] positions = {7, 9, 1_000_000, 1_000_001, 3};
                PairList<String, Object> params = new PairList<>();
                params.add(PositionalEncodingBlock.POSITIONS, manager.create(positions));
                NDArray z = block.forward(store, new NDList(x), false, params).head();
                requireClose(z, formula(block, bias, positions).forward(0, x, x, x, (i, j) -> j <= i), 1e-12);
            }
        }
    }

    @EngineTest
    void aCacheKeepsItsBiases(NDManager manager) {
        GaussianBias bias = new GaussianBias(Set.of(RelativeEncoding.Term.DISTANCE_BIAS));
        MultiHeadAttentionBlock block = attention(manager, bias, true);
        NDArray x = numbers(manager, 4, DataType.FLOAT64, 1, 40, SIZE);
        double[] whole = TestNumbers.doubles(block.forward(new ParameterStore(manager, false), new NDList(x), false)
                .head());
        bias.sizes.clear();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int step = 0; step < 40; step++) {
                NDArray token = x.get(":, " + step + ":" + (step + 1));
                NDArray y = block.forward(
                                new ParameterStore(manager, false), new NDList(token), false, cache.nextStep())
                        .head();
                for (int d = 0; d < SIZE; d++) {
                    assertThat(y.getDouble(0, 0, d)).isCloseTo(whole[step * SIZE + d], within(1e-12));
                }
            }
        }
        assertThat(bias.sizes).containsExactly(2, 6, 14, 30, 62);
    }

    @EngineTest
    void isTrained(Engine engine, NDManager manager) {
        List<double[]> gradients = new ArrayList<>();
        for (boolean isFused : new boolean[] {true, false}) {
            GaussianBias bias = new GaussianBias(Set.of(RelativeEncoding.Term.DISTANCE_BIAS));
            MultiHeadAttentionBlock block = attention(manager, bias, isFused);
            block.freezeParameters(false);
            NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 6, SIZE);
            try (GradientCollector collector = engine.newGradientCollector()) {
                NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                        .head();
                collector.backward(y.mul(y).sum());
            }
            gradients.add(TestNumbers.doubles(bias.sigmas.getArray().getGradient()));
        }
        assertThat(gradients.get(0)).doesNotContain(0);
        assertThat(gradients.get(0)).containsExactly(gradients.get(1), within(1e-9));
    }

    @EngineTest
    void refusesBiasesOfAnotherNumber(NDManager manager) {
        GaussianBias bias = new GaussianBias(EnumSet.allOf(RelativeEncoding.Term.class)) {
            @Override
            public NDArray distanceBias(AttentionCall call, Distances distances) {
                return manager.zeros(new Shape(HEADS, 3), DataType.FLOAT64);
            }
        };
        MultiHeadAttentionBlock block = attention(manager, bias, true);
        NDArray x = numbers(manager, 6, DataType.FLOAT64, 1, 5, SIZE);
        refused(() -> block.forward(new ParameterStore(manager, false), new NDList(x), false), "(2, 3)");
    }
}
