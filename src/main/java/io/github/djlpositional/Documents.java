package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The lengths of documents that are packed into a sequence, one after another: the forward parameter
 * {@link PositionalEncodingBlock#DOCUMENTS} of a model. Each token attends within its document, and positions start
 * again at 0 in each document, so that the results are the same as for separate documents.
 *
 * <pre>{@code
 * params.add(PositionalEncodingBlock.DOCUMENTS, Documents.ofLengths(3, 4)); // ids (B, 7)
 * }</pre>
 *
 * An attention computes the documents of each length as a batch. Scores are computed only within documents, without a
 * mask between them, and by the kernel for sequences without a mask. The lengths must add up to T: padding at the end
 * belongs to a document, usually one of its own, and is hidden by a mask (B, T).
 */
public final class Documents {

    /** The lengths of the documents of each row; one row stands for every row of a batch. */
    private final List<List<Integer>> rows;

    private Documents(List<List<Integer>> rows) {
        this.rows = List.copyOf(rows);
    }

    /**
     * {@return the documents of a sequence, in every row of a batch}
     *
     * @param lengths the number of tokens of each document, at least 1; those of {@code cu_seqlens} in flash-attention
     *     are the differences of its elements
     * @throws IllegalArgumentException if there is no document, or a length is less than 1
     */
    public static Documents ofLengths(int... lengths) {
        Check.that(
                lengths.length > 0,
                "no lengths of documents were given: expected one or more; leave the parameter out");
        for (int i = 0; i < lengths.length; i++) {
            int index = i;
            Check.that(
                    lengths[i] > 0,
                    () -> "document " + index + ", counted from 0, has length " + lengths[index]
                            + ": expected 1 or more; leave empty documents out");
        }
        return new Documents(List.of(IntStream.of(lengths).boxed().toList()));
    }

    /**
     * {@return the documents of a batch whose rows have different documents}
     *
     * @param rows the documents of each row
     * @throws IllegalArgumentException if there is no row, or if one has several rows
     */
    public static Documents ofRows(Documents... rows) {
        Check.that(
                rows.length > 0,
                "no rows of documents were given: expected one for each sequence of the batch; pass them");
        List<List<Integer>> all = new ArrayList<>();
        for (Documents row : rows) {
            Check.that(
                    row.rows.size() == 1,
                    () -> row + " for one row: expected the documents of one sequence; pass those of ofLengths");
            all.addAll(row.rows);
        }
        return new Documents(all);
    }

    /**
     * {@return documents by the number of each token} A document ends where the number changes. The array is read here,
     * which waits for a GPU.
     *
     * @param numbers (T) or (B, T), of any integer type: {@code document_ids}, or {@code seq_idx} in Mamba
     * @throws IllegalArgumentException for another shape or data type, or an empty array
     */
    public static Documents ofNumbers(NDArray numbers) {
        Check.that(
                numbers.getDataType().isInteger(),
                () -> "document numbers " + numbers.getShape() + " have data type " + numbers.getDataType()
                        + ": expected an integer type; convert them with toType(DataType.INT64, false)");
        requireTokens("document numbers", numbers);
        long[] all = HostData.longs(numbers);
        return split(numbers.getShape(), i -> all[i] != all[i - 1]);
    }

    /**
     * {@return documents by packed positions, as transformers finds them in {@code position_ids}} A document begins
     * where a position is not greater than the one before. The array is read here, which waits for a GPU.
     *
     * @param positions (T) or (B, T), of any integer or floating-point type
     * @throws IllegalArgumentException for another shape, or an empty array
     */
    public static Documents ofPositions(NDArray positions) {
        requireTokens("packed positions", positions);
        double[] all = HostData.doubles(positions);
        return split(positions.getShape(), i -> !(all[i] > all[i - 1]));
    }

    private static void requireTokens(String name, NDArray tokens) {
        Shape shape = tokens.getShape();
        Check.that(
                (shape.dimension() == 1 || shape.dimension() == 2) && shape.size() > 0,
                () -> name + " of shape " + shape
                        + ": expected (T) or (B, T) with T of 1 or more; pass one number for each token");
    }

    /**
     * Splits rows into documents.
     *
     * @param shape (T) or (B, T)
     * @param begins whether the token of an index, which is not the first of its row, begins a document
     */
    private static Documents split(Shape shape, IntPredicate begins) {
        int width = Math.toIntExact(shape.getLastDimension());
        List<List<Integer>> rows = new ArrayList<>();
        for (int start = 0; start < shape.size(); start += width) {
            List<Integer> lengths = new ArrayList<>();
            int from = 0;
            for (int i = 1; i <= width; i++) {
                if (i == width || begins.test(start + i)) {
                    lengths.add(i - from);
                    from = i;
                }
            }
            rows.add(List.copyOf(lengths));
        }
        return new Documents(rows);
    }

    /**
     * {@return the documents of a forward: the parameter {@link PositionalEncodingBlock#DOCUMENTS}; null for none}
     *
     * @param params the forward parameters; null for none
     * @throws IllegalArgumentException if the parameter has another class, or is given beside a start position
     */
    public static Documents of(PairList<String, Object> params) {
        Object value = params == null ? null : params.get(ForwardParameters.DOCUMENTS);
        Check.that(
                value == null || value instanceof Documents,
                () -> "the forward parameter " + ForwardParameters.DOCUMENTS + " is a " + Settings.classOf(value)
                        + ": expected Documents; create them with Documents.ofLengths(3, 4) or Documents.ofNumbers(array)");
        Check.that(
                value == null || ForwardParameters.start(params, ForwardParameters.UNLIMITED) == 0,
                () -> ForwardParameters.DOCUMENTS + " and " + ForwardParameters.START + "="
                        + params.get(ForwardParameters.START)
                        + " were given: expected one of them, since positions start again in each document; pass"
                        + " positions for other ones, and no KeyValueCache");
        return (Documents) value;
    }

    /** {@return the lengths of the documents of each row; one row stands for every row of a batch} */
    public List<List<Integer>> getLengths() {
        return rows;
    }

    /**
     * {@return the lengths of the documents of a batch, row after row}
     *
     * @param batch B
     * @param length T
     * @throws IllegalArgumentException if the documents do not fit
     */
    public List<Integer> ofBatch(long batch, long length) {
        Check.that(
                rows.size() == 1 || rows.size() == batch,
                () -> this + " for " + batch + " sequences: expected documents of one row, for all sequences, or of "
                        + batch + "; pass as many with Documents.ofRows");
        List<Integer> all = new ArrayList<>();
        for (List<Integer> row : rows) {
            long sum = row.stream().mapToLong(Integer::longValue).sum();
            Check.that(
                    sum == length,
                    () -> "documents of " + shown(row) + " tokens, " + sum + " together, for sequences of " + length
                            + " tokens: expected lengths that add up to " + length
                            + "; pass the length of every document, and that of the padding as another document");
            all.addAll(row);
        }
        return rows.size() == batch
                ? all
                : Collections.nCopies(Math.toIntExact(batch), all).stream()
                        .flatMap(List::stream)
                        .toList();
    }

    /**
     * {@return the position of each token in its document, INT32, on the manager and the device of an array: (T) if all
     * rows have the same documents, otherwise (B, T), or (T, B) if T is the first axis; a new array}
     *
     * @param x the tokens, (B, …, T, …), (T, B, …) or (T, D)
     * @param axis the axis of T, from 0, or from -1 for the last
     * @throws IllegalArgumentException if the documents do not fit, or the tokens have no such axis
     */
    public NDArray positions(NDArray x, int axis) {
        int rank = x.getShape().dimension();
        Check.that(
                axis >= -rank && axis < rank,
                () -> "axis " + axis + " of tokens " + x.getShape() + ": expected the axis of T, from " + -rank + " to "
                        + (rank - 1) + "; pass another one");
        return positions(x, axis < 0 ? axis + rank : axis, rank > 2 || rows.size() > 1);
    }

    private NDArray positions(NDArray x, int axis, boolean isBatch) {
        Shape shape = x.getShape();
        long batch = axis > 0 ? shape.get(0) : isBatch && shape.dimension() > 1 ? shape.get(1) : 1;
        int length = Math.toIntExact(shape.get(axis));
        ofBatch(batch, length);
        int[] inDocument = rows.stream()
                .flatMap(List::stream)
                .flatMapToInt(count -> IntStream.range(0, count))
                .toArray();
        int count = rows.size();
        boolean isTimeMajor = axis == 0;
        Shape shapeOfPositions =
                count == 1 ? new Shape(length) : isTimeMajor ? new Shape(length, count) : new Shape(count, length);
        return HostData.integers(
                x.getManager(),
                x.getDevice(),
                shapeOfPositions,
                i -> inDocument[isTimeMajor ? i % count * length + i / count : i]);
    }

    private static String shown(List<Integer> lengths) {
        return lengths.size() <= 8
                ? lengths.toString()
                : lengths.subList(0, 8) + " and " + (lengths.size() - 8) + " more";
    }

    /** {@return the numbers of documents and rows} */
    @Override
    public String toString() {
        return rows.size() == 1
                ? "documents of " + shown(rows.get(0)) + " tokens"
                : "documents of " + rows.size() + " rows";
    }
}
