package io.github.djlpositional.guide;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.Distances;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.options.HasArguments;
import java.util.List;
import java.util.Map;

// tag::bias[]
/** Adds w · cos(2π · distance / period) to each score, where each head learns a w. */
public final class PeriodicBias extends RelativeEncoding.Base implements HasArguments {

    private final int headCount;
    private final int period;
    private final Parameter weights;

    public PeriodicBias(int headCount, int period) {
        this.headCount = headCount;
        this.period = period;
        weights = addParameter("weights", new Shape(headCount, 1), Initializer.ZEROS);
    }

    @Override
    public List<Term> terms() {
        return List.of(Term.bias(this::biases));
    }

    private NDArray biases(AttentionCall call, Distances distances) {
        NDArray d = distances.toArray(); // (size)
        NDArray frequency = d.getManager().full(new Shape(1), (float) (2 * Math.PI / period), d.getDataType());
        return d.mul(frequency).cos().mul(call.value(weights, d)); // (N, size)
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        long length = inputShapes[0].get(inputShapes[0].dimension() - 2);
        return new Shape[] {new Shape(1, headCount, length, length)};
    }

    @Override
    public Map<String, Object> getArguments() {
        return Map.of("type", "PeriodicBias", "headCount", headCount, "period", period);
    }

    public static PeriodicBias fromArguments(Map<?, ?> arguments) {
        Number headCount = (Number) arguments.get("headCount"); // 8.0 from some JSON readers
        Number period = (Number) arguments.get("period");
        return new PeriodicBias(headCount.intValue(), period.intValue());
    }
}
// end::bias[]
