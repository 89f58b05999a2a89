package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoublePredicate;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.slf4j.LoggerFactory;

/**
 * Warns of inputs that are probably mistakes, although a correct program may pass them. A block or a cache checks only
 * its first mask, positions, step and names on a CPU; each kind of mistake is logged once for each process.
 */
public final class InputMistakes {
    enum Mistake {
        ADDED("holds only 0 and 1, to add to scores: expected 0 and -infinity; pass mask.neq(0) if 1 means visible"),
        NEGATIVE("has numbers below 0, which mean visible: expected 0 to hide; pass numbers to add with four axes"),
        TRIANGLE("is a triangle: expected a row for each sequence, 0 for padding; use optCausal(true) or (1, 1, T, T)"),
        ALL_HIDDEN("leaves no query a key: expected 1 for visible keys; pass mask.logicalNot() if 1 hides keys"),
        MASK("hold only 0 and 1: expected the position of each token; pass a mask to the attention, [x, mask]"),
        ROUNDED(
                "exceed 2047 in FLOAT16 or 2^24 in FLOAT32, which lack odd numbers there: expected another type; convert earlier"),
        FEWER_AXES(
                "has fewer axes than at initialization: expected the batch before the grid; add it with expandDims(0)"),
        REPEATED("repeats the tokens of the cache: expected the following tokens; pass only these"),
        NAME("is not read: expected startPosition, positions, keyValueCache, or a mask as an input; use one of these");

        private final String text;

        Mistake(String text) {
            this.text = text;
        }
    }

    static final Set<Mistake> REPORTED = ConcurrentHashMap.newKeySet();
    private static final Set<String> OTHER_NAMES =
            Set.of("attention_mask", "key_padding_mask", "position_ids", "past_key_values", "past_key_value");
    private static final int MAX_SIZE = 1 << 20; // a check must not take much memory and time

    private final Set<String> checked = ConcurrentHashMap.newKeySet();

    private static void warn(Mistake mistake, boolean isFound, String input) {
        if (isFound && REPORTED.add(mistake)) {
            LoggerFactory.getLogger(InputMistakes.class)
                    .warn("{} {}. It is accepted; see docs/troubleshooting.md#warnings", input, mistake.text);
        }
    }

    private boolean isFirst(String argument, NDArray array) {
        return HostData.isHost(array.getDevice()) && array.size() <= MAX_SIZE && checked.add(argument);
    }

    /** Checks a mask for T queries. Without it, a query sees the keys of a range, from the first to before the last. */
    public void checkMask(NDArray mask, boolean isAdded, boolean isCausal, int queries, IntFunction<int[]> range) {
        if (!isFirst("mask", mask)) {
            return;
        }
        double[] each = HostData.doubles(mask);
        Shape shape = mask.getShape();
        int columns = (int) shape.getLastDimension();
        int rows = shape.dimension() == 2 ? 1 : (int) shape.get(shape.dimension() - 2);
        String input = "mask " + shape + (isCausal ? " of a causal attention" : "");
        boolean areBits = DoubleStream.of(each).allMatch(value -> value == value * value);
        warn(Mistake.ADDED, isAdded && areBits && DoubleStream.of(each).sum() > 0, input);
        warn(Mistake.NEGATIVE, !isAdded && DoubleStream.of(each).anyMatch(value -> value < 0), input);
        boolean isSquare = shape.dimension() == 2 && columns == shape.get(0) && columns >= 3;
        IntPredicate isOfTriangle = i -> (each[i] != 0) == (i % columns <= i / columns);
        long lower = IntStream.range(0, each.length).filter(isOfTriangle).count();
        warn(Mistake.TRIANGLE, isSquare && !isCausal && (lower == 0 || lower == each.length), input);
        double lowest = mask.getDataType() == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE;
        DoublePredicate isVisible = isAdded ? value -> value > lowest : value -> value != 0;
        boolean isAnyVisible = IntStream.range(0, queries)
                .anyMatch(query -> IntStream.range(0, each.length / columns)
                        .filter(row -> rows == 1 || row % rows == query)
                        .anyMatch(row -> IntStream.range(range.apply(query)[0], range.apply(query)[1])
                                .anyMatch(key -> isVisible.test(each[row * columns + (columns == 1 ? 0 : key)]))));
        warn(Mistake.ALL_HIDDEN, !isAnyVisible, input);
    }

    /** Checks explicit positions. */
    public void checkPositions(TokenPositions tokens) {
        NDArray positions = tokens.array();
        if (positions != null && isFirst("positions", positions)) {
            double[] each = tokens.toDoubles();
            String input = "positions " + positions.getShape();
            boolean areFew = tokens.count() >= 3 && DoubleStream.of(each).allMatch(value -> value == value * value);
            warn(Mistake.MASK, areFew && positions.getShape().dimension() < 3, input);
            DataType type = positions.getDataType();
            double limit =
                    type == DataType.FLOAT16 ? 2047 : type == DataType.FLOAT32 ? 0x1p24 : Double.POSITIVE_INFINITY;
            warn(Mistake.ROUNDED, DoubleStream.of(each).anyMatch(value -> Math.abs(value) > limit), input);
        }
    }

    /** Checks whether a step begins with the tokens of a cache, by the values of both, (B, N, length, H). */
    public void checkStep(NDArray added, long length, Supplier<NDArray> held) {
        if (isFirst("step", added) && added.getShape().get(2) > length) {
            try (NDArray first = added.get(NDIndex.sliceAxis(2, 0, length));
                    NDArray earlier = held.get()) {
                double[] now = HostData.doubles(first);
                double[] before = HostData.doubles(earlier);
                double largest = DoubleStream.of(before).map(Math::abs).max().orElse(0);
                // results that are computed twice differ by less, even in FLOAT16
                IntPredicate isSame = i -> Math.abs(before[i] - now[i]) <= 0.01 * largest;
                warn(Mistake.REPEATED, IntStream.range(0, now.length).allMatch(isSame), "step " + added.getShape());
            }
        }
    }

    /** Checks that an input whose last axes are a grid has the axes that its block was initialized with, if it was. */
    public static void checkAxes(Shape input, Shape... initialized) {
        boolean hasFewer = initialized != null && input.dimension() < initialized[0].dimension();
        warn(Mistake.FEWER_AXES, hasFewer, "input " + input);
    }

    /** Checks the names of forward parameters. */
    public void checkNames(PairList<String, Object> params, Device device) {
        if (HostData.isHost(device) && checked.add("names")) {
            OTHER_NAMES.forEach(name -> warn(Mistake.NAME, params.contains(name), "forward parameter " + name));
        }
    }
}
