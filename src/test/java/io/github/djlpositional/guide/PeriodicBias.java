package io.github.djlpositional.guide;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.options.HasArguments;
import java.util.Map;

// tag::bias[]
/** Adds w · cos(2π · distance / period) to each score, where each head learns a w. */
public final class PeriodicBias extends AbstractBlock implements RelativeEncoding, HasArguments {

    private final int headCount;
    private final int period;
    private final Parameter weights;

    public PeriodicBias(int headCount, int period) {
        this.headCount = headCount;
        this.period = period;
        weights = addParameter(Parameter.builder()
                .setName("weights")
                .setType(Parameter.Type.OTHER)
                .optShape(new Shape(headCount, 1))
                .optInitializer(Initializer.ZEROS)
                .build());
    }

    @Override
    public NDArray distanceBias(AttentionCall call, Distances distances) {
        try (NDArray distance = distances.toArray(); // (size)
                NDArray frequency = distance.getManager()
                        .full(new Shape(1), (float) (2 * Math.PI / period), distance.getDataType());
                NDArray angles = distance.mul(frequency);
                NDArray cosines = angles.cos()) {
            NDArray w = call.parameterStore().getValue(weights, cosines.getDevice(), call.training());
            return cosines.mul(w); // (N, size)
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray queries = inputs.head();
        return new NDList(RelativeEncoding.term(this, store, queries, queries, training, params));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        long length = inputShapes[0].get(inputShapes[0].dimension() - 2);
        return new Shape[] {new Shape(1, headCount, length, length)};
    }
    // end::bias[]

    // tag::arguments[]
    @Override
    public Map<String, Object> getArguments() {
        return Map.of("type", "PeriodicBias", "headCount", headCount, "period", period);
    }

    public static PeriodicBias fromArguments(Map<?, ?> arguments) {
        Number headCount = (Number) arguments.get("headCount"); // 8.0 from some JSON readers
        Number period = (Number) arguments.get("period");
        return new PeriodicBias(headCount.intValue(), period.intValue());
    }
    // end::arguments[]
}
