package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TokenColumn;
import io.github.djlpositional.internal.TorchFunctions;
import java.util.stream.Stream;

/** Computes softmax(cap(scale · q kᵀ + terms) + masks) v, for a slice of the queries at a time. */
abstract class Kernel {

    /** The kernels. */
    enum Name {
        /** PyTorch's fused attention, where query i sees the keys 0 … i and nothing is added. */
        CAUSAL,
        /** PyTorch's fused attention with a mask by distance, a view that takes no memory for the scores. */
        BY_DISTANCE,
        /** PyTorch's fused attention with a mask for each query and key, or without one. */
        MASKED,
        /** Separate operations. */
        PLAIN,
        /** One query of a step with a cache, which also writes the key and the value, in one call of PyTorch. */
        STEP
    }

    /**
     * The operands of an attention; the forward closes the arrays.
     *
     * @param attention the block
     * @param call the queries and keys
     * @param queries before the relative encodings, (B, N, T, H)
     * @param encoded the encoded queries, multiplied by their factors, (B, N, T, H)
     * @param keysAndValues the keys and values
     * @param visibility which keys each query sees
     */
    record Operands(
            MultiHeadAttentionBlock attention,
            AttentionCall call,
            NDArray queries,
            NDArray encoded,
            CachedTokens.KeysAndValues keysAndValues,
            Visibility visibility) {

        Operands with(CachedTokens.KeysAndValues other) {
            return new Operands(attention, call.with(null, other), queries, encoded, other, visibility);
        }
    }

    final Operands operands;
    final MultiHeadAttentionBlock.Options options;
    final Terms terms;

    private Kernel(Operands operands) {
        this.operands = operands;
        options = operands.attention.options();
        terms = operands.attention.terms();
    }

    /** The fastest kernel that supports the options, terms and masks of a forward. */
    static Name choose(Operands operands) {
        MultiHeadAttentionBlock.Options options = operands.attention.options();
        Terms terms = operands.attention.terms();
        AttentionCall call = operands.call;
        Visibility visibility = operands.visibility;
        boolean isFused = options.fusedKernel()
                && !(call.training() && options.dropoutRate() > 0)
                && options.scoreCap() == null
                && !options.sinks()
                && !terms.haveValues()
                && terms.areConstant(call)
                && TorchFunctions.of(operands.queries) != null;
        if (!isFused) {
            return Name.PLAIN;
        }
        boolean isByIndex = !visibility.hasMask() && !call.hasPositions();
        if (call.queries().count() == 1) {
            // for one query without a cache, the plain kernel is as fast as the fused one
            return isStep(operands) ? Name.STEP : Name.PLAIN;
        }
        if (options.isGrouped() && (visibility.isByHead() || terms.areAdded())) {
            return Name.PLAIN;
        }
        if (terms.areAdded()) {
            boolean isByDistance =
                    terms.areBiasesOnly() && isByIndex && visibility.isSelf() && options.chunkSize() == null;
            return isByDistance ? Name.BY_DISTANCE : Name.MASKED;
        }
        boolean isCausal = visibility.order().isCausalOnly() && !visibility.hasMask() && areSameTokens(call);
        return isCausal ? Name.CAUSAL : Name.MASKED;
    }

    /**
     * Whether a step of one token is one call. No gradient may be recorded: the arrays of a cache are written to, and
     * PyTorch compiles a method that records gradients, which may then round differently.
     */
    private static boolean isStep(Operands operands) {
        Terms terms = operands.attention.terms();
        return operands.keysAndValues.cached() != null
                && operands.visibility.isRangeOfKeys()
                && (!terms.areAdded() || (terms.areBiasesOnly() && !operands.call.hasPositions()))
                && Stream.of(operands.encoded, operands.keysAndValues.keys(), operands.keysAndValues.values())
                        .noneMatch(NDArray::hasGradient);
    }

    /** Creates a kernel with operands for all queries. */
    static Kernel of(Name name, Temporaries temporaries, Operands operands) {
        if (name == Name.STEP) {
            return new Step(operands);
        }
        Operands complete = operands.with(operands.keysAndValues.writeStep(temporaries));
        return name == Name.PLAIN ? new Plain(temporaries, complete) : new Fused(temporaries, complete, name);
    }

    private static boolean areSameTokens(AttentionCall call) {
        return call.queries().first() == call.keys().first()
                && call.queries().count() == call.keys().count();
    }

    /** How many array elements are computed at a time for each query and key. */
    abstract long sizePerQueryAndKey();

