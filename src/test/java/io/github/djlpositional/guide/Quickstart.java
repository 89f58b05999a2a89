package io.github.djlpositional.guide;

// tag::program[]
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.Arrays;

public final class Quickstart {

    public static void main(String[] args) {
        try (NDManager manager = NDManager.newBaseManager()) {
            PositionalEncodingBlock positions =
                    PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
            positions.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));

            NDArray embeddings = manager.zeros(new Shape(1, 3, 4)); // (B, T, D), usually of tokens
            NDArray sum = positions
                    .forward(new ParameterStore(manager, false), new NDList(embeddings), false)
                    .singletonOrThrow();

            System.out.println(sum.getShape());
            for (int position = 0; position < 3; position++) {
                System.out.println(Arrays.toString(sum.get(0, position).toFloatArray()));
            }
        }
    }
}
// end::program[]
