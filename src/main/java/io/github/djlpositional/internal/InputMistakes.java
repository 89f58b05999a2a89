package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoublePredicate;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.slf4j.LoggerFactory;

/**
 * Warns of inputs that are probably mistakes, although a correct program may pass them. A block or a cache reads only
 * its first mask, positions and step for it, on a CPU; token ids, which are read there anyway, names, options and
 * numbers in Java memory are checked in each forward. Each kind of mistake is logged once for each process.
 */
public final class InputMistakes {
    enum Mistake {
        ADDED("holds only 0 and 1, to add to scores: expected 0 and -infinity; pass mask.neq(0) if 1 means visible"),
        NEGATIVE("has numbers below 0, which mean visible: expected 0 to hide; pass numbers to add with four axes"),
        TRIANGLE("is a triangle: expected a row for each sequence, 0 for padding; use optCausal(true) or (1, 1, T, T)"),
        ALL_HIDDEN("hides all keys of a sequence: expected 1 for visible keys; pass mask.logicalNot() if 1 hides keys"),
        MASK("hold only 0 and 1: expected the position of each token; pass a mask to the attention, [x, mask]"),
        ROUNDED(
                "exceed 2047 in FLOAT16 or 2^24 in FLOAT32, which lack odd numbers there: expected another type; convert earlier"),
        FEWER_AXES(
                "has fewer axes than at initialization: expected the batch before the grid; add it with expandDims(0)"),
        CLOSE("differ by one unit in the last place of their data type: expected differences of several; subtract the"
                + " first in FLOAT64, then convert"),
        PADDING(
                "have padding that no attention hides: expected its mask in every attention; use a TransformerStackBlock, or"
                        + " optReturnMask(true) in a SequentialBlock, or pass mask(ids)"),
        TWICE(
                "has the default positions of an InputEmbeddingBlock, and gets positions again: expected them once; build the"
                        + " input with optNoPositions()"),
        REPEATED("repeats the tokens of the cache: expected the following tokens; pass only these"),
        PROMPT("lets its tokens see later ones, unlike the tokens of later steps: expected a causal attention; build it"
                + " with optCausal(true), or pass a mask (B, T, T)");

        private final String text;

        Mistake(String text) {
            this.text = text;
        }
    }

    /** The kinds that were logged: mistakes, forward parameters that a name was mistaken for, and encodings. */
    static final Set<Object> REPORTED = ConcurrentHashMap.newKeySet();

    private static final String MASK = "a mask as an input, [x, mask]";

    /** What names of other libraries, in lower case without separators, probably stand for. */
    private static final Map<String, List<String>> OTHER_NAMES = Map.of(
            ForwardParameters.CACHE,
            List.of("cache", "kvcache", "pastkeyvalue", "pastkeyvalues", "pastkv", "layerpast", "cacheparams"),
            ForwardParameters.START,
            List.of("startpos", "startindex", "startpositions", "pastlength", "pastkeyvalueslength", "seqlenoffset"),
            ForwardParameters.POSITIONS,
            List.of("position", "pos", "positionid", "positionids", "posids", "inputpos", "cacheposition"),
            ForwardParameters.DOCUMENTS,
            List.of("document", "documentids", "cuseqlens", "cuseqlensq", "seqlens", "seqidx"),
            ForwardParameters.MEMORY_POSITIONS,
            List.of(
                    "contextpos",
                    "contextpositions",
                    "memorypos",
                    "memorypositionids",
                    "keypositions",
                    "encoderpositions"),
            ForwardParameters.GRID_SIZES,
            List.of("gridsize", "gridthw", "imagegridthw"),
            ForwardParameters.TOKEN_TYPES,
            List.of("tokentype", "tokentypeid", "tokentypeids", "segmentid", "segmentids"),
            MASK,
            List.of(
                    "mask",
                    "attentionmask",
                    "attnmask",
                    "keymask",
                    "paddingmask",
                    "padmask",
                    "keypaddingmask",
                    "srckeypaddingmask",
                    "tgtkeypaddingmask",
                    "memorykeypaddingmask",
                    "srcmask",
                    "tgtmask",
                    "memorymask",
                    "encoderattentionmask",
                    "decoderattentionmask"));

    /** The name of an array to which an input embedding has added its default positions. */
    private static final String WITH_POSITIONS = "withDefaultPositions";

    private static final int MAX_SIZE = 1 << 20; // a check must not take much memory and time

    private final Set<String> checked = ConcurrentHashMap.newKeySet();

    private static void warn(Mistake mistake, boolean isFound, String input) {
        if (isFound) {
            warn(mistake, input + " " + mistake.text);
        }
    }

