package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Check;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The forward of a self-attention whose sequences consist of documents. The documents of each length are a batch of
 * their own: T tokens have documents of fewer than √(2T) different lengths. So no document needs padding, and the
 * result of a document does not depend on the others.
 */
final class PackedDocuments implements AutoCloseable {

    /**
     * The documents of one length.
     *
     * @param length L, the number of tokens
     * @param indices which documents of the batch they are, counted from 0, row after row
     */
    private record Group(int length, List<Integer> indices) {}

    private final MultiHeadAttentionBlock attention;
    private final AttentionInputs inputs;
    private final ParameterStore parameterStore;
    private final boolean training;
    private final PairList<String, Object> params;

    /** The number of tokens of each document, row after row. */
    private final List<Integer> lengths;

    private final List<Group> groups = new ArrayList<>();

    private final long batch;
    private final long length;
    private final Temporaries temporaries = new Temporaries();

    PackedDocuments(
            MultiHeadAttentionBlock attention,
            AttentionInputs inputs,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        this.attention = attention;
        this.inputs = inputs;
        this.parameterStore = parameterStore;
        this.training = training;
        this.params = params;
        Documents documents = Documents.of(params);
        Check.that(
                inputs.isSelf(),
                () -> documents + " were given to a cross-attention: expected a self-attention, whose keys and queries"
                        + " are the same array; pass each document as a row, with a mask for padding");
        Check.that(
                !params.contains(ForwardParameters.CACHE),
                () -> documents + " were given beside a " + ForwardParameters.CACHE
                        + ": expected one of them; pass each document as a row of the batch, with a mask for padding");
        batch = inputs.queries().getShape().get(0);
        length = inputs.queries().getShape().get(1);
        lengths = documents.ofBatch(batch, length);
        Map<Integer, List<Integer>> byLength = new TreeMap<>();
        for (int i = 0; i < lengths.size(); i++) {
            byLength.computeIfAbsent(lengths.get(i), none -> new ArrayList<>()).add(i);
        }
        byLength.forEach((tokens, indices) -> groups.add(new Group(tokens, indices)));
    }

    /** The result, (B, T, D): a new array. */
    NDArray result() {
        List<NDArray> results = compute(forward -> forward.result(null)); // (G, L, D)
        return Temporaries.result(
                () -> ungrouped(results).reshape(inputs.queries().getShape()));
    }

    /** The probabilities, (B, N, T, T), a new array: 0 for tokens of other documents. */
    NDArray probabilities() {
        List<NDArray> all = compute(forward -> forward.probabilities(null)); // (G, N, L, L)
        return Temporaries.result(() -> {
            NDList rows = new NDList();
            NDList ofRow = new NDList();
            long from = 0;
            for (NDArray document : inOrder(all, array -> array)) {
                Shape shape = document.getShape();
                NDArray before = zeros(document, from);
                NDArray after = zeros(document, length - from - shape.get(3));
                NDList line = new NDList(before, document, after);
                line.removeIf(array -> array == null);
                ofRow.add(NDArrays.concat(line, 3));
                from += shape.get(3);
                if (from == length) {
                    rows.add(NDArrays.concat(ofRow, 2));
                    ofRow = new NDList();
                    from = 0;
                }
            }
            return NDArrays.concat(rows, 0);
        });
    }

    /** Zeros for keys of other documents; null for none. */
    private static NDArray zeros(NDArray document, long keys) {
        Shape shape = Shape.update(document.getShape(), 3, keys);
        return keys == 0 ? null : document.getManager().zeros(shape, document.getDataType(), document.getDevice());
    }

    /** Computes something of the documents of each length, as of sequences without documents. */
    private List<NDArray> compute(Function<AttentionForward, NDArray> forward) {
        checkMask();
        List<NDArray> x = ofTokens(inputs.queries());
        List<NDArray> values = inputs.values() == inputs.queries() ? x : ofTokens(inputs.values());
        List<NDArray> masks = masks();
        List<NDArray> positions = positions();
        List<NDArray> results = new ArrayList<>();
        for (int i = 0; i < groups.size(); i++) {
            AttentionInputs ofGroup =
                    new AttentionInputs(x.get(i), x.get(i), values.get(i), masks == null ? null : masks.get(i));
            PairList<String, Object> others = ForwardParameters.without(
                    ForwardParameters.POSITIONS, ForwardParameters.without(ForwardParameters.DOCUMENTS, params));
            if (positions != null) {
                PairList<String, Object> withPositions = new PairList<>();
                others.forEach(withPositions::add);
                withPositions.add(ForwardParameters.POSITIONS, positions.get(i));
                others = withPositions;
            }
            try (AttentionForward each = new AttentionForward(attention, ofGroup, parameterStore, training, others)) {
                results.add(temporaries.add(forward.apply(each.withCheckedMask())));
            }
        }
        return results;
    }

    /** Checks the mask of whole sequences. */
    private void checkMask() {
        if (inputs.mask() == null) {
            return;
        }
        DataTypes.requireSameEngine(inputs.mask(), inputs.queries(), "queries");
        Positions tokens = Positions.of(0, Math.toIntExact(length));
        MultiHeadAttentionBlock.Options options = attention.options();
        Shape queries = new Shape(batch, options.headCount(), length, options.headSize());
        try (AttentionForward whole = new AttentionForward(attention, inputs, parameterStore, training, params)) {
            AttentionCall call = whole.call(tokens, tokens);
            Visibility.requireFits(inputs.mask(), queries, call);
            whole.checkMask(call);
        }
    }

