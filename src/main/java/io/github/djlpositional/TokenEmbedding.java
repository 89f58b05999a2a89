package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Embedding;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;

/** A table of token vectors, in which the row of the padding token is initialized with zeros. */
final class TokenEmbedding extends AbstractBlock {

    private final Parameter table;
    private final SparseFormat gradients;

    /** Null for none. */
    private final Integer paddingIndex;

    TokenEmbedding(
            int vocabularySize, int embeddingSize, Integer paddingIndex, boolean sparseGradients, boolean isScaled) {
        this.paddingIndex = paddingIndex;
        gradients = sparseGradients ? SparseFormat.COO : SparseFormat.DENSE;
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
        NDArray values = ConfiguredBlock.value("the token embedding", table, parameterStore, ids, training);
        DataTypes.requireSameEngine(ids, values, "token table");
        try {
            return Embedding.embedding(ids, values, gradients);
        } catch (IllegalArgumentException e) {
            if (gradients == SparseFormat.DENSE) {
                throw e;
            }
            throw new IllegalArgumentException(
                    "optSparseGradients(true) on "
                            + ids.getManager().getEngine().getEngineName()
                            + ": expected dense gradients, the only ones that it has; build the block without the option",
                    e);
        }
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
