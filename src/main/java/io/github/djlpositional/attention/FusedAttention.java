package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.ParameterList;
import io.github.djlpositional.attention.RelativeEncoding.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import java.util.Set;

/** Attention by the fused kernel of {@link TorchFunctions}. */
final class FusedAttention extends AttentionMethod {

    private final TorchFunctions functions;

    /** The encoded queries, so that the kernel's factor 1 / √H gives the scale, (B, N, T, H). */
    private final NDArray queries;

    /** What the kernel computes in. */
    private final DataType type;

    /** Whether the term of the relative encoding is computed once for each distance. */
    private final boolean hasLines;

    /** Whether query i sees the keys 0 … i, and nothing is added to the scores. */
    private final boolean isOnlyCausal;

    private FusedAttention(Temporaries temporaries, Operands operands, TorchFunctions functions) {
        super(operands);
        this.functions = functions;
        AttentionCall call = operands.call();
        double factor = options.scale() * Math.sqrt(options.headSize());
        boolean isDefault = options.scale() == 1 / Math.sqrt(options.headSize());
        queries = isDefault ? operands.encoded() : temporaries.add(Arithmetic.multiply(operands.encoded(), factor));
        type = options.kernelType() == null ? queries.getDataType() : options.kernelType();
        boolean isFree = !operands.mask().isGiven()
                && !call.hasPositions()
                && operands.mask().isSelf();
        hasLines = terms.equals(Set.of(Term.DISTANCE_BIAS)) && isFree && options.chunkSize() == null;
        isOnlyCausal = terms.isEmpty()
                && !operands.mask().isGiven()
                && visibility.equals(new Visibility(true, null, null))
                && isOfSameTokens(call);
    }

    /** Returns the method for operands, or null where the engine has no kernel that supports them. */
    static FusedAttention of(Temporaries temporaries, Operands operands) {
        MultiHeadAttentionBlock.Options options = operands.attention().options();
        boolean isGrouped = options.headCount() != options.keyValueHeadCount();
        Set<Term> terms = operands.attention().terms();
        boolean isGroupedTerm = isGrouped && (operands.mask().isByHead() || !terms.isEmpty());
        // for one query, the products of the plain way take no longer
        boolean isServed = options.fusedKernel()
                && operands.call().queries().length() > 1
                && !(operands.call().training() && options.dropoutRate() > 0)
                && options.scoreCap() == null
                && !options.sinks()
                && !isGroupedTerm
                && (terms.isEmpty() || isServed(terms, operands));
        TorchFunctions functions = isServed ? TorchFunctions.of(operands.queries()) : null;
        return functions == null ? null : new FusedAttention(temporaries, operands, functions);
    }

    /** The kernel adds no gradient to its mask. */
    private static boolean isServed(Set<Term> terms, Operands operands) {
        return !terms.contains(Term.VALUE)
                && isConstant(operands.attention().getRelativeEncoding().getParameters(), operands.call());
    }

    /** Whether no gradient is recorded for parameters. */
    static boolean isConstant(ParameterList parameters, AttentionCall call) {
        return parameters.isEmpty()
                || (!call.training()
                        && parameters.values().stream()
                                .noneMatch(parameter -> parameter.isInitialized()
                                        && parameter.getArray().hasGradient()));
    }

    @Override
    long sizePerQueryAndKey() {
        Shape shape = queries.getShape();
        if (isOnlyCausal || (hasLines && !copiesLines())) {
            return 0;
        }
        return terms.isEmpty() ? operands.mask().numbers() : shape.get(0) * shape.get(1);
    }

    /**
     * Whether the kernel copies a mask whose rows overlap, so that it takes memory for each query and key after all.
     */
    private boolean copiesLines() {
        return !HostData.isHost(queries.getDevice()) && (type == DataType.FLOAT32 || type == DataType.FLOAT64);
    }

    @Override
    NDArray attend(Temporaries own, AttentionCall call, int from) {
        NDArray partOfQueries = own.addUnless(queries, ofQueries(queries, call, from));
        NDArray keys = own.addUnless(operands.keys(), ofKeys(operands.keys(), 2, call));
        NDArray values = own.addUnless(operands.values(), ofKeys(operands.values(), 2, call));
        if (hasLines) {
            NDArray biases = own.add(DistanceBias.line(relative, call, ofScores(own, partOfQueries)));
            NDArray lines = own.addResult(biases, () -> lines(call, partOfQueries, keys, biases));
            NDArray hidden = operands.mask().ofDistances(own, call, lines);
            return functions.attendByDistance(
                    partOfQueries, keys, values, hidden == null ? lines : own.add(lines.add(hidden)), type);
        }
        if (isOnlyCausal) {
            return functions.attendCausally(partOfQueries, keys, values, type);
        }
        NDArray ofTerms = own.addUnless(operands.queries(), ofQueries(operands.queries(), call, from));
        NDArray like = terms.isEmpty() ? partOfQueries : ofScores(own, ofTerms);
        NDArray term = terms.isEmpty() ? null : term(own, call, like, keys);
        NDArray bias = operands.mask().bias(own, call, from, like);
        if (term != null) {
            bias = bias == null ? term : own.add(bias.add(term));
        }
        return functions.attend(
                partOfQueries, keys, values, bias, operands.mask().mayHideAll(), type);
    }

    /** The biases of distances as the kernel adds them best. */
    private NDArray lines(AttentionCall call, NDArray partOfQueries, NDArray keys, NDArray biases) {
        NDArray lines = isLimited(call, partOfQueries) ? functions.limited(partOfQueries, keys, biases) : biases;
        if (type == DataType.FLOAT32 || type == DataType.FLOAT64) {
            return lines;
        }
        // less the bias of a query's own key, which it always sees, near biases are small: half precision has few bits
        // for large ones
        int zero = -RelativeShift.firstDistance(call);
        return lines.sub(lines.get(NDIndex.sliceAxis(1, zero, zero + 1L)));
    }

    /** Queries in the data type of scores, which terms are computed in. */
    private static NDArray ofScores(Temporaries own, NDArray queries) {
        return own.addUnless(queries, Arithmetic.toType(queries, PlainAttention.scoreType(queries)));
    }

    /** Whether denormal numbers would make training slow: those of FLOAT32 on a CPU. */
    private boolean isLimited(AttentionCall call, NDArray queries) {
        return call.training()
                && queries.getDataType() == DataType.FLOAT32
                && type == DataType.FLOAT32
                && HostData.isHost(queries.getDevice())
                && isOfSameTokens(call);
    }

    private static boolean isOfSameTokens(AttentionCall call) {
        return call.queries().first() == call.keys().first()
                && call.queries().length() == call.keys().length();
    }
}
