package io.github.djlpositional.guide;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Activation;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Embedding;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.options.HasArguments;
import java.util.List;
import java.util.Map;

/** CoPE, for causal attention: the position of a key is the number of keys up to the query that the query selects. */
public final class ContextualPositions extends RelativeEncoding.Base implements HasArguments {

    private final int headSize;
    private final int count;

    /** A vector for each position, (count, H). */
    private final Parameter vectors;

    public ContextualPositions(int headSize, int count) {
        this.headSize = headSize;
        this.count = count;
        vectors = addParameter(Parameter.builder()
                .setName("vectors")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(count, headSize))
                .build());
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.scores(this::scores));
    }

    private NDArray scores(AttentionCall call, NDArray queries, NDArray keys) {
        NDManager manager = queries.getManager();
        DataType type = queries.getDataType(); // FLOAT32 if the attention is FLOAT16
        // Java numbers wait for a GPU
        NDArray scale = manager.full(new Shape(1), (float) call.scale(), type);
        NDArray last = manager.full(new Shape(1), count - 1, type);
        NDArray logits = queries.matMul(keys.toType(type, false).transpose(0, 1, 3, 2)); // (B, N, T, F)
        NDArray gates = Activation.sigmoid(logits.mul(scale)).mul(visible(call, queries));
        // from each key to the query
        NDArray sums = gates.sum(new int[] {3}, true).sub(gates.cumSum(3)).add(gates);
        NDArray positions = Activation.relu(sums).minimum(last); // never below 0
        NDArray products = queries.matMul(call.value(vectors, queries).transpose(1, 0)); // (B, N, T, count)
        NDArray below = positions.floor();
        NDArray ofBelow = products(products, below);
        NDArray ofAbove = products(products, positions.ceil());
        return positions.sub(below).mul(ofAbove.sub(ofBelow)).add(ofBelow);
    }

    /**
     * 1 for each visible key up to the query and 0 for others, (T, F) or (B, 1, T, F). A call may be a part of a
     * sequence, or a step.
     */
    private static NDArray visible(AttentionCall call, NDArray queries) {
        NDArray i = indices(call.queries(), queries).reshape(-1, 1);
        NDArray j = indices(call.keys(), queries).reshape(1, -1);
        NDArray isBefore = j.lte(i).toType(queries.getDataType(), false);
        NDArray ofKeys = call.visibleKeys(queries.getDataType()); // null without padding
        return ofKeys == null ? isBefore : isBefore.mul(ofKeys.expandDims(1).expandDims(1));
    }

    private static NDArray indices(Positions tokens, NDArray queries) {
        int first = tokens.first();
        return queries.getManager().arange(first, first + tokens.count(), 1, DataType.INT32, queries.getDevice());
    }

    /** The product of each query and the vector of its position of each key: (B, N, T, count) to (B, N, T, F). */
    private NDArray products(NDArray products, NDArray positions) {
        Shape shape = products.getShape();
        int size = Math.toIntExact(shape.size());
        NDArray first = products.getManager()
                .arange(0, size, count, DataType.INT32, products.getDevice())
                .reshape(shape.get(0), shape.get(1), shape.get(2), 1);
        NDArray indices = positions.toType(DataType.INT32, false).add(first);
        return Embedding.embedding(indices, products.reshape(size, 1), SparseFormat.DENSE)
                .singletonOrThrow()
                .squeeze(4);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape keys = inputShapes[inputShapes.length - 1];
        return new Shape[] {Shape.update(inputShapes[0], 3, keys.get(2))};
    }

    @Override
    public Map<String, Object> getArguments() { // for model files
        return Map.of("type", getClass().getSimpleName(), "headSize", headSize, "count", count);
    }
}