    /** The results of the queries of a slice of the forward, (B, N, T, V): a new array. */
    abstract NDArray attend(Temporaries temporaries, AttentionCall call);

    /** The slice of an array of all queries, (B, N, T, …), that belongs to a call. */
    final NDArray sliceByQuery(Temporaries temporaries, NDArray array, AttentionCall call) {
        int from = call.queries().first() - operands.call.queries().first();
        return slice(temporaries, array, 2, from, call.queries().count());
    }

    /** The slice of an array of all keys that belongs to a call. */
    final NDArray sliceByKey(Temporaries temporaries, NDArray array, int axis, AttentionCall call) {
        int from = call.keys().first() - operands.keysAndValues.tokens().first();
        return slice(temporaries, array, axis, from, call.keys().count());
    }

    static NDArray slice(Temporaries temporaries, NDArray array, int axis, int from, int count) {
        return array.getShape().get(axis) == count
                ? array
                : temporaries.add(array.get(NDIndex.sliceAxis(axis, from, (long) from + count)));
    }

    /** The fused attention of {@link TorchFunctions}. */
    private static final class Fused extends Kernel {

        private final Name name;
        private final TorchFunctions functions;

        /** The encoded queries, multiplied so that the kernel's factor 1 / √H results in the scale, (B, N, T, H). */
        private final NDArray queries;

        /** The data type that the kernel computes in. */
        private final DataType type;

        Fused(Temporaries temporaries, Operands operands, Name name) {
            super(operands);
            this.name = name;
            functions = TorchFunctions.of(operands.queries);
            double factor = options.scale() * Math.sqrt(options.headSize());
            queries = options.hasStandardScale()
                    ? operands.encoded
                    : temporaries.add(Arithmetic.multiply(operands.encoded, factor));
            type = options.kernelType() == null ? queries.getDataType() : options.kernelType();
        }

        @Override
        long sizePerQueryAndKey() {
            Shape shape = queries.getShape();
            if (name == Name.CAUSAL || (name == Name.BY_DISTANCE && !copiesMask())) {
                return 0;
            }
            return terms.areAdded() ? shape.get(0) * shape.get(1) : operands.visibility.sizePerQueryAndKey();
        }

        /** Whether the kernel copies a mask whose rows overlap, which then takes memory for each query and key. */
        private boolean copiesMask() {
            return !HostData.isHost(queries.getDevice()) && isFullPrecision();
        }

        private boolean isFullPrecision() {
            return type == DataType.FLOAT32 || type == DataType.FLOAT64;
        }

        @Override
        NDArray attend(Temporaries temporaries, AttentionCall call) {
            NDArray someQueries = sliceByQuery(temporaries, queries, call);
            NDArray keys = sliceByKey(temporaries, operands.keysAndValues.keys(), 2, call);
            NDArray values = sliceByKey(temporaries, operands.keysAndValues.values(), 2, call);
            if (name == Name.CAUSAL) {
                return functions.attendCausally(someQueries, keys, values, type);
            }
            if (name == Name.BY_DISTANCE) {
                return functions.attendByDistance(
                        someQueries, keys, values, biasesByDistance(temporaries, call, someQueries, keys), type);
            }
            NDArray unencoded = sliceByQuery(temporaries, operands.queries, call);
            NDArray like = terms.areAdded() ? inScoreType(temporaries, unencoded) : someQueries;
            NDArray term = terms.term(temporaries, call, like, keys);
            NDArray bias = operands.visibility.bias(temporaries, call, like);
            if (term != null) {
                bias = bias == null ? term : temporaries.add(bias.add(term));
            }
            return functions.attend(someQueries, keys, values, bias, operands.visibility.mayHideAll(), type);
        }

        /** The biases and masks that the kernel adds to the scores by distance, (1 or N, T + F - 1). */
        private NDArray biasesByDistance(
                Temporaries temporaries, AttentionCall call, NDArray someQueries, NDArray keys) {
            NDArray like = inScoreType(temporaries, someQueries);
            NDArray biases = terms.biasesByDistance(temporaries, call, call.allDistances(like));
            NDArray hidden = operands.visibility.biasByDistance(temporaries, call, like);
            NDArray adjusted = temporaries.addResult(biases, () -> {
                NDArray limited = isLimited(call, someQueries) ? functions.limited(someQueries, keys, biases) : biases;
                if (isFullPrecision()) {
                    return limited;
                }
                // relative to the bias of a query's own key, which it always sees, biases of near keys are small:
                // half precision has few bits for large numbers
                int zero = -call.allDistances(like).first();
                return limited.sub(limited.get(NDIndex.sliceAxis(1, zero, zero + 1L)));
            });
            return hidden == null ? adjusted : temporaries.add(adjusted.add(hidden));
        }

