package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import java.util.Map;

/** Computes softmax(cap(scale · q kᵀ + terms) + masks) v, for a part of the queries at a time. */
abstract class Kernel {

    /** The kernels. */
    enum Name {
        /** PyTorch's fused attention, where query i sees the keys 0 … i and no numbers are added. */
        CAUSAL,
        /** PyTorch's fused attention with a mask by distance, a view that takes no memory for the scores. */
        BY_DISTANCE,
        /** PyTorch's fused attention with a mask for each query and key, or without one. */
        MASKED,
        /** Separate operations. */
        PLAIN,
        /** A {@link Step} of one token with a cache, in one call of PyTorch. */
        STEP
    }

    /**
     * The keys and values that the queries of a forward attend to: projected from the inputs, cached from an earlier
     * step with the same inputs, or cached from earlier steps and followed by those of this step.
     *
     * @param queries the queries and their positions
     * @param tokens the keys and their positions
     * @param keys encoded, (B, K, F, H); in a step, the keys of its own tokens only, until {@link #writeStep} writes
     *     them; null for a {@link Step}
     * @param values (B, K, F, H), like the keys
     * @param numbers the numbers that encodings have for the keys, (B, F, W), like the keys
     * @param mask which of the keys are visible, (B, F), from a cache; null for all
     * @param cached in a step, the cached tokens, with room for the keys and values of the step; otherwise null
     * @param commit changes the cache once the attention has succeeded
     */
    record KeysAndValues(
            Positions queries,
            Positions tokens,
            NDArray keys,
            NDArray values,
            Map<RelativeEncoding, NDArray> numbers,
            NDArray mask,
            CachedTokens cached,
            Runnable commit) {

        /** Creates keys and values without a cache. */
        KeysAndValues(
                Positions queries,
                Positions tokens,
                NDArray keys,
                NDArray values,
                Map<RelativeEncoding, NDArray> numbers) {
            this(queries, tokens, keys, values, numbers, null, null, () -> {});
        }

        /** The same with the keys and values of a step. */
        KeysAndValues with(NDArray newKeys, NDArray newValues, Map<RelativeEncoding, NDArray> newNumbers) {
            return new KeysAndValues(queries, tokens, newKeys, newValues, newNumbers, mask, cached, commit);
        }

        /** Writes the keys and values of a step to the cache, and returns the keys and values of all tokens. */
        KeysAndValues writeStep(Temporaries temporaries) {
            if (cached == null) {
                return this;
            }
            cached.write(keys, values, numbers);
            NDManager manager = keys.getManager();
            return new KeysAndValues(
                    queries,
                    tokens,
                    temporaries.add(cached.keys(manager)),
                    temporaries.add(cached.values(manager)),
                    cached.numbers(temporaries, manager),
                    mask,
                    null,
                    commit);
        }
    }

    /**
     * The operands of an attention; the forward closes the arrays.
     *
     * @param attention the block
     * @param call the queries and keys
     * @param queries before the relative encodings, (B, N, T, H)
     * @param encoded the encoded queries, multiplied by their factors, (B, N, T, H)
     * @param keysAndValues the keys and values
     * @param mask hides keys from queries, in the data type of the scores
     */
    record Operands(
            MultiHeadAttentionBlock attention,
            AttentionCall call,
            NDArray queries,
            NDArray encoded,
            KeysAndValues keysAndValues,
            AttentionMask mask) {

        Operands with(KeysAndValues other) {
            return new Operands(attention, call.with(null, other.numbers), queries, encoded, other, mask);
        }
    }

    final Operands operands;
    final MultiHeadAttentionBlockOptions options;
    final Encodings encodings;

    private Kernel(Operands operands) {
        this.operands = operands;
        options = operands.attention.options();
        encodings = operands.attention.encodings();
    }

