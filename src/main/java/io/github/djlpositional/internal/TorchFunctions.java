package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.PairLayout;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.slf4j.LoggerFactory;

/**
 * Calls the functions of the resource {@code functions.py}, which explains them, on PyTorch. DJL runs TorchScript: an
 * archive with that code, which holds no tensor and is loaded once for each engine.
 *
 * <p>Any number of threads may use them at once. They return new arrays, and record gradients where their inputs ask
 * for them.
 */
public final class TorchFunctions {

    /** The first version that returns zeros for a query whose keys all have a mask of -infinity. */
    private static final double OLDEST_VERSION = 2.05;

    /** The floats of a vector of AVX-512, two of AVX2; the vectors of other processors are too short to matter. */
    private static final int LANES = "amd64".equals(System.getProperty("os.arch")) ? 16 : 1;

    /** With more keys, the remainder hardly matters. */
    private static final int MOST_KEYS = 64;

    /** A pickled object of the class M whose attribute {@code training} is false, in protocol 2. */
    private static final String OBJECT = "\u0080\u0002c__torch__\nM\n)\u0081}X\b\0\0\0training\u0089sb.";

    private static final String EMPTY_TUPLE = "\u0080\u0002).";

    /** The tokens of a block; see {@link #step}. */
    private static final int BLOCK = 64;

    /** The prefix of the name of an array by which DJL calls a method of the archive. */
    private static final String METHOD = "module_method:";

    /** Names of arrays that DJL would pass together, as a dictionary, a tuple or a list. */
    private static final Pattern GROUPED = Pattern.compile("[.(\\[]");

    private static final Map<Engine, Optional<TorchFunctions>> BY_ENGINE = new ConcurrentHashMap<>();

    /** Holds the archive as long as the engine lives. */
    private final Model model;

    private final ParameterStore none;

    /** For each method, an array by whose name DJL calls it in place of {@code forward}. */
    private final Map<String, NDArray> methods = new ConcurrentHashMap<>();

    /** Empty arrays, by their shapes. */
    private final Map<LongBuffer, NDArray> bySizes = new ConcurrentHashMap<>();

    private final Map<Double, NDArray> scalars = new ConcurrentHashMap<>();

    /** FLOAT32. */
    private final Map<Double, NDArray> epsilons = new ConcurrentHashMap<>();

    private TorchFunctions(Model model) {
        this.model = model;
        // without a manager, it would start DJL's default engine
        none = new ParameterStore(model.getNDManager(), false);
    }

    /** Returns the functions of an array's engine, or null if it has none. */
    public static TorchFunctions of(NDArray array) {
        return BY_ENGINE
                .computeIfAbsent(array.getManager().getEngine(), TorchFunctions::load)
                .orElse(null);
    }

