package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * A term of the scores that depends on the positions of query and key through their difference only, so that it is
 * computed once for each relative position.
 */
abstract class RelativeTermBlock extends ScoreTermBlock {

    private static final int INITIAL_LENGTH = 512;

    /** Up to so many times the number of tokens, all relative positions take less time than those that occur. */
    private static final int DENSE = 4;

    RelativeTermBlock(Record settings, int headCount, int headSize) {
        super(settings, headCount, headSize);
    }

    /** Returns the term where positions are indices, so that it can be shifted instead of looked up. */
    abstract NDArray termOfIndices(AttentionCall call, NDArray queries);

    /** Returns the term where positions were given. */
    abstract NDArray termOfPositions(AttentionCall call, NDArray queries);

    /**
     * The relative position of each query and key.
     *
     * @param distances all that occur, and perhaps others between them
     * @param indices the index of that of each query and key among them, (1 or B, T, F), INT32
     */
    record Pairs(Distances distances, NDArray indices) {}

    @Override
    final NDArray term(AttentionCall call, NDArray queries, NDArray keys) {
        return call.hasPositions() ? termOfPositions(call, queries) : termOfIndices(call, queries);
    }

    /** {@return the key's position less the query's, (1 or B, T, F), INT32} */
    static NDArray differences(AttentionCall call, NDArray like) {
        return positions(call.keys(), like)
                .expandDims(1)
                .sub(positions(call.queries(), like).expandDims(2));
    }

    /** {@return the relative position of each query and key of a call} This waits for a GPU if positions were given. */
    static Pairs pairs(AttentionCall call, NDArray like) {
        NDArray differences = differences(call, like);
        int greatest = call.hasPositions()
                ? (int) HostData.doubles(differences.abs().max())[0]
                : Math.max(call.queries().end(), call.keys().end()) - 1;
        int tokens = call.queries().length() + call.keys().length();
        if (!call.hasPositions() || greatest <= DENSE * (tokens + INITIAL_LENGTH)) {
            return new Pairs(Distances.consecutive(-greatest, 2 * greatest + 1), Arithmetic.add(differences, greatest));
        }
        double[] each = HostData.doubles(differences);
        int[] distinct =
                Arrays.stream(each).mapToInt(d -> (int) d).sorted().distinct().toArray();
        NDArray indices = HostData.integers(
                like.getManager(),
                like.getDevice(),
                differences.getShape(),
                i -> Arrays.binarySearch(distinct, (int) each[i]));
        return new Pairs(Distances.of(distinct), indices);
    }

    /**
     * Adds a table by relative position, which is the key's position less the query's. It grows with the longest
     * sequence.
     *
     * @param row the shape of a row
     * @param rows computes the rows of consecutive relative positions
     */
    final ConstantTable addTable(Shape row, HostData.Rows rows) {
        return addTable(tableOf(row, rows));
    }

    private static ConstantTable tableOf(Shape row, HostData.Rows rows) {
        return ConstantTable.ofDistances(row, INITIAL_LENGTH, Positions.UNLIMITED, rows);
    }

    /** Adds a table of a number for each relative position, with rows (1). */
    final ConstantTable addNumbers(IntToDoubleFunction number) {
        return addTable(numbers(number));
    }

    /** A table for {@link #addNumbers}. */
    static ConstantTable numbers(IntToDoubleFunction number) {
        return tableOf(new Shape(1), (first, count, format, out) -> {
            for (int i = 0; i < count; i++) {
                format.put(out, i, number.applyAsDouble(first + i));
            }
        });
    }
}