    /** An array (B, T, …) by length, (G, L, …). */
    private List<NDArray> ofTokens(NDArray array) {
        Shape shape = array.getShape();
        NDArray flat = temporaries.add(array.reshape(new Shape(batch * length).addAll(shape.slice(2))));
        return grouped(flat, 0);
    }

    /**
     * The documents of an array by length.
     *
     * @param flat (…, B · T, …)
     * @param axis the axis of B · T
     * @return (…, G, L, …)
     */
    private List<NDArray> grouped(NDArray flat, int axis) {
        Shape shape = flat.getShape();
        if (groups.size() == 1) {
            Shape split = shape.slice(0, axis)
                    .add(lengths.size(), groups.get(0).length)
                    .addAll(shape.slice(axis + 1));
            return List.of(temporaries.add(flat.reshape(split)));
        }
        NDList documents = split(flat, lengths, axis);
        documents.forEach(temporaries::add);
        return groups.stream()
                .map(group -> {
                    NDList ofGroup = new NDList();
                    group.indices.forEach(index -> ofGroup.add(documents.get(index)));
                    return temporaries.add(NDArrays.stack(ofGroup, axis));
                })
                .toList();
    }

    /** Consecutive slices of an array, whose gradients are one array: those of single slices would be as many. */
    private static NDList split(NDArray array, List<Integer> sizes, int axis) {
        long[] bounds = new long[sizes.size() - 1];
        long end = 0;
        for (int i = 0; i < bounds.length; i++) {
            end += sizes.get(i);
            bounds[i] = end;
        }
        return array.split(bounds, axis);
    }

    /** The tokens of the documents in their order, (B · T, …), from those by length, (G, L, …). */
    private NDArray ungrouped(List<NDArray> byLength) {
        if (groups.size() == 1) {
            return byLength.get(0);
        }
        Function<NDArray, NDArray> squeezed =
                document -> document.reshape(document.getShape().slice(1));
        return NDArrays.concat(inOrder(byLength, squeezed), 0);
    }

    /** The documents in their order, each (1, L, …), from those by length, (G, L, …). */
    private NDList inOrder(List<NDArray> byLength, Function<NDArray, NDArray> change) {
        NDArray[] documents = new NDArray[lengths.size()];
        for (int i = 0; i < groups.size(); i++) {
            List<Integer> indices = groups.get(i).indices;
            List<Integer> ones = indices.stream().map(index -> 1).toList();
            NDList slices = indices.size() == 1 ? new NDList(byLength.get(i)) : split(byLength.get(i), ones, 0);
            for (int j = 0; j < indices.size(); j++) {
                documents[indices.get(j)] = change.apply(slices.get(j));
            }
        }
        return new NDList(documents);
    }

    /** The explicit positions by length, (G, L) or (axes, G, L); null for indices in each document. */
    private List<NDArray> positions() {
        Positions explicit = Positions.explicit(null, params);
        if (explicit == null) {
            return null;
        }
        NDArray array = Positions.of(inputs.queries(), 1, explicit, 0).array();
        Shape shape = array.getShape();
        long axes = shape.dimension() == 3 ? shape.get(0) : 1;
        NDArray flat = temporaries.addResult(() -> array.reshape(axes, -1, length)
                .broadcast(new Shape(axes, batch, length))
                .reshape(axes, batch * length));
        List<NDArray> byLength = grouped(flat, 1);
        return shape.dimension() == 3
                ? byLength
                : byLength.stream()
                        .map(each -> temporaries.add(each.squeeze(0)))
                        .toList();
    }

    /** The masks by length; null for none. */
    private List<NDArray> masks() {
        NDArray mask = inputs.mask();
        if (mask == null) {
            return null;
        }
        // MXNet computes little with booleans
        boolean isConverted = mask.getDataType() == DataType.BOOLEAN && !Arithmetic.isPyTorch(mask);
        if (inputs.keyMask() != null) {
            return ofTokens(isConverted ? temporaries.toType(mask, DataType.INT32) : mask);
        }
        return groups.stream()
                .map(group -> temporaries.addResult(() -> {
                    NDList ofGroup = new NDList();
                    group.indices.forEach(index -> ofGroup.add(maskOf(mask, index)));
                    return NDArrays.concat(ofGroup, 0);
                }))
                .toList();
    }

    /** The mask of pairs of one document, (1, L or 1, L or 1) or (1, 1 or N, L or 1, L or 1). */
    private NDArray maskOf(NDArray mask, int index) {
        long start = lengths.stream().limit(index).mapToLong(Integer::longValue).sum();
        long row = start / length;
        long from = start % length;
        long to = from + lengths.get(index);
        int queries = mask.getShape().dimension() - 2;
        NDArray ofRow = slice(mask, 0, row, row + 1);
        return slice(slice(ofRow, queries, from, to), queries + 1, from, to);
    }

    private static NDArray slice(NDArray mask, int axis, long from, long to) {
        return mask.getShape().get(axis) == 1 ? mask : mask.get(NDIndex.sliceAxis(axis, from, to));
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