        /** Queries in the data type of the scores and of their terms. */
        private static NDArray inScoreType(Temporaries temporaries, NDArray queries) {
            return temporaries.toType(queries, DataTypes.ofScores(queries));
        }

        /** Whether denormal numbers would make training slow, as in FLOAT32 on a CPU. */
        private boolean isLimited(AttentionCall call, NDArray someQueries) {
            return call.training()
                    && someQueries.getDataType() == DataType.FLOAT32
                    && type == DataType.FLOAT32
                    && HostData.isHost(someQueries.getDevice())
                    && areSameTokens(call);
        }
    }

    /** A step of one token in a self-attention with a cache. */
    static final class Step extends Kernel {

        /** The tokens of a cache, of which the last is the query's own. */
        static TorchFunctions.Cached cached(
                MultiHeadAttentionBlock.Options options,
                Temporaries temporaries,
                CachedTokens tokens,
                Visibility visibility,
                NDArray biases,
                NDArray like) {
            TokenColumn keys = tokens.keys();
            return new TorchFunctions.Cached(
                    keys.array(),
                    tokens.values().array(),
                    visibility.hiddenFromOne(temporaries),
                    biases,
                    options.hasStandardScale() ? null : TorchFunctions.of(like).number(options.scale()),
                    keys.end() - 1 - keys.origin(),
                    visibility.range(0, 1)[0] - keys.origin());
        }

        Step(Operands operands) {
            super(operands);
        }

        @Override
        long sizePerQueryAndKey() {
            return 0;
        }

        @Override
        NDArray attend(Temporaries temporaries, AttentionCall call) {
            CachedTokens.KeysAndValues added = operands.keysAndValues;
            NDArray query = operands.encoded;
            NDArray biases = terms.areAdded()
                    ? terms.stepBiases(operands.call, temporaries.toType(query, DataTypes.ofScores(query)))
                    : null;
            return TorchFunctions.of(query)
                    .step(
                            query,
                            added.keys(),
                            added.values(),
                            cached(options, temporaries, added.cached(), operands.visibility, biases, query));
        }
    }

    /** Scores, their softmax, and its product with the values. Scores are FLOAT32 if the model is FLOAT16. */
    static final class Plain extends Kernel {

        /** The queries before encoding, in the data type of the scores, (B, N, T, H). */
        private final NDArray queries;

        /** The encoded queries times the scale, in the data type of the scores, (B, N, T, H). */
        private final NDArray scaled;

        /** The encoded keys, in the data type of the scores, (B, K, H, F). */
        private final NDArray keys;

        Plain(Temporaries temporaries, Operands operands) {
            super(operands);
            DataType type = DataTypes.ofScores(operands.queries);
            queries = temporaries.toType(operands.queries, type);
            scaled = scaled(temporaries, temporaries.toType(operands.encoded, type));
            keys = temporaries.addResult(
                    () -> Arithmetic.toType(operands.keysAndValues.keys(), type).transpose(0, 1, 3, 2));
        }

        /** The queries times the scale; in place unless the unscaled queries are needed, or gradients are recorded. */
        private NDArray scaled(Temporaries temporaries, NDArray encoded) {
            boolean isNeeded = terms.areAdded() && encoded == queries;
            return isNeeded || operands.call.training() || encoded.hasGradient() || !Arithmetic.isInPlaceSafe(encoded)
                    ? temporaries.add(Arithmetic.multiply(encoded, options.scale()))
                    : Arithmetic.multiplyInPlace(encoded, options.scale());
        }

        @Override
        long sizePerQueryAndKey() {
            return queries.getShape().get(0) * queries.getShape().get(1);
        }

        /** The probabilities of all queries, (B, N, T, F): a new array. */
        NDArray probabilities(Temporaries temporaries) {
            Weights weights = weights(temporaries, operands.call);
            DataType type = operands.queries.getDataType();
            NDArray converted = temporaries.toType(weights.probabilities, type);
            return temporaries.remove(weights.mask.maskQueriesWithoutKeys(temporaries, converted));
        }

