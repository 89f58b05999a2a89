package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * Attention as the papers define it, in double, one number at a time. It reads the weights of a block and shares none
 * of its code.
 */
public final class NaiveAttention {

    private static final int H = EncodingType.HEAD_SIZE;

    private final EncodingType type;
    private final MultiHeadAttentionBlock block;
    private final int heads;
    private int[] positions;
    private int[] positionsOfKeys;
    private boolean[] hidden = {};
    private Added added = (head, query, key) -> 0;

    /** The parameters of the encoding that were read. */
    private final Map<String, double[][]> parameters = new HashMap<>();

    /** What a mask adds to the score of a head's query and key, both counted from 0: -infinity hides the key. */
    @FunctionalInterface
    public interface Added {
        double at(int head, int query, int key);
    }

    public NaiveAttention(EncodingType type, MultiHeadAttentionBlock block) {
        this.type = type;
        this.block = block;
        heads = block.options().headCount();
    }

    /** Sets what a mask adds to the scores. */
    public NaiveAttention with(Added mask) {
        added = mask;
        return this;
    }

    /** Sets the position of each token of a self-attention; by default it is the token's index. */
    public NaiveAttention at(int... ofTokens) {
        return at(ofTokens, ofTokens);
    }

    /** Sets the position of each query and of each key; null for their indices. */
    public NaiveAttention at(int[] ofQueries, int[] ofKeys) {
        positions = ofQueries;
        positionsOfKeys = ofKeys;
        return this;
    }

    /** Sets which keys a mask of keys hides; those after them are visible. */
    public NaiveAttention hiding(boolean... keys) {
        hidden = keys;
        return this;
    }

    private boolean isHidden(int key) {
        return key < hidden.length && hidden[key];
    }

    /** The number of tokens up to a key that are visible, or after all visible ones. */
    private int ordinal(int key) {
        int last = IntStream.range(0, hidden.length)
                .filter(each -> !hidden[each])
                .max()
                .orElse(-1);
        return (int) IntStream.rangeClosed(0, key)
                .filter(index -> !isHidden(index) || index > last)
                .count();
    }

    /** The same if the query were visible. */
    private int ordinalOfQuery(int query) {
        return ordinal(query - 1) + 1;
    }

    private int position(int query) {
        return positions == null ? query : positions[query];
    }

    private int positionOfKey(int key) {
        return positionsOfKeys == null ? key : positionsOfKeys[key];
    }

