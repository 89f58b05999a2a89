package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** The fused kernel in another data type than FLOAT32. */
@Sampled(oneIn = 2)
class KernelTypeTest extends OnEachEngine {

    /** The greatest difference of two arrays, as a share of the greatest number. */
    private static double difference(double[] actual, double... expected) {
        double greatest = DoubleStream.of(expected).map(Math::abs).max().orElseThrow();
        return IntStream.range(0, expected.length)
                        .mapToDouble(i -> Math.abs(actual[i] - expected[i]))
                        .max()
                        .orElseThrow()
                / greatest;
    }

    @CartesianTest
    void resultsAndGradientsDifferByTheRoundingOfTheKernel(
            @CartesianTest.Enum EncodingType encoding,
            @Values(booleans = {true, false}) boolean isBfloat16,
            @Values(booleans = {true, false}) boolean causal) {
        double[][] results = new double[2][];
        double[][] gradients = new double[2][];
        for (int i = 0; i < 2; i++) {
            MultiHeadAttentionBlock.Builder builder =
                    encoding.attention(HEADS).optCausal(causal).optScale(0.1);
            if (i == 1) {
                builder.optKernelType(isBfloat16 ? DataType.BFLOAT16 : DataType.FLOAT16);
            }
            MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT32);
            block.freezeParameters(true);
            NDArray x = numbers(manager, 3, DataType.FLOAT32, 2, 40, SIZE);
            x.setRequiresGradient(true);
            try (GradientCollector collector = engine.get().newGradientCollector()) {
                NDArray y = Forward.train(manager, block, x);
                assertThat(y.getDataType()).isEqualTo(DataType.FLOAT32);
                collector.backward(y.sum());
                results[i] = doubles(y);
                gradients[i] = doubles(x.getGradient());
            }
        }
        // BFLOAT16 has eight bits: scores up to about 4 and their weights are off by half of the last one
        double tolerance = isBfloat16 ? 2e-2 : 3e-3;
        assertThat(difference(results[1], results[0])).isLessThan(tolerance);
        assertThat(difference(gradients[1], gradients[0])).isLessThan(2 * tolerance);
    }

    /** Half precision on a GPU: the biases of distances are numbers of the kernel's type. */
    @ParameterizedTest
    @EnumSource(names = {"ALIBI", "T5", "KERPLE", "SANDWICH"})
    void halfPrecisionWithBiasesIsCloseToFloat32InLongSequences(EncodingType encoding) {
        assumeEngine(TestEngine.PYTORCH);
        SimulatedGpuEngine gpu = new SimulatedGpuEngine();
        double[][] results = new double[2][];
        DataType[] types = {DataType.FLOAT32, DataType.FLOAT16};
        for (int i = 0; i < 2; i++) {
            try (NDManager onGpu = gpu.newBaseManager(Device.gpu(0))) {
                MultiHeadAttentionBlock block =
                        filled(onGpu, encoding.attention(HEADS).optCausal(true).build(), types[i]);
                block.freezeParameters(true);
                results[i] = doubles(Forward.infer(onGpu, block, numbers(onGpu, 3, types[i], 1, 2048, SIZE)));
            }
        }
        assertThat(difference(results[1], results[0])).isLessThan(2e-3);
    }

    /** Biases that leave the range of FLOAT16, also that of a query's own key. */
    private static final class SteepBias extends ScoreTermBlock {

        record Settings() {}

        SteepBias() {
            super(new Settings(), HEADS);
        }

        @Override
        public List<Term> terms() {
            return List.of(Term.bias(this::biases));
        }

        private NDArray biases(AttentionCall call, Distances distances) {
            NDArray slope = Arithmetic.multiply(distances.toArray().abs(), -7e4);
            return Arithmetic.add(slope, 1e6).broadcast(new Shape(HEADS, distances.size()));
        }
    }

    @Test
    void biasesBeyondTheRangeOfHalfPrecisionHideDistantKeys() {
        assumeEngine(TestEngine.PYTORCH);
        SimulatedGpuEngine gpu = new SimulatedGpuEngine();
        try (NDManager onGpu = gpu.newBaseManager(Device.gpu(0))) {
            Block block = filled(
                    onGpu,
                    EncodingType.NONE
                            .attention(HEADS)
                            .optRelativeEncoding(new SteepBias())
                            .build(),
                    DataType.FLOAT16);
            block.freezeParameters(true);
            NDArray x = numbers(onGpu, 3, DataType.FLOAT16, 1, 6, SIZE);
            // each token sees only itself
            double[] expected = doubles(Forward.infer(onGpu, block, x.reshape(6, 1, SIZE)));
            assertThat(difference(doubles(Forward.infer(onGpu, block, x)), expected))
                    .isLessThan(2e-3);
        }
    }
}