    /** The fastest kernel that supports the options, terms and masks of a forward. */
    static Name choose(Operands operands) {
        MultiHeadAttentionBlockOptions options = operands.attention.options();
        Encodings encodings = operands.attention.encodings();
        AttentionCall call = operands.call;
        AttentionMask mask = operands.mask;
        boolean isFused = options.fusedKernel()
                && !(call.training() && options.dropoutRate() > 0)
                && options.scoreCap() == null
                && !options.sinks()
                && !encodings.hasValueTerms()
                && encodings.areConstant(call)
                && TorchFunctions.of(operands.queries) != null;
        if (!isFused) {
            return Name.PLAIN;
        }
        boolean isByIndex = !mask.hasExplicitMask() && !call.hasPositions();
        if (call.queryPositions().length() == 1) {
            // for one query, the plain kernel is as fast
            return Name.PLAIN;
        }
        if (options.isGrouped() && (mask.isByHead() || encodings.hasTerms())) {
            return Name.PLAIN;
        }
        if (encodings.hasTerms()) {
            boolean isByDistance =
                    encodings.hasBiasesOnly() && isByIndex && mask.isSelf() && options.chunkSize() == null;
            return isByDistance ? Name.BY_DISTANCE : Name.MASKED;
        }
        boolean isOnlyCausal = options.causal() && options.window() == null && options.chunkSize() == null;
        return isOnlyCausal && !mask.hasExplicitMask() && areSameTokens(call) ? Name.CAUSAL : Name.MASKED;
    }

    /** Creates any kernel except STEP, with operands for all queries. */
    static Kernel of(Name name, Temporaries temporaries, Operands operands) {
        return name == Name.PLAIN ? new Plain(temporaries, operands) : new Fused(temporaries, operands, name);
    }

    private static boolean areSameTokens(AttentionCall call) {
        return call.queryPositions().first() == call.keyPositions().first()
                && call.queryPositions().length() == call.keyPositions().length();
    }

    /** How many numbers are computed at a time for each query and key. */
    abstract long sizePerQueryAndKey();

    /** The results of the queries of a call, (B, N, T, H), the first of which is query {@code from}: a new array. */
    abstract NDArray attend(Temporaries temporaries, AttentionCall call, int from);

    /** The part of an array of all queries, (B, N, T, …), that belongs to a call. */
    static NDArray queryPart(Temporaries temporaries, NDArray array, AttentionCall call, int from) {
        return part(temporaries, array, 2, from, call.queryPositions().length());
    }

    /** The part of an array of all keys that belongs to a call. */
    final NDArray keyPart(Temporaries temporaries, NDArray array, int axis, AttentionCall call) {
        int from = call.keyPositions().first() - operands.keysAndValues.tokens().first();
        return part(temporaries, array, axis, from, call.keyPositions().length());
    }

    static NDArray part(Temporaries temporaries, NDArray array, int axis, int from, int count) {
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
            return encodings.hasTerms() ? shape.get(0) * shape.get(1) : operands.mask.sizePerQueryAndKey();
        }

        /** Whether the kernel copies a mask whose rows overlap, which then takes memory for each query and key. */
        private boolean copiesMask() {
            return !HostData.isHost(queries.getDevice()) && isFullPrecision();
        }

        private boolean isFullPrecision() {
            return type == DataType.FLOAT32 || type == DataType.FLOAT64;
        }

        @Override
        NDArray attend(Temporaries temporaries, AttentionCall call, int from) {
            NDArray partOfQueries = queryPart(temporaries, queries, call, from);
            NDArray keys = keyPart(temporaries, operands.keysAndValues.keys(), 2, call);
            NDArray values = keyPart(temporaries, operands.keysAndValues.values(), 2, call);
            if (name == Name.CAUSAL) {
                return functions.attendCausally(partOfQueries, keys, values, type);
            }
            if (name == Name.BY_DISTANCE) {
                return functions.attendByDistance(
                        partOfQueries, keys, values, biasesByDistance(temporaries, call, partOfQueries, keys), type);
            }
            NDArray unencoded = queryPart(temporaries, operands.queries, call, from);
            NDArray like = encodings.hasTerms() ? inScoreType(temporaries, unencoded) : partOfQueries;
            NDArray term = encodings.term(temporaries, call, like, keys);
            NDArray bias = operands.mask.bias(temporaries, call, from, like);
            if (term != null) {
                bias = bias == null ? term : temporaries.add(bias.add(term));
            }
            return functions.attend(partOfQueries, keys, values, bias, operands.mask.mayHideAll(), type);
        }