    /**
     * The output, (B, T, D), for queries (B, T, D) at the positions first, first + 1, … and keys (B, F, D) at 0, 1, …
     */
    public double[] forward(int first, NDArray queries, NDArray keys, NDArray values) {
        return IntStream.range(0, (int) queries.getShape().get(0))
                .mapToObj(batch -> forward(first, queries.get(batch), keys.get(batch), rows(values.get(batch))))
                .flatMap(Arrays::stream)
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    private double[][] forward(int first, NDArray queries, NDArray keys, double[][] values) {
        double[][][] weights = probabilities(first, rows(queries), rows(keys));
        double[][] v = linear(block.getValueProjection(), values);
        int width = block.getValueHeadSize();
        double[][] together = new double[weights[0].length][heads * width];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < together.length; i++) {
                for (int j = 0; j < v.length; j++) {
                    Pair at = new Pair(this, head, null, null, position(first + i), positionOfKey(j), null);
                    double[] value = part(v[j], head, width);
                    Double scale = block.options().valueScale();
                    value = Arrays.stream(value)
                            .map(each -> scale == null ? each : scale * each)
                            .toArray();
                    if (width == H) {
                        value = plus(value, type.addedValue(at));
                    }
                    for (int h = 0; h < width; h++) {
                        together[i][head * width + h] += weights[head][i][j] * value[h];
                    }
                }
            }
        }
        return linear(block.getResultProjection(), gated(together, rows(queries)));
    }

    private double[][] gated(double[][] results, double[][] queries) {
        MultiHeadAttentionBlock.OutputGate gate = block.options().outputGate();
        if (gate != null) {
            double[][] projected = linear(block.getGateProjection(), queries);
            int shared = block.options().outputGateByHead() == null ? 1 : block.getValueHeadSize();
            for (int i = 0; i < results.length; i++) {
                for (int unit = 0; unit < results[i].length; unit++) {
                    double power = Math.exp(projected[i][unit / shared]);
                    results[i][unit] *= switch (gate) {
                        case SIGMOID -> power / (1 + power);
                        case SOFTPLUS -> Math.log1p(power);
                    };
                }
            }
        }
        return results;
    }

    /** Whether the options let a query see a key, both counted from 0. */
    private boolean isVisible(int query, int key) {
        Integer window = block.options().window();
        Integer chunk = block.options().chunkSize();
        boolean isCausal = block.options().causal();
        boolean isNear = chunk == null || position(query) / chunk == positionOfKey(key) / chunk;
        if (window != null) {
            int distance = block.options().windowByPosition() != null
                    ? position(query) - positionOfKey(key)
                    : ordinalOfQuery(query) - ordinal(key);
            isNear = isCausal ? distance < window : Math.abs(distance) <= window / 2;
        }
        return isNear && (!isCausal || key <= query) && !isHidden(key);
    }

    /** The probabilities, (1, N, T, F), for queries (1, T, D) and keys (1, F, D), both from position 0. */
    public double[] probabilities(NDArray queries, NDArray keys) {
        return Arrays.stream(probabilities(0, rows(queries.get(0)), rows(keys.get(0))))
                .flatMap(Arrays::stream)
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    private double[][][] probabilities(int first, double[][] queries, double[][] keys) {
        double[][] q = linear(block.getQueryProjection(), queries);
        double[][] k = linear(block.getKeyProjection(), keys);
        double[][][] weights = new double[heads][q.length][k.length];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < q.length; i++) {
                double[] scores = new double[k.length];
                Arrays.fill(scores, Double.NEGATIVE_INFINITY);
                for (int j = 0; j < k.length; j++) {
                    if (isVisible(first + i, j)) {
                        double score = type.score(new Pair(
                                this,
                                head,
                                part(q[i], head, H),
                                part(k[j], head, H),
                                position(first + i),
                                positionOfKey(j),
                                new Tokens(queries[i], keys, first + i, j, this::isHidden)));
                        scores[j] = score + added.at(head, i, j);
                    }
                }
                weights[head][i] = softmax(scores);
            }
        }
        return weights;
    }

    /** The weights of scores: all 0 for a query that sees no key. */
    private static double[] softmax(double... scores) {
        double largest = Arrays.stream(scores).max().orElseThrow();
        double[] powers = Arrays.stream(scores)
                .map(score -> score == Double.NEGATIVE_INFINITY ? 0 : Math.exp(score - largest))
                .toArray();
        double sum = Math.max(1, Arrays.stream(powers).sum());
        return Arrays.stream(powers).map(power -> power / sum).toArray();
    }

    private ParameterList ofEncoding() {
        return block.getRelativeEncodings().get(0).getParameters();
    }

    private static double[] part(double[] row, int head, int width) {
        return Arrays.copyOfRange(row, head * width, (head + 1) * width);
    }

    /**
     * The tokens of a query and a key.
     *
     * @param query the input of the query, (D)
     * @param keys the inputs of all keys
     * @param i the index of the query
     * @param j the index of the key
     * @param isHidden whether a mask of keys hides a key
     */
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    public record Tokens(double[] query, double[][] keys, int i, int j, IntPredicate isHidden) {}

    /**
     * What the formula of an encoding reads.
     *
     * @param q the query of the head, (H)
     * @param k the key
     * @param i the position of the query
     * @param j the position of the key
     */
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    public record Pair(NaiveAttention attention, int head, double[] q, double[] k, int i, int j, Tokens tokens) {

        public int distance() {
            return Math.abs(i - j);
        }

        /** A number divided by √H. */
        public double scaled(double number) {
            return number / Math.sqrt(H);
        }

        /** The score without an encoding. */
        public double product() {
            return scaled(dot(q, k));
        }

        /** A parameter of the encoding: the rows of a matrix, or a vector as one row. */
        public double[][] parameter(String name) {
            return attention.parameters.computeIfAbsent(
                    name, key -> rows(attention.ofEncoding().get(key).getArray()));
        }

        /** The head's number of a parameter (N). */
        public double number(String name) {
            return parameter(name)[0][head];
        }

        /** The head's part of a projected vector, (H). */
        public double[] projected(String weight, String bias, double... vector) {
            return IntStream.range(head * H, (head + 1) * H)
                    .mapToDouble(
                            row -> dot(parameter(weight)[row], vector) + (bias == null ? 0 : parameter(bias)[0][row]))
                    .toArray();
        }

        /**
         * The head's output of fully connected layers with an activation between them, normalized if they have scales.
         */
        public double network(DoubleUnaryOperator activation, double... inputs) {
            double[] x = inputs;
            for (int layer = 1; has("weight" + layer); layer++) {
                double[] before =
                        layer == 1 ? x : Arrays.stream(x).map(activation).toArray();
                double[][] weight = parameter("weight" + layer);
                x = Arrays.stream(weight).mapToDouble(row -> dot(row, before)).toArray();
                x = has("bias" + layer) ? plus(x, parameter("bias" + layer)[0]) : x;
                if (has("scale" + layer)) {
                    x = normalized(x, parameter("scale" + layer)[0], parameter("offset" + layer)[0]);
                }
            }
            return x[head];
        }

        private boolean has(String name) {
            return attention.ofEncoding().contains(name);
        }
    }

    /** Layer normalization with PyTorch's default epsilon, which DJL takes as a float. */
    private static double[] normalized(double[] x, double[] scale, double... offset) {
        double mean = Arrays.stream(x).average().orElseThrow();
        double variance = Arrays.stream(x)
                .map(value -> Math.pow(value - mean, 2))
                .average()
                .orElseThrow();
        return IntStream.range(0, x.length)
                .mapToDouble(i -> (x[i] - mean) / Math.sqrt(variance + 1e-5f) * scale[i] + offset[i])
                .toArray();
    }

    /** The rows of a matrix, or a vector as one row. */
    private static double[][] rows(NDArray matrix) {
        double[] flat = matrix.toDoubleArray();
        int width = (int) matrix.getShape().getLastDimension();
        return IntStream.range(0, flat.length / width)
                .mapToObj(row -> Arrays.copyOfRange(flat, row * width, (row + 1) * width))
                .toArray(double[][]::new);
    }

    private static double[][] linear(Linear linear, double[][] x) {
        double[][] weight = rows(linear.getParameters().get("weight").getArray());
        double[] bias = linear.getParameters().get("bias").getArray().toDoubleArray();
        return Arrays.stream(x)
                .map(row -> IntStream.range(0, bias.length)
                        .mapToDouble(unit -> dot(weight[unit], row) + bias[unit])
                        .toArray())
                .toArray(double[][]::new);
    }

    public static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    public static double[] plus(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] + b[i]).toArray();
    }
}
