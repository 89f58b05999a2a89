package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import java.util.Arrays;
import java.util.List;

/**
 * A step of one token with a cache in one call of PyTorch, from the projections of x to that of the result. Each call
 * takes as long as ten operations on one token. What the function does not compute takes {@link Kernel.Step}.
 */
final class StepInOneCall {

    private final AttentionForward forward;
    private final TorchFunctions functions;

    /** Weights and biases of the four projections, then factors, offset and epsilon of the norms; null for none. */
    private final NDArray[] parameters;

    private StepInOneCall(AttentionForward forward, TorchFunctions functions, NDArray... parameters) {
        this.forward = forward;
        this.functions = functions;
        this.parameters = parameters;
    }

    /** Returns the step of a forward; null if it is none, or has what the function does not compute. */
    static StepInOneCall of(AttentionForward forward) {
        MultiHeadAttentionBlock attention = forward.attention;
        NDArray x = forward.inputs.queries();
        boolean isStep = forward.inputs.isSelf()
                && forward.inputs.values() == x
                && x.getShape().get(1) == 1
                && x.getShape().get(0) > 0
                && !forward.training
                && forward.inputs.pairMask() == null
                && isPlain(forward.options, attention)
                && forward.terms.areRotationOrBiases();
        TorchFunctions functions = isStep ? TorchFunctions.of(x) : null;
        if (functions == null) {
            return null;
        }
        NDArray[] parameters = new NDArray[14];
        set(parameters, 0, attention.getQueryProjection(), forward);
        set(parameters, 2, attention.getKeyProjection(), forward);
        set(parameters, 4, attention.getValueProjection(), forward);
        set(parameters, 6, attention.getResultProjection(), forward);
        boolean areKnown = setNorm(parameters, 8, attention.getQueryNorm(), forward, functions)
                && setNorm(parameters, 11, attention.getKeyNorm(), forward, functions);
        boolean hasGradient =
                x.hasGradient() || Arrays.stream(parameters).anyMatch(each -> each != null && each.hasGradient());
        return !areKnown || hasGradient ? null : new StepInOneCall(forward, functions, parameters);
    }

    private static boolean isPlain(MultiHeadAttentionBlock.Options options, MultiHeadAttentionBlock attention) {
        return options.fusedKernel()
                && options.scoreCap() == null
                && !options.sinks()
                && !options.normOfAllHeads()
                && !options.cosine()
                && options.projectionLimit() == null
                && options.outputGate() == null
                && options.valueScale() == null
                && attention.getTemperature() == null
                && attention.queryFactors() == null;
    }

    private static void set(NDArray[] arrays, int index, Block block, AttentionForward forward) {
        int next = index;
        for (Parameter parameter : block.getDirectParameters().values()) {
            arrays[next++] = forward.value(parameter, forward.inputs.queries(), "projections");
        }
    }

    /** Sets a norm, or none; returns whether it is known. */
    private static boolean setNorm(
            NDArray[] arrays, int index, Block norm, AttentionForward forward, TorchFunctions functions) {
        Double epsilon = norm instanceof RmsNormBlock rms
                ? (Double) rms.getEpsilon()
                : norm instanceof LayerNormBlock layer
                        ? (Double) (double) (float) layer.getEpsilon()
                        : null; // as DJL passes it
        if (epsilon != null) {
            set(arrays, index, norm, forward);
            arrays[index + 2] = functions.epsilon(epsilon, forward.inputs.queries());
        }
        return norm == null || epsilon != null;
    }

    /** The result, (B, 1, D), a new array; null if a mask or positions need other arrays for each query and key. */
    NDArray result(AttentionForward.Appended appended) {
        NDArray x = forward.inputs.queries();
        Temporaries temporaries = forward.temporaries;
        AttentionCall call = forward.call(appended.tokens(), appended.allTokens())
                .asStep(appended.cached().shared())
                .withHidden(appended.hidden());
        Visibility visibility =
                new Visibility(temporaries, forward.attention.order(), call, true, appended.hidden(), null, x);
        boolean isBiased = forward.terms.areAdded();
        if (!visibility.isRangeOfKeys() || (isBiased && (call.hasPositions() || !forward.terms.areConstant(call)))) {
            return null;
        }
        forward.checkMask(call);
        NDArray biases = isBiased ? forward.terms.stepBiases(call, temporaries.toType(x, DataTypes.ofScores(x))) : null;
        TorchFunctions.Cached cached =
                Kernel.Step.cached(forward.options, temporaries, appended.cached(), visibility, biases, x);
        Rotation rotation = forward.terms.rotation();
        AttentionCall ofToken = forward.call(appended.tokens(), appended.tokens());
        return Temporaries.result(() -> {
            List<NDArray> rows = rows(call, ofToken, x);
            return rows == null
                    ? null
                    : functions.attentionStep(
                            x,
                            parameters,
                            forward.options.headCount(),
                            rotation == null ? null : rotation.layout(),
                            rows,
                            cached);
        });
    }

    /**
     * The rows that rotate the queries, and the keys if they have others; null if they differ by head or dimension, or
     * are trained.
     *
     * @param call all queries and keys
     * @param ofToken the key of the token
     */
    private List<NDArray> rows(AttentionCall call, AttentionCall ofToken, NDArray x) {
        Rotation rotation = forward.terms.rotation();
        if (rotation == null) {
            return List.of();
        }
        RelativeEncoding encoding = forward.terms.ownerOf(rotation);
        MultiHeadAttentionBlock.Options options = forward.options;
        Shape ofQueries = new Shape(x.getShape().get(0), options.headCount(), 1, options.headSize());
        Shape ofKeys = Shape.update(ofQueries, 1, options.keyValueHeadCount());
        NDArray queries = rotation.rows(encoding, call, x, false, ofQueries);
        NDArray keys = rotation.rows(encoding, ofToken, x, true, ofKeys);
        boolean areByHead =
                queries.getShape().dimension() > 3 || keys.getShape().dimension() > 3;
        if (areByHead || rotation.isByDimension(queries) || queries.hasGradient() || keys.hasGradient()) {
            return null;
        }
        return queries == keys ? List.of(queries) : List.of(queries, keys);
    }
}
