package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.Collections;
import java.util.List;

/** The forward parameters of this library, and the list of inputs. */
public final class ForwardParameters {

    /** The key of the forward parameter that gives the position of the first step. */
    public static final String START = "startPosition";

    /** The key of the forward parameter that holds a cache of keys and values. */
    public static final String CACHE = "keyValueCache";

    /** The key of the forward parameter that holds the positions of all tokens. */
    public static final String POSITIONS = "positions";

    /** The key of the forward parameter that gives the documents that are packed into a sequence. */
    public static final String DOCUMENTS = "documents";

    /** The key of the forward parameter that gives the positions of the keys of a cross-attention. */
    public static final String MEMORY_POSITIONS = "memoryPositions";

    /** The key of the forward parameter that holds the types of tokens. */
    public static final String TOKEN_TYPES = "tokenTypes";

    /** The key of the forward parameter with the sizes of another grid, a Shape. */
    public static final String GRID_SIZES = "gridSizes";

    /** The limit where no table limits the positions: small enough that the lengths of two sequences can be added. */
    public static final int UNLIMITED = 1 << 29;

    static final List<String> NAMES =
            List.of(START, CACHE, POSITIONS, DOCUMENTS, MEMORY_POSITIONS, TOKEN_TYPES, GRID_SIZES);

    /** The name that Hugging Face's tokenizers give to an array of token types. */
    private static final String TOKEN_TYPE_IDS = "token_type_ids";

    private ForwardParameters() {}

    /** Returns the input, after the first, whose name says that it has the types of tokens; null for none. */
    public static NDArray tokenTypes(NDList inputs) {
        return inputs.stream()
                .skip(1)
                .filter(input -> TOKEN_TYPES.equals(input.getName()) || TOKEN_TYPE_IDS.equals(input.getName()))
                .findFirst()
                .orElse(null);
    }

    /** Checks that no input of a forward is null. */
    public static void requireInputs(NDList inputs) {
        int index = inputs.indexOf(null);
        Check.that(
                index < 0,
                () -> "input " + index + " of " + inputs.size()
                        + ", counted from 0, is null: expected an array; leave out"
                        + " a mask or positions that are not needed, or pass an empty array where others follow");
    }

    /** Checks that no forward parameter of this library occurs twice, and the type of the start position. */
    public static void require(PairList<String, Object> params) {
        for (String name : NAMES) {
            Check.that(
                    Collections.frequency(params.keys(), name) < 2,
                    () -> "the forward parameter " + name
                            + " was given twice: expected it once; create a new list of parameters for each forward");
        }
        Object start = params.get(START);
        Check.that(
                start == null || start instanceof Integer || start instanceof Long,
                () -> START + " is the " + Settings.classOf(start) + " " + Settings.shown(start)
                        + ": expected an Integer or a Long; pass the number of the first position");
    }

    /**
     * Returns the explicit positions of a forward, an array or {@link TokenPositions}, from an input or from the
     * forward parameter {@value #POSITIONS}; null for none. Throws {@link IllegalArgumentException} if there are both,
     * or if there is also a start position, unless a cache set it.
     */
    public static Object positions(NDArray input, PairList<String, Object> params) {
        Object parameter = positions(POSITIONS, params);
        Check.that(
                parameter == null || input == null,
                () -> "positions of shape " + input.getShape() + " were given beside the forward parameter " + POSITIONS
                        + ", " + shown(parameter) + ": expected one of them; leave one out");
        Object positions = input == null ? parameter : input;
        Check.that(
                positions == null || start(params, UNLIMITED) == 0 || params.contains(CACHE),
                () -> "both positions and " + START + "=" + params.get(START)
                        + " were given: expected one of them; pass the positions of all steps, or the start");
        return positions;
    }

    /**
     * Returns the value of a forward parameter of positions, an array or {@link TokenPositions}; null for none. Throws
     * {@link IllegalArgumentException} for another class.
     */
    public static Object positions(String name, PairList<String, Object> params) {
        Object parameter = params == null ? null : params.get(name);
        Check.that(
                parameter == null || parameter instanceof NDArray || parameter instanceof TokenPositions,
                () -> "the forward parameter " + name + " is a "
                        + Settings.classOf(parameter)
                        + ": expected an NDArray, (T), (B, T) or (axes, B, T), or Positions; create an array with the"
                        + " manager");
        return parameter;
    }

    /** Checks that a call without keys of its own has no positions of a memory. */
    public static void requireNoMemory(PairList<String, Object> params, String call, String remedy) {
        Object positions = params == null ? null : params.get(MEMORY_POSITIONS);
        Check.that(
                positions == null,
                () -> "the forward parameter " + MEMORY_POSITIONS + ", " + shown(positions) + ", was given to " + call
                        + ": expected none without a memory; " + remedy + ", or leave the parameter out");
    }

    /** Returns forward parameters without one of them: the same ones if they do not have it. */
    public static PairList<String, Object> without(String name, PairList<String, Object> params) {
        if (params == null || !params.contains(name)) {
            return params;
        }
        PairList<String, Object> others = new PairList<>();
        params.stream().filter(param -> !param.getKey().equals(name)).forEach(others::add);
        return others;
    }

    private static String shown(Object positions) {
        return positions instanceof NDArray array ? "of shape " + array.getShape() : positions.toString();
    }

    /**
     * Returns the start position (default: 0). Throws {@link IllegalArgumentException} unless it is from 0 to the
     * limit.
     */
    public static int start(PairList<String, Object> params, int limit) {
        Object start = params == null ? null : params.get(START);
        if (start == null) {
            return 0;
        }
        long number = ((Number) start).longValue();
        Check.that(
                number >= 0 && number <= limit,
                () -> START + " " + number + ": expected 0 to " + limit + "; " + remedy(limit));
        return (int) number;
    }

    /** Checks that a sequence ends below the limit. */
    public static void requireLength(long length, long start, int limit) {
        if (start + length > limit) {
            throw new IllegalArgumentException("sequence length " + length + " at start position " + start
                    + " exceeds the maximum " + limit
                    + (limit >= UNLIMITED || start + length > Integer.MAX_VALUE
                            ? ": split the sequence"
                            : ": build the block with optMaxSequenceLength(" + (start + length) + ") or more"));
        }
    }

    /** What to do about a position beyond a limit. */
    public static String remedy(int limit) {
        return limit >= UNLIMITED
                ? "count positions from 0"
                : "count positions from 0; for longer sequences, build the block with a greater"
                        + " optMaxSequenceLength(int) or optAutoExtend(int)";
    }
}
