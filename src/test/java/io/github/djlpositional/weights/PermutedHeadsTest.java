package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.math.PairLayout;
import java.util.Map;

/** Projections of a rotated attention in Meta's layout, with 2 heads and 1 key head of 8, and what torch computed. */
class PermutedHeadsTest {

    private static final String FILE = "rotary.safetensors";

    /** The permuted tensors, and their numbers of heads. */
    private static final Map<String, Integer> HEADS =
            Map.of("wq.weight", 2, "wq.bias", 2, "wk.weight", 1, "wk.bias", 1);

    private static final int[] ROTARY_SIZES = {8, 6};

    private static Parameter parameter(NDManager manager, String name) throws Exception {
        Shape shape = Weights.open(FILE).getTensors().get(name).shape();
        return Weights.parameter(manager, DataType.FLOAT64, shape.getShape());
    }

    @EngineTest
    void equalsThePermutationOfHuggingFace(NDManager manager) throws Exception {
        for (int rotarySize : ROTARY_SIZES) {
            for (String name : HEADS.keySet()) {
                String tensor = "attention." + name;
                Parameter parameter = parameter(manager, tensor);
                Weights.loader(FILE)
                        .permutedHeads(tensor, HEADS.get(name), rotarySize, PairLayout.CONCATENATED, parameter)
                        .load();
                assertThat(parameter.getArray().toDoubleArray())
                        .as("%s %s", tensor, rotarySize)
                        .isEqualTo(Weights.expected("rotary " + name + " " + rotarySize));
            }
        }
    }

    @EngineTest
    void theOtherDirectionIsTheInverse(NDManager manager) throws Exception {
        for (String name : HEADS.keySet()) {
            String tensor = "attention." + name;
            Parameter original = parameter(manager, tensor);
            Parameter parameter = parameter(manager, tensor);
            Weights.loader(FILE)
                    .table(tensor, original)
                    .permutedHeads("permuted." + tensor, HEADS.get(name), 6, PairLayout.INTERLEAVED, parameter)
                    .load();
            assertThat(parameter.getArray()).as(tensor).isEqualTo(original.getArray());
        }
    }

    private static MultiHeadAttentionBlock attention(
            NDManager manager, DataType type, PairLayout layout, int rotarySize) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optHeadSize(8)
                .optKeyValueHeadCount(1)
                .optCausal(true)
                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                        .setHeadSize(8)
                        .optRotarySize(rotarySize)
                        .optLayout(layout)
                        .build())
                .build();
        block.initialize(manager, type, new Shape(2, 5, 8));
        return block;
    }

    @EngineTest
    void permutedWeightsWithTheOtherLayoutGiveTheSameAttention(NDManager manager, PairLayout layout) throws Exception {
        Map<DataType, Double> errors = Map.of(DataType.FLOAT32, 1e-5, DataType.FLOAT64, 1e-12);
        for (DataType type : errors.keySet()) {
            NDArray x = manager.create(Weights.expected("rotary x"), new Shape(2, 5, 8))
                    .toType(type, false);
            for (int rotarySize : ROTARY_SIZES) {
                MultiHeadAttentionBlock block = attention(manager, type, layout, rotarySize);
                Map<String, Linear> projections = Map.of(
                        "wq",
                        block.getQueryProjection(),
                        "wk",
                        block.getKeyProjection(),
                        "wv",
                        block.getValueProjection(),
                        "wo",
                        block.getResultProjection());
                WeightLoader loader = Weights.loader(FILE);
                projections.forEach((projection, linear) -> linear.getDirectParameters()
                        .forEach(pair -> {
                            String name = projection + "." + pair.getKey();
                            if (layout == PairLayout.CONCATENATED && HEADS.containsKey(name)) {
                                loader.permutedHeads(
                                        "attention." + name, HEADS.get(name), rotarySize, layout, pair.getValue());
                            } else {
                                loader.table("attention." + name, pair.getValue());
                            }
                        }));
                int open = manager.getManagedArrays().size();
                loader.load();
                assertThat(manager.getManagedArrays()).hasSize(open);
                assertThat(Forward.infer(manager, block, x)
                                .toType(DataType.FLOAT64, false)
                                .toDoubleArray())
                        .containsExactly(Weights.expected("rotary attention " + rotarySize), within(errors.get(type)));
            }
        }
    }

    @EngineTest
    void headsThatATensorDoesNotHaveAreRefused(NDManager manager) throws Exception {
        WeightLoader loader = Weights.loader(FILE);
        String name = "attention.wq.weight";
        Parameter parameter = parameter(manager, name);
        PairLayout layout = PairLayout.CONCATENATED;
        for (int headCount : new int[] {3, 0, 32}) {
            Weights.assertRejected(
                    () -> loader.permutedHeads(name, headCount, 2, layout, parameter), "headCount " + headCount);
        }
        for (int rotarySize : new int[] {5, 0, -2, 10}) {
            Weights.assertRejected(
                    () -> loader.permutedHeads(name, 2, rotarySize, layout, parameter),
                    "rotarySize " + rotarySize,
                    "size 8",
                    name);
        }
        Weights.assertRejected(() -> loader.permutedHeads("wq", 2, 8, layout, parameter), "\"wq\"", name);
        loader.table(name, parameter);
        Parameter other = parameter(manager, name);
        Weights.assertRejected(() -> loader.permutedHeads(name, 2, 8, layout, other), name, "twice");
    }
}