    private static void warn(Object kind, String message) {
        if (REPORTED.add(kind)) {
            LoggerFactory.getLogger(InputMistakes.class)
                    .warn("{}. It is accepted; see docs/troubleshooting.md#warnings", message);
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
        boolean isTriangle = isSquare && !isCausal && (lower == 0 || lower == each.length);
        warn(Mistake.TRIANGLE, isTriangle, input);
        double lowest = mask.getDataType() == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE;
        DoublePredicate isVisible = isAdded ? value -> value > lowest : value -> value != 0;
        int sequences = (int) shape.get(0);
        int rowsOfSequence = each.length / columns / sequences;
        IntPredicate seesKey = sequence -> IntStream.range(0, queries)
                .anyMatch(query -> IntStream.range(sequence * rowsOfSequence, (sequence + 1) * rowsOfSequence)
                        .filter(row -> rows == 1 || row % rows == query)
                        .anyMatch(row -> IntStream.range(range.apply(query)[0], range.apply(query)[1])
                                .anyMatch(key -> isVisible.test(each[row * columns + (columns == 1 ? 0 : key)]))));
        boolean isWithoutKey = !isTriangle && !IntStream.range(0, sequences).allMatch(seesKey);
        warn(Mistake.ALL_HIDDEN, isWithoutKey, input);
    }

    /** Checks whether ids have padding, whose mask nothing takes: in each forward, until some have it. */
    public static void checkPadding(NDArray ids, int padding) {
        if (HostData.isHost(ids.getDevice()) && ids.size() <= MAX_SIZE && !REPORTED.contains(Mistake.PADDING)) {
            boolean isFound = DoubleStream.of(HostData.doubles(ids)).anyMatch(id -> id == padding);
            warn(Mistake.PADDING, isFound, "ids " + ids.getShape());
        }
    }

    /** Notes that default positions were added to an array. */
    public static void markPositions(NDArray x) {
        x.setName(WITH_POSITIONS);
    }

    /** Warns of an input of a block that encodes positions, if it comes from one that has added its default ones. */
    public static void checkPositionsOnce(NDArray x) {
        if (WITH_POSITIONS.equals(x.getName())) {
            warn(Mistake.TWICE, true, "input " + x.getShape());
        }
    }

    /** Checks explicit positions. */
    public void checkPositions(TokenPositions tokens) {
        checkPositions("positions", tokens);
    }

    /** Checks explicit positions of a name. */
    public void checkPositions(String name, TokenPositions tokens) {
        NDArray positions = tokens.array();
        if (positions != null && isFirst(name, positions)) {
            boolean areFew = tokens.count() >= 3
                    && DoubleStream.of(tokens.toDoubles()).allMatch(value -> value == value * value);
            warn(Mistake.MASK, areFew && positions.getShape().dimension() < 3, name + " " + positions.getShape());
        }
    }

    /**
     * Checks real positions, which were read from an array, (…, T): whether whole numbers are missing in their data
     * type, or most of the differences between neighbors are rounded.
     */
    public static void checkRounding(NDArray positions, double... each) {
        DataType type = positions.getDataType();
        if (type == DataType.FLOAT64) {
            return;
        }
        String input = "positions " + positions.getShape();
        double limit = type == DataType.FLOAT16 ? 2047 : 0x1p24;
        boolean areLarge = DoubleStream.of(each).anyMatch(value -> Math.abs(value) > limit);
        warn(Mistake.ROUNDED, areLarge, input);
        if (!areLarge && DoubleStream.of(each).anyMatch(value -> value != Math.rint(value))) {
            long length = positions.getShape().getLastDimension();
            long[] steps = IntStream.range(1, each.length)
                    .filter(i -> i % length > 0 && each[i] != each[i - 1])
                    .mapToLong(i -> Math.round(Math.abs(each[i] - each[i - 1]) / ulp(type, each[i])))
                    .toArray();
            long smallest = LongStream.of(steps).filter(step -> step <= 1).count();
            warn(Mistake.CLOSE, steps.length > 0 && 2 * smallest >= steps.length, input);
        }
    }

    private static double ulp(DataType type, double value) {
        return type == DataType.FLOAT16
                ? Math.scalb(1.0, Math.max(Math.getExponent(value), -14) - 10)
                : Math.ulp((float) value);
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

    /** Warns of a first step of several tokens, (B, T, D), that see each other. */
    public static void reportPrompt(Shape prompt) {
        warn(Mistake.PROMPT, true, "prompt " + prompt + " in a cache");
    }

    /** Warns of an encoding that is meant for causal attention, in another attention. */
    public static void reportEncoding(String encoding) {
        warn(
                encoding,
                encoding + " in an attention that is not causal: expected optCausal(true), or a mask for each query;"
                        + " use another encoding to see later keys");
    }

    /** Checks the names of forward parameters. */
    public static void checkNames(PairList<String, Object> params) {
        for (Pair<String, Object> param : params) {
            String name = String.valueOf(param.getKey());
            if (!ForwardParameters.NAMES.contains(name)) {
                checkName(name, param.getValue());
            }
        }
    }

    private static void checkName(String name, Object value) {
        String plain = name.toLowerCase(Locale.ROOT).replaceAll("[-_ ]", "");
        OTHER_NAMES.forEach((right, others) -> {
            if (others.contains(plain) || plain.equals(right.toLowerCase(Locale.ROOT))) {
                boolean isStart = right.equals(ForwardParameters.POSITIONS) && value instanceof Number;
                String expected = isStart ? ForwardParameters.START : right;
                warn(expected, "forward parameter " + name + " is not read: expected " + expected + "; use it instead");
            }
        });
    }
}