        @Override
        NDArray attend(Temporaries temporaries, AttentionCall call) {
            Weights weights = weights(temporaries, call);
            NDArray values = operands.keysAndValues.values();
            NDArray probabilities = temporaries.addResult(weights.probabilities, () -> {
                NDArray dropped = weights.probabilities;
                if (call.training() && options.dropoutRate() > 0) {
                    dropped = Dropout.dropout(dropped, options.dropoutRate(), true)
                            .singletonOrThrow();
                }
                return Arithmetic.toType(dropped, values.getDataType());
            });
            NDArray valuesOfCall = sliceByKey(temporaries, values, 2, call);
            NDArray result =
                    temporaries.addResult(() -> byHead(byGroup(probabilities).matMul(valuesOfCall)));
            NDArray term = terms.valueTerm(temporaries, call, probabilities, result.getShape());
            NDArray sum = term == null ? result : temporaries.add(result.add(term));
            return weights.mask.maskQueriesWithoutKeys(temporaries, sum);
        }

        /**
         * The attention weights of the queries of a call.
         *
         * @param probabilities the softmax of the scores, (B, N, T, F)
         * @param mask the queries that see no key; their probabilities are meaningless
         */
        private record Weights(NDArray probabilities, Visibility.Slice mask) {}

        private Weights weights(Temporaries temporaries, AttentionCall call) {
            NDArray someQueries = sliceByQuery(temporaries, scaled, call);
            NDArray transposed = sliceByKey(temporaries, keys, 3, call);
            NDArray products =
                    temporaries.addResult(() -> byHead(byGroup(someQueries).matMul(transposed)));
            NDArray unscaled = sliceByQuery(temporaries, queries, call);
            NDArray encoded = sliceByKey(temporaries, operands.keysAndValues.keys(), 2, call);
            NDArray term = terms.term(temporaries, call, unscaled, encoded);
            NDArray scores =
                    temporaries.addResult(products, () -> capped(term == null ? products : plus(products, term)));
            Visibility.Slice mask = operands.visibility.sliceOf(temporaries, call, scores);
            NDArray softmax = temporaries.addResult(() -> {
                NDArray masked = mask.bias() == null ? scores : plus(scores, mask.bias());
                Parameter sinks = operands.attention.getSinks();
                return sinks == null ? softmax(masked) : softmaxWithSinks(call, sinks, masked);
            });
            return new Weights(softmax, mask);
        }

        /** Scores and what is added to them, in place if possible: the backward pass needs neither. */
        private static NDArray plus(NDArray scores, NDArray added) {
            return Arithmetic.isInPlaceSafe(scores) ? scores.addi(added) : scores.add(added);
        }

        private NDArray capped(NDArray scores) {
            Double cap = options.scoreCap();
            return cap == null
                    ? scores
                    : Arithmetic.multiply(Arithmetic.multiply(scores, 1 / cap).tanh(), cap);
        }

        /**
         * The softmax over the keys. Short rows are padded, since PyTorch computes fewer than 16 exponentials one by
         * one.
         */
        private static NDArray softmax(NDArray scores) {
            long count = scores.getShape().get(3);
            int padding = count < 16 && Arithmetic.isPyTorch(scores) ? TorchFunctions.paddingKeys(scores, count) : 0;
            return padding == 0
                    ? scores.softmax(3)
                    : scores.pad(new Shape(0, padding), Double.NEGATIVE_INFINITY)
                            .softmax(3)
                            .get(NDIndex.sliceAxis(3, 0, count));
        }

        /** The softmax over the keys and each head's sink, without the sink's column. */
        private NDArray softmaxWithSinks(AttentionCall call, Parameter sinks, NDArray scores) {
            Shape shape = scores.getShape();
            NDArray value = DataTypes.value(operands.attention, sinks, call.parameterStore(), scores, call.training());
            NDArray column = Arithmetic.toType(value, scores.getDataType()).reshape(1, shape.get(1), 1, 1);
            NDArray columns = column.broadcast(Shape.update(shape, 3, 1));
            return NDArrays.concat(new NDList(scores, columns), 3)
                    .softmax(3)
                    .get(NDIndex.sliceAxis(3, 0, shape.get(3)));
        }

        /** Stacks the rows of the heads that share a key head: (B, N, T, …) to (B, K, N / K · T, …). */
        private NDArray byGroup(NDArray array) {
            return withHeads(array, options.keyValueHeadCount());
        }

        /** The reverse of {@link #byGroup}. */
        private NDArray byHead(NDArray array) {
            return withHeads(array, options.headCount());
        }

        private static NDArray withHeads(NDArray array, int heads) {
            Shape shape = array.getShape();
            return shape.get(1) == heads ? array : array.reshape(shape.get(0), heads, -1, shape.get(3));
        }
    }
}
