package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.util.PairList;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.math.PairLayout;

/** A step of one token in a self-attention with a cache, in one call of PyTorch. */
final class Step {

    /** The indices of arrays after the input, the weights and their biases; a norm has a factor and its epsilon. */
    private static final int ROWS = 9;

    private static final int KEYS = 10;
    private static final int VALUES = 11;
    private static final int QUERY_NORM = 12;
    private static final int KEY_NORM = 14;
    private static final int KEY_ROWS = 16;
    private static final int MASK = 17;
    private static final int BIAS = 18;
    private static final int SCALE = 19;
    private static final int FACTOR = 20;
    private static final int COUNT = 21;

    private final MultiHeadAttentionBlock attention;
    private final MultiHeadAttentionBlockOptions options;
    private final Encodings encodings;

    /** (B, 1, D). */
    private final NDArray x;

    private final TorchFunctions functions;

    /** The arrays of {@link TorchFunctions#step}, in its order. */
    private final NDArray[] arrays = new NDArray[COUNT];

    private Step(MultiHeadAttentionBlock attention, NDArray x) {
        this.attention = attention;
        options = attention.options();
        encodings = attention.encodings();
        this.x = x;
        functions = TorchFunctions.of(x);
    }

    /**
     * Returns a step; null for a forward that is not a step, or whose options are not supported. No gradient may be
     * recorded: the arrays of a cache are written to, and PyTorch compiles a method that records gradients, which may
     * then round differently.
     */
    static Step of(AttentionForward forward, AttentionInputs inputs, PairList<String, Object> params) {
        MultiHeadAttentionBlock attention = forward.attention();
        Step step = new Step(attention, inputs.queries());
        boolean isStep = step.x.getShape().get(1) == 1
                && step.x == inputs.keys()
                && step.x == inputs.values()
                && (inputs.mask() == null || AttentionMask.isKeyMask(inputs.mask()))
                && step.functions != null
                && step.isSupported(params.contains(Positions.POSITIONS));
        return isStep && step.setWeights(forward) ? step : null;
    }

    private boolean isSupported(boolean hasPositions) {
        return options.fusedKernel()
                && options.scoreCap() == null
                && !options.sinks()
                && attention.getTemperature() == null
                && encodings.haveStep()
                && !(hasPositions && (encodings.hasTerms() || options.chunkSize() != null))
                && isSupported(attention.getQueryNorm())
                && isSupported(attention.getKeyNorm());
    }

    private boolean isSupported(Block norm) {
        return norm == null
                || (norm instanceof RmsNormBlock rms
                        && rms.getScale().getShape().size() == options.headSize());
    }

    /** Sets the input and all weights; returns whether none has a gradient. */
    private boolean setWeights(AttentionForward forward) {
        Linear[] projections = {
            attention.getQueryProjection(),
            attention.getKeyProjection(),
            attention.getValueProjection(),
            attention.getResultProjection()
        };
        arrays[0] = x;
        for (int i = 0; i < projections.length; i++) {
            boolean hasBias = i == 3 ? options.resultBias() : options.bias();
            arrays[1 + 2 * i] = forward.value(projections[i], 0, x);
            arrays[2 + 2 * i] = hasBias ? forward.value(projections[i], 1, x) : null;
        }
        setNorm(forward, QUERY_NORM, attention.getQueryNorm());
        setNorm(forward, KEY_NORM, attention.getKeyNorm());
        for (NDArray array : arrays) {
            if (array != null && array.hasGradient()) {
                return false;
            }
        }
        return encodings.areAllConstant();
    }

    private void setNorm(AttentionForward forward, int index, Block norm) {
        if (norm instanceof RmsNormBlock rms) {
            arrays[index] = forward.value(rms.getScale(), x, "scale");
            arrays[index + 1] = functions.number(rms.getEpsilon());
        }
    }

    /**
     * Returns the result, (B, 1, D), a new array, and writes the key and the value to the cache.
     *
     * @param call the query, and the keys of earlier steps and of this step
     * @param keyCall the key of this step
     * @param tokens the cached tokens
     * @param mask which of them are visible, (B, n); null for all
     */
    NDArray result(
            Temporaries temporaries, AttentionCall call, AttentionCall keyCall, CachedTokens tokens, NDArray mask) {
        Rotation rotation = encodings.rotation();
        int origin = tokens.keys().origin();
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            if (rotation != null) {
                Shape shape = new Shape(x.getShape().get(0), options.headCount(), 1, options.headSize());
                arrays[ROWS] = encodings.rows(call, x, false, shape);
                NDArray rows = encodings.rows(keyCall, x, true, Shape.update(shape, 1, options.keyValueHeadCount()));
                arrays[KEY_ROWS] = rows == arrays[ROWS] ? null : rows;
            }
            arrays[KEYS] = tokens.keys().array();
            arrays[VALUES] = tokens.values().array();
            arrays[MASK] = mask;
            arrays[BIAS] = encodings.hasTerms()
                    ? encodings.stepBiases(call, temporaries.toType(x, DataTypes.ofScores(x)))
                    : null;
            arrays[SCALE] = options.hasStandardScale() ? null : functions.number(options.scale());
            arrays[FACTOR] = attention.queryFactors() == null
                    ? null
                    : call.queryPositions().broadcastRows(x, 1, attention.queryFactors());
            NDArray result = functions.step(
                    arrays,
                    tokens.keys().end() - 1 - origin,
                    options.range(call, 0, 1)[0] - origin,
                    options.headCount(),
                    options.keyValueHeadCount(),
                    rotation == null ? 0 : rotation.start(),
                    rotation != null && rotation.layout() == PairLayout.CONCATENATED ? 1 : 0);
            NDScope.unregister(result);
            return result;
        }
    }
}
