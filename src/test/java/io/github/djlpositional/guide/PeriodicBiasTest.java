package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The first encoding of docs/own-encoding.md. */
public class PeriodicBiasTest extends OnEachEngine {

    // tag::provider[]
    public static final class Provider implements TypeProvider {
        @Override
        public Map<String, Class<?>> types() {
            return Map.of("periodic", PeriodicBias.class);
        }
    }
    // end::provider[]

    @Test
    void equalsItsFormulaAndStepsEqualTheWhole() {
        // tag::test[]
        PeriodicBias bias = new PeriodicBias(2, 7);
        Block attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(true)
                .optRelativeEncoding(bias)
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 8)); // the encoding, too
        NDArray weights = bias.getParameters().get("weights").getArray();
        manager.create(new float[][] {{0.5f}, {-2}}).copyTo(weights);
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = manager.randomNormal(new Shape(1, 20, 8));

        NDArray term = bias.forward(store, new NDList(x), false).head(); // (1, 2, 20, 20)
        float expected = (float) (-2 * Math.cos(2 * Math.PI * 4 / 7)); // head 1, query 9, key 5
        assertThat(term.getFloat(0, 1, 9, 5)).isCloseTo(expected, within(1e-5f));

        NDArray whole = attention.forward(store, new NDList(x), false).head();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 20; i++) {
                NDList token = new NDList(x.get(":, {}:{}", i, i + 1));
                NDArray step =
                        attention.forward(store, token, false, cache.nextStep()).head();
                NDArray error = step.sub(whole.get(":, {}:{}", i, i + 1)).abs().max();
                assertThat(error.getFloat()).isLessThan(1e-5f);
            }
        }
        // end::test[]
        assertThat(term.getShape()).isEqualTo(bias.getOutputShapes(new Shape[] {x.getShape()})[0]);
    }

    /** OwnEncodingTest also trains it, in every kernel. */
    @Test
    void isCreatedByItsArguments() {
        PeriodicBias bias = PeriodicBias.fromArguments(Map.of("headCount", 2.0, "period", 7));
        Map<String, Object> arguments = bias.getArguments();
        assertThat(arguments).isEqualTo(Map.of("type", "PeriodicBias", "headCount", 2, "period", 7));
        assertThat(PeriodicBias.fromArguments(arguments).getArguments()).isEqualTo(arguments);
    }
}
