package consumer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Term;
import java.util.List;
import java.util.Map;

/** Loads an absolute encoding by its arguments and a relative one by its name, and runs both with a bias of its own. */
public final class Consumer {

    private Consumer() {}

    public static void main(String[] args) {
        PositionalEncodingBlock positions = PositionalEncodingBlock.fromArguments(Map.of("embeddingSize", 4));
        RelativeEncoding rotary = RelativeEncoding.named("rope", 2, 4, Map.of());
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(rotary, new DecayBias())
                .build();
        try (NDManager manager = NDManager.newBaseManager()) {
            float first = positions.encode(manager.arange(3)).getFloat(1, 0);
            if (first != (float) Math.sin(1)) {
                throw new IllegalStateException("sin 1 is " + first);
            }
            attention.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 8));
            NDArray result = attention.forward(
                            new ParameterStore(manager, false),
                            new NDList(manager.ones(new Shape(1, 3, 8))),
                            false)
                    .singletonOrThrow();
            if (!result.getShape().equals(new Shape(1, 3, 8))) {
                throw new IllegalStateException("shape " + result.getShape());
            }
        }
        Module module = PositionalEncodingBlock.class.getModule();
        System.out.println("the blocks work " + (module.isNamed() ? "in module " + module.getName() : "on the class path"));
    }

    /** -|distance| in each head, in a package that no module reads. */
    private static final class DecayBias extends RelativeEncoding.Base {

        @Override
        public List<Term> terms() {
            return List.of(Term.bias(
                    (call, distances) -> distances.toArray().abs().neg().expandDims(0)));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }
}