        /** The biases and masks that the kernel adds to the scores by distance, (1 or N, T + F - 1). */
        private NDArray biasesByDistance(
                Temporaries temporaries, AttentionCall call, NDArray partOfQueries, NDArray keys) {
            NDArray like = inScoreType(temporaries, partOfQueries);
            NDArray biases = encodings.biasesByDistance(temporaries, call, call.allDistances(like));
            NDArray hidden = operands.mask.biasByDistance(temporaries, call, like);
            NDArray adjusted = temporaries.addResult(biases, () -> {
                NDArray limited =
                        isLimited(call, partOfQueries) ? functions.limited(partOfQueries, keys, biases) : biases;
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
        private boolean isLimited(AttentionCall call, NDArray partOfQueries) {
            return call.training()
                    && partOfQueries.getDataType() == DataType.FLOAT32
                    && type == DataType.FLOAT32
                    && HostData.isHost(partOfQueries.getDevice())
                    && areSameTokens(call);
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
            boolean isNeeded = encodings.hasTerms() && encoded == queries;
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
            Weights weights = weights(temporaries, operands.call, 0);
            DataType type = operands.queries.getDataType();
            NDArray converted = temporaries.toType(weights.probabilities, type);
            return temporaries.remove(weights.mask.maskQueriesWithoutKeys(temporaries, converted));
        }

        @Override
        NDArray attend(Temporaries temporaries, AttentionCall call, int from) {
            Weights weights = weights(temporaries, call, from);
            NDArray values = operands.keysAndValues.values();
            NDArray probabilities = temporaries.addResult(weights.probabilities, () -> {
                NDArray dropped = weights.probabilities;
                if (call.training() && options.dropoutRate() > 0) {
                    dropped = Dropout.dropout(dropped, options.dropoutRate(), true)
                            .singletonOrThrow();
                }
                return Arithmetic.toType(dropped, values.getDataType());
            });
            NDArray valuesOfCall = keyPart(temporaries, values, 2, call);
            NDArray result =
                    temporaries.addResult(() -> byHead(byGroup(probabilities).matMul(valuesOfCall)));
            NDArray term = encodings.valueTerm(temporaries, call, probabilities, result.getShape());
            NDArray sum = term == null ? result : temporaries.add(result.add(term));
            return weights.mask.maskQueriesWithoutKeys(temporaries, sum);
        }

        /**
         * The attention weights of the queries of a call.
         *
         * @param probabilities the softmax of the scores, (B, N, T, F)
         * @param mask the queries that see no key; their probabilities are meaningless
         */
        private record Weights(NDArray probabilities, AttentionMask.Part mask) {}

        private Weights weights(Temporaries temporaries, AttentionCall call, int from) {
            NDArray partOfQueries = queryPart(temporaries, scaled, call, from);
            NDArray transposed = keyPart(temporaries, keys, 3, call);
            NDArray products =
                    temporaries.addResult(() -> byHead(byGroup(partOfQueries).matMul(transposed)));
            NDArray unscaled = queryPart(temporaries, queries, call, from);
            NDArray encoded = keyPart(temporaries, operands.keysAndValues.keys(), 2, call);
            NDArray term = encodings.term(temporaries, call, unscaled, encoded);
            NDArray scores =
                    temporaries.addResult(products, () -> capped(term == null ? products : plus(products, term)));
            AttentionMask.Part mask = operands.mask.part(temporaries, call, from, scores);
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
            int hidden = count < 16 && Arithmetic.isPyTorch(scores) ? TorchFunctions.hiddenKeys(scores, count) : 0;
            return hidden == 0
                    ? scores.softmax(3)
                    : scores.pad(new Shape(0, hidden), Double.NEGATIVE_INFINITY)
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
