package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The intermediate arrays of one forward, closed at its end. An {@code NDScope} would also close arrays that a user's
 * block stores for its next forward.
 */
public final class Temporaries implements AutoCloseable {

    private final List<NDArray> arrays = new ArrayList<>();

    /** Adds an array that was just created. */
    public NDArray add(NDArray created) {
        arrays.add(created);
        return created;
    }

    /** Adds the result of an operation, unless it is the input itself or null. */
    public NDArray addUnless(NDArray input, NDArray result) {
        return result == input || result == null ? result : add(result);
    }

    /** Adds the result of a formula, in which other arrays are closed, unless it is the input itself. */
    public NDArray addResult(NDArray input, Supplier<NDArray> formula) {
        return addUnless(input, resultUnless(input, formula));
    }

    /** Adds the result of a formula, a new array; others are closed. */
    public NDArray addResult(Supplier<NDArray> formula) {
        return add(result(formula));
    }

    /** Converts an array to a data type. The result is added, unless it is the array itself. */
    public NDArray toType(NDArray array, DataType type) {
        return addUnless(array, Arithmetic.toType(array, type));
    }

    /** Removes an array, usually the result, so that it is not closed. */
    public NDArray remove(NDArray result) {
        arrays.removeIf(array -> array == result);
        return result;
    }

    /**
     * {@return the result of a formula, which is a new array} All other arrays that the formula creates are closed. It
     * must not call blocks of users.
     */
    public static NDArray result(Supplier<NDArray> formula) {
        return resultUnless(null, formula);
    }

    /** The result of a formula, which is a new array, or else the input, which stays where it is registered. */
    private static NDArray resultUnless(NDArray input, Supplier<NDArray> formula) {
        NDArray result;
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            result = formula.get();
            if (result == input || result == null) {
                return result;
            }
            NDScope.unregister(result);
        }
        NDScope.register(result);
        return result;
    }

    /** {@return the results of a formula, which are new arrays; see {@link #result}} */
    public static NDList results(Supplier<NDList> formula) {
        NDList results;
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            results = formula.get();
            NDScope.unregister(results);
        }
        results.forEach(NDScope::register);
        return results;
    }

    /** Closes the arrays so far; others may be added. */
    @Override
    public void close() {
        arrays.forEach(NDArray::close);
        arrays.clear();
    }
}
