package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;

/** A table of token vectors, in which the row of the padding token is initialized with zeros. */
final class TokenEmbedding extends AbstractBlock {

    private final Parameter table;

    /** Null for none. */
    private final Integer paddingIndex;

    TokenEmbedding(int vocabularySize, int embeddingSize, Integer paddingIndex, boolean isScaled) {
        this.paddingIndex = paddingIndex;
        table = addParameter(Parameter.builder()
                .setName("embedding")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(vocabularySize, embeddingSize))
                .optInitializer(new NormalInitializer(isScaled ? (float) (1 / Math.sqrt(embeddingSize)) : 1))
                .build());
    }

    Parameter table() {
        return table;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray ids = inputs.head();
        NDArray values = DataTypes.value("the token embedding", table, parameterStore, ids, training);
        DataTypes.requireSameEngine(ids, values, "token table");
        return new NDList(Indices.lookUpGiven(ids, values, ids.getManager()));
    }

    @Override
    protected void prepare(Shape[] inputShapes) {
        Initializer chosen = table.getInitializer();
        if (paddingIndex != null && !(chosen instanceof ZeroRow)) {
            table.setInitializer(new ZeroRow(chosen, paddingIndex));
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {inputShapes[0].add(table.getShape().get(1))};
    }

    /** Another initializer, followed by zeros in one row. */
    private record ZeroRow(Initializer others, int row) implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            NDArray array = others.initialize(manager, shape, dataType);
            // not set(index, 0): DJL would leave the number open, as an array of the manager
            try (NDArray zeros = manager.zeros(new Shape(1, shape.get(1)), dataType)) {
                array.set(NDIndex.sliceAxis(0, row, row + 1L), zeros);
            }
            return array;
        }
    }
}