    private static Optional<TorchFunctions> load(Engine engine) {
        if (!"PyTorch".equals(engine.getEngineName()) || versionOf(engine) < OLDEST_VERSION) {
            return Optional.empty();
        }
        Model model = engine.newModel("torchFunctions", Device.cpu());
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            model.load(new ByteArrayInputStream(archive(code())));
            return Optional.of(new TorchFunctions(model));
        } catch (IOException | MalformedModelException | EngineException | UnsupportedOperationException e) {
            model.close();
            LoggerFactory.getLogger(TorchFunctions.class)
                    .warn(
                            "PyTorch's functions cannot be loaded; attention is slower without them, and no gradient passes a"
                                    + " conversion from or to FLOAT16",
                            e);
            return Optional.empty();
        }
    }

    /** The first two fields of a version: 2.07 for 2.7.1. */
    private static double versionOf(Engine engine) {
        String[] fields = engine.getVersion().split("\\D+", 3);
        return Integer.parseInt(fields[0]) + Integer.parseInt(fields[1]) / 100.0;
    }

    /** The lines of {@code functions.py} without blank lines and comments, so that all are ASCII. */
    private static String code() throws IOException {
        try (InputStream file = TorchFunctions.class.getResourceAsStream("functions.py")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.stripLeading().startsWith("#"))
                    .collect(Collectors.joining("\n", "", "\n"));
        }
    }

    private static byte[] archive(String code) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            // version 10 is the first with an approximation of GELU
            Map<String, String> entries = Map.of(
                    "version", "10\n", "constants.pkl", EMPTY_TUPLE, "data.pkl", OBJECT, "code/__torch__.py", code);
            for (Map.Entry<String, String> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry("attention/" + entry.getKey()));
                zip.write(entry.getValue().getBytes(StandardCharsets.ISO_8859_1));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }

    /**
     * Returns softmax(q kᵀ / √H + mask) v of queries (B, N, T, H), keys and values (B, K, F, H), computed in a type.
     * The mask is (B or 1, N or 1, T or 1, F), of one head if K is not N; or null. It may hide all keys of a query.
     */
    public NDArray attend(
            NDArray queries, NDArray keys, NDArray values, NDArray mask, boolean mayHideAll, DataType type) {
        NDArray sizes = kernel(type, queries, keys, 0);
        return mask == null
                ? run("unmasked", queries, keys, values, sizes)
                : run(mayHideAll ? "hidden" : "masked", queries, keys, values, mask, sizes);
    }

    /** Like {@link #attend} without a mask, where query i sees the keys 0 … i. */
    public NDArray attendCausally(NDArray queries, NDArray keys, NDArray values, DataType type) {
        return run("unmasked", queries, keys, values, kernel(type, queries, keys, 1));
    }

    /**
     * Like {@link #attend}, with lines (N or 1, T + F - 1) added to the scores: column j - i + T - 1 for query i and
     * key j.
     */
    public NDArray attendByDistance(NDArray queries, NDArray keys, NDArray values, NDArray lines, DataType type) {
        return run("distances", queries, keys, values, lines, kernel(type, queries, keys, 0));
    }

    private NDArray kernel(DataType type, NDArray queries, NDArray keys, int causal) {
        return emptyWith(number(type), paddingKeys(queries, keys.getShape().get(2)), causal);
    }

    /**
     * Returns how many keys of padding to add for queries (B, N, T, H) and F keys, so that an attention takes less
     * time. A CPU computes the exponentials of a row 16 at a time, and the remaining ones one by one, each as slowly as
     * 16.
     */
    public static int paddingKeys(NDArray queries, long keyLength) {
        int rest = (int) (keyLength % LANES);
        boolean pays = 4 * rest > 3 * LANES
                && keyLength < MOST_KEYS
                && 2 * queries.getShape().get(2) >= keyLength
                && HostData.isHost(queries.getDevice());
        return pays ? LANES - rest : 0;
    }

    /** Returns lines for {@link #attendByDistance} that are faster in training, with the same results. */
    public NDArray limited(NDArray queries, NDArray keys, NDArray lines) {
        return run("limited", queries, keys, lines);
    }

    /**
     * The tokens of a cache for a step of one token.
     *
     * @param keys (B, K, n, H)
     * @param values (B, K, n, H)
     * @param hidden 1 for each hidden token, the last for this one, (B, n or fewer); null for none
     * @param biases added to the scores, the last to that of this token, (1 or N, n or more); null for none
     * @param scale the factor of the products of the query and the keys; null for 1 / √H
     * @param at the index of the token in these arrays
     * @param firstKey the index of the first key that the query sees
     */
    public record Cached(
            NDArray keys, NDArray values, NDArray hidden, NDArray biases, NDArray scale, int at, int firstKey) {}

    /**
     * Returns the result of a query, (B, N, 1, H), and writes the key and the value of its token to the cached ones.
     *
     * @param query (B, N, 1, H)
     * @param key (B, K, 1, H)
     * @param value (B, K, 1, H)
     * @param cached the tokens of the cache
     */
    public NDArray step(NDArray query, NDArray key, NDArray value, Cached cached) {
        return run(
                "step",
                query,
                key,
                value,
                cached.keys,
                cached.values,
                cached.hidden,
                cached.biases,
                cached.scale,
                // in two sizes, so that few arrays are needed for all steps
                emptyWith(cached.at % BLOCK, cached.firstKey % BLOCK),
                emptyWith(cached.at / BLOCK, cached.firstKey / BLOCK));
    }

    /**
     * Returns the result of a self-attention for one token, (B, 1, D), and writes its key and value to the cached ones.
     *
     * @param x (B, 1, D)
     * @param parameters weights and biases of queries, keys, values and result, and factors, offset and epsilon of the
     *     norms of queries and keys; null for none
     * @param headCount N
     * @param layout of the rotated pairs; null for no rotation
     * @param rows rows for the rotation of queries and keys, or of the queries and then of the keys, (1 or B, 1, r)
     * @param cached the tokens of the cache
     */
    public NDArray attentionStep(
            NDArray x, NDArray[] parameters, int headCount, PairLayout layout, List<NDArray> rows, Cached cached) {
        NDArray[] all = new NDArray[parameters.length + 10];
        all[0] = x;
        System.arraycopy(parameters, 0, all, 1, parameters.length);
        int next = parameters.length + 1;
        all[next++] = rows.isEmpty() ? null : rows.get(0);
        all[next++] = rows.size() < 2 ? null : rows.get(1);
        all[next++] = cached.keys;
        all[next++] = cached.values;
        all[next++] = cached.hidden;
        all[next++] = cached.biases;
        all[next++] = cached.scale;
        int kind = layout == null ? 0 : layout == PairLayout.INTERLEAVED ? 2 : 1;
        all[next++] = emptyWith(cached.at % BLOCK, cached.firstKey % BLOCK, headCount, kind);
        all[next] = emptyWith(cached.at / BLOCK, cached.firstKey / BLOCK);
        return run("attentionStep", all);
    }

    /** Returns γ · x / √(mean(x²) + ε) over the last axis of x, without gradients. */
    public NDArray rmsNorm(NDArray x, NDArray gamma, double epsilon) {
        return run("rmsNorm", x, gamma, epsilon(epsilon, x));
    }

    /**
     * Returns the feed-forward network of a layer with its residual connection and normalization, without gradients.
     *
     * @param arrays the arrays of {@code feedForward} in {@code functions.py}; null for None
     * @param sizes the sizes of the function
     */
    public NDArray feedForward(NDArray[] arrays, long... sizes) {
        NDArray[] all = Arrays.copyOf(arrays, arrays.length + 1);
        all[arrays.length] = emptyWith(sizes);
        return run("feedForward", all);
    }

    /** Returns the epsilon of a normalization of x, in the data type that it computes in; it belongs to this object. */
    public NDArray epsilon(double value, NDArray x) {
        return x.getDataType() == DataType.FLOAT64
                ? number(value)
                : epsilons.computeIfAbsent(
                        value,
                        number -> owned(model.getNDManager().full(new Shape(), (float) value, DataType.FLOAT32)));
    }

    /**
     * Returns a number, FLOAT64 on the CPU, which does not change the data type of a result; it belongs to this object.
     */
    public NDArray number(double value) {
        return scalars.computeIfAbsent(
                value, number -> owned(HostData.number(model.getNDManager(), Device.cpu(), number)));
    }

    /**
     * Returns W x + b in FLOAT16, rounded once, where DJL's {@code Linear} also rounds the product; the bias may be
     * null.
     */
    public NDArray linear(NDArray x, NDArray weight, NDArray bias) {
        return run("linear", x, weight, bias);
    }

    /** Converts scores by relative position to scores by key: (B, N, T, W) to (B, N, T, F). */
    public NDArray toKeys(NDArray byPosition, int keyLength) {
        try (NDArray sizes = byPosition.getManager().create(new Shape(keyLength, 0))) {
            return run("toKeys", byPosition, sizes);
        }
    }

    /** {@link #toKeys} of queries (B, N, T, H) · columns (1, N, H, W). */
    public NDArray productsByKey(NDArray queries, NDArray columns, int keyLength) {
        try (NDArray sizes = queries.getManager().create(new Shape(keyLength, 0))) {
            return run("productsByKey", queries, columns, sizes);
        }
    }

    /** The reverse of {@link #toKeys}: (B, N, T, F) to (B, N, T, F + T - 1). */
    public NDArray toPositions(NDArray byKey) {
        return run("toPositions", byKey);
    }

    /** Rotates pairs of x (…, H) by angles, rows (…, r) of cosines and sines in place of the pairs. */
    public NDArray rotate(NDArray x, NDArray rows, PairLayout layout) {
        if (layout == PairLayout.INTERLEAVED) {
            return run("rotateNeighbors", x, rows);
        }
        String name = layout == PairLayout.CONCATENATED ? "Halves" : "HalvesOfHalves";
        boolean isLarge = x.size() >= 1 << 17 && HostData.isHost(x.getDevice());
        return run((isLarge ? "rotateMany" : "rotate") + name, x, rows);
    }

    /** Like {@link #rotate} by angles of dimensions, rows (…, 2r) of their cosines, then their sines. */
    public NDArray rotateByDimension(NDArray x, NDArray rows, PairLayout layout) {
        int pairs = Math.toIntExact(rows.getShape().getLastDimension() / 4);
        int distance = layout.secondIndex(0, pairs) - layout.firstIndex(0, pairs);
        return run("rotateByDimension", x, rows, emptyWith(distance));
    }

    /** Returns W₂ · relu(W₁ · x + b₁) + b₂, (O, n), of columns x (I, n), without gradients; b₂ may be null. */
    public NDArray perceptron(NDArray x, NDArray weight1, NDArray bias1, NDArray weight2, NDArray bias2) {
        return run("perceptron", x, weight1, bias1, weight2, bias2);
    }

    /** Returns W₃ · silu(W₂ · silu(W₁ · x + b₁) + b₂) + b₃, (O, n), of columns x (I, n), without gradients. */
    public NDArray siluPerceptron(NDArray x, NDArray... parameters) {
        return run(
                "siluPerceptron",
                Stream.concat(Stream.of(x), Stream.of(parameters)).toArray(NDArray[]::new));
    }

    /** Returns x · sigmoid(x). */
    public NDArray silu(NDArray x) {
        return run("silu", x);
    }

    /** Returns x / 2 · (1 + tanh(√(2 / π) · (x + 0.044715 x³))). */
    public NDArray geluTanh(NDArray x) {
        return run("geluTanh", x);
    }

    /** Converts to FLOAT16, FLOAT32 or FLOAT64. Gradients pass. */
    NDArray toType(NDArray array, DataType type) {
        return run("toType", array, emptyWith(number(type)));
    }

    /** Looks up rows of a table (n, D) by integer indices; a row is NaN where the index is out of range. */
    NDArray lookUp(NDArray table, NDArray indices) {
        return run("lookUp", table, indices);
    }

    /** {@link #lookUp} for indices of either sign: the row of -i is that of i times signs, (1, D). */
    NDArray lookUpSigned(NDArray table, NDArray signs, NDArray indices) {
        return run("lookUpSigned", table, signs, indices);
    }

    /** Returns how many of some ascending numbers, (n), are below each number of an array, INT32. */
    NDArray countBelow(NDArray array, NDArray ascending) {
        return run("countBelow", array, ascending);
    }

    /** PyTorch's number of a data type. */
    private static int number(DataType type) {
        return switch (type) {
            case FLOAT16 -> 5;
            case FLOAT64 -> 7;
            case BFLOAT16 -> 15;
            default -> 6;
        };
    }

    /** An empty array with the specified sizes, which passes integers to a method. */
    private NDArray emptyWith(long... sizes) {
        return bySizes.computeIfAbsent(LongBuffer.wrap(sizes), key -> empty(new Shape(sizes).add(0)));
    }

    private NDArray method(String name) {
        return methods.computeIfAbsent(name, key -> {
            NDArray array = empty(new Shape(0));
            array.setName(METHOD + key);
            return array;
        });
    }

    /** An array that lives as long as the archive. */
    private NDArray empty(Shape shape) {
        return owned(model.getNDManager().create(shape));
    }

    private static NDArray owned(NDArray created) {
        NDScope.unregister(created);
        return created;
    }

    private NDArray run(String method, NDArray... arrays) {
        return results(method, arrays).singletonOrThrow();
    }

    private NDList results(String method, NDArray... arrays) {
        NDList inputs = new NDList(arrays.length + 1);
        try (Temporaries temporaries = new Temporaries()) {
            for (NDArray array : arrays) {
                String name = array == null ? null : array.getName();
                boolean isGrouped = name != null && GROUPED.matcher(name).find();
                NDArray input = array == null ? emptyWith(0) : array;
                inputs.add(isGrouped ? temporaries.add(array.reshape(array.getShape())) : input);
            }
            inputs.add(method(method));
            // not in training, DJL would run it in inference mode, in which no gradient is recorded
            return model.getBlock().forward(none, inputs, true);
        }
    }
}
