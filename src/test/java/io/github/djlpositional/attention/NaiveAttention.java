package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.core.Linear;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;

/**
 * Attention as the papers define it, in double, one number at a time. It reads the weights of a block and shares none
 * of its code.
 */
final class NaiveAttention {

    private static final int H = EncodingType.HEAD_SIZE;

    private final EncodingType type;
    private final MultiHeadAttentionBlock block;
    private final int heads;
    private final int size;
    private int[] positions;
    private Added added = (head, query, key) -> 0;
    private DoubleUnaryOperator cap = score -> score;

    /** The parameters of the encoding that were read. */
    private final Map<String, double[][]> parameters = new HashMap<>();

    /** Whether a query sees a key, both counted from 0. */
    @FunctionalInterface
    interface Visible {
        boolean test(int query, int key);
    }

    /** What a mask adds to the score of a head's query and key, both counted from 0. */
    @FunctionalInterface
    interface Added {
        double at(int head, int query, int key);
    }

    NaiveAttention(EncodingType type, MultiHeadAttentionBlock block) {
        this.type = type;
        this.block = block;
        heads = block.settings().headCount();
        size = block.getEmbeddingSize();
    }

    /** Sets what a mask adds to the scores. */
    NaiveAttention with(Added mask) {
        added = mask;
        return this;
    }

    /** Sets the position of each token of a self-attention; by default it is the token's index. */
    NaiveAttention at(int... given) {
        positions = given;
        return this;
    }

    private int position(int index) {
        return positions == null ? index : positions[index];
    }

    /** Limits each score smoothly, before any mask. */
    NaiveAttention capped(double limit) {
        cap = score -> limit * Math.tanh(score / limit);
        return this;
    }

    /**
     * The output, (B, T, D), for queries (B, T, D) at the positions first, first + 1, … and keys (B, F, D) at 0, 1, …
     */
    double[] forward(int first, NDArray queries, NDArray keys, NDArray values, Visible visible) {
        return IntStream.range(0, (int) queries.getShape().get(0))
                .mapToObj(
                        batch -> forward(first, queries.get(batch), keys.get(batch), rows(values.get(batch)), visible))
                .flatMap(Arrays::stream)
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    private double[][] forward(int first, NDArray queries, NDArray keys, double[][] values, Visible visible) {
        double[][][] weights = probabilities(first, rows(queries), rows(keys), visible);
        double[][] v = linear(block.getValueProjection(), values);
        double[][] together = new double[weights[0].length][size];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < together.length; i++) {
                for (int j = 0; j < v.length; j++) {
                    double[] value = valueAt(part(v[j], head), position(first + i), position(j));
                    for (int h = 0; h < H; h++) {
                        together[i][head * H + h] += weights[head][i][j] * value[h];
                    }
                }
            }
        }
        return linear(block.getResultProjection(), together);
    }

    /** The probabilities, (1, N, T, F), for queries (1, T, D) and keys (1, F, D), both from position 0. */
    double[] probabilities(NDArray queries, NDArray keys, Visible visible) {
        return Arrays.stream(probabilities(0, rows(queries.get(0)), rows(keys.get(0)), visible))
                .flatMap(Arrays::stream)
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    private double[][][] probabilities(int first, double[][] queries, double[][] keys, Visible visible) {
        double[][] q = linear(block.getQueryProjection(), queries);
        double[][] k = linear(block.getKeyProjection(), keys);
        // keys that no query sees are padding
        int tokens = (int) IntStream.range(0, k.length)
                .filter(j -> IntStream.range(0, q.length).anyMatch(i -> visible.test(i, j)))
                .count();
        int length = Math.max(first + q.length, tokens);
        double[][][] weights = new double[heads][q.length][k.length];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < q.length; i++) {
                double sum = 0;
                for (int j = 0; j < k.length; j++) {
                    if (visible.test(i, j)) {
                        double score = score(
                                head, part(q[i], head), part(k[j], head), position(first + i), position(j), length);
                        weights[head][i][j] = Math.exp(cap.applyAsDouble(score) + added.at(head, i, j));
                        sum += weights[head][i][j];
                    }
                }
                for (int j = 0; j < k.length; j++) {
                    // a query that sees no key has no weights
                    weights[head][i][j] /= sum == 0 ? 1 : sum;
                }
            }
        }
        return weights;
    }

    private static double[] part(double[] row, int head) {
        return Arrays.copyOfRange(row, head * H, (head + 1) * H);
    }

    private double score(int head, double[] q, double[] k, int i, int j, int length) {
        double scale = 1 / Math.sqrt(H);
        return switch (type) {
            case NONE -> scale * dot(q, k);
            // pairs (0, 1) and (2, 3), frequencies 1 and 10000^(-1/2)
            case ROTARY -> scale * dot(interleaved(q, i, 10_000), interleaved(k, j, 10_000));
            // one pair (0, 1) of frequency 1; dimensions 2 and 3 stay
            case ROTARY_HALVES_PARTIAL -> scale * dot(rotated(q, 0, 1, i), rotated(k, 0, 1, j));
            // one pair (2, 3), scaled by 0.4 / 1.4 to the power of the distance over 1024
            case ROTARY_XPOS -> {
                double kept = q[0] * k[0] + q[1] * k[1];
                double turned = dot(rotated(q, 2, 3, i), rotated(k, 2, 3, j)) - kept;
                yield scale * (kept + turned * Math.pow(0.4 / 1.4, (i - j) / 1024.0));
            }
            case ROTARY_DYNAMIC -> {
                // factor 2, original length 4: base · (2 l / 4 - 1)^(4 / 2) beyond it
                double base = length > 4 ? 10_000 * Math.pow(2.0 * length / 4 - 1, 2) : 10_000;
                yield scale * dot(interleaved(q, i, base), interleaved(k, j, base));
            }
            // of two heads, the published slopes are 2^-4 and 2^-8
            case ALIBI -> scale * dot(q, k) - Math.pow(2, -4.0 * (head + 1)) * Math.abs(i - j);
            case ALIBI_LEARNED -> scale * (dot(q, k) - Math.exp(parameter("logSlopes")[0][head]) * Math.abs(i - j));
            case T5 -> scale * dot(q, k) + parameter("biases")[bucket(j - i)][head];
            case KERPLE -> {
                double a = Math.exp(parameter("logA")[0][head]);
                double b = Math.exp(parameter("logB")[0][head]);
                yield scale * dot(q, k) - b * Math.log1p(a * Math.abs(i - j));
            }
            case KERPLE_POWER -> {
                double a = Math.exp(parameter("logA")[0][head]);
                double power = 2 / (1 + Math.exp(-parameter("logitP")[0][head]));
                yield scale * dot(q, k) - a * Math.pow(Math.abs(i - j), power);
            }
            // frequencies 1, 100^(-1/3) and 100^(-2/3); head h of two is divided by 8 h / 2
            case SANDWICH -> {
                double cosines = IntStream.range(0, 3)
                        .mapToDouble(pair -> Math.cos((i - j) / Math.pow(100, pair / 3.0)))
                        .sum();
                yield scale * dot(q, k) + cosines / (4.0 * (head + 1));
            }
            case FIRE -> {
                double c = parameter("c")[0][0];
                double longest = Math.max(i, Math.abs(3.3 * parameter("multiplier")[0][0]));
                double share = Math.log(Math.abs(c * (i - j)) + 1) / (Math.log(Math.abs(c * longest) + 1) + 1e-6);
                yield scale * dot(q, k) + network(x -> Math.max(0, x), 2, share)[head];
            }
            case DISTANCE_NETWORK -> {
                double logarithm = Math.signum(i - j) * Math.log(Math.abs(i - j) + 1);
                yield scale * dot(q, k) + network(x -> x / (1 + Math.exp(-x)), 3, logarithm)[head];
            }
            // position 0 is a class token; the other positions are the cells of a window of 1366 rows of 3
            case WINDOW -> {
                double[][] biases = parameter("biases");
                int cells = biases.length - 3;
                int row = i == 0
                        ? (j == 0 ? cells + 2 : cells)
                        : j == 0 ? cells + 1 : ((i - 1) / 3 - (j - 1) / 3 + 1365) * 5 + (i - 1) % 3 - (j - 1) % 3 + 2;
                yield scale * dot(q, k) + biases[row][head];
            }
            // trained with a window of 5 rows of 4
            case WINDOW_NETWORK -> {
                double y = logarithmic((i / 3 - j / 3) * 8 / 4.0);
                double x = logarithmic((i % 3 - j % 3) * 8 / 3.0);
                double logit = network(z -> Math.max(0, z), 2, y, x)[head];
                yield scale * dot(q, k) + 16 / (1 + Math.exp(-logit));
            }
            case WINDOW_VECTORS ->
                scale * dot(q, k)
                        + dot(q, parameter("rows")[i / 3 - j / 3 + 1365])
                        + dot(q, parameter("columns")[i % 3 - j % 3 + 2]);
            case SHAW, SHAW_FAR -> scale * dot(q, plus(k, parameter("keys")[clipped(j - i)]));
            // scale 1 / sqrt(3 · 4)
            case DISENTANGLED -> {
                double[] position = parameter("vectors")[disentangledRow(i - j)];
                double toPosition = dot(q, projected("key", head, position));
                double toContent = dot(k, projected("query", head, position));
                yield (dot(q, k) + toPosition + toContent) / Math.sqrt(12);
            }
            case TRANSFORMER_XL -> {
                double[] content = parameter("contentBias")[head];
                double[] position = parameter("positionBias")[head];
                yield scale * (dot(plus(q, content), k) + dot(plus(q, position), projectedSinusoid(head, i - j)));
            }
        };
    }

    private double[] valueAt(double[] v, int i, int j) {
        return type == EncodingType.SHAW || type == EncodingType.SHAW_FAR
                ? plus(v, parameter("values")[clipped(j - i)])
                : v;
    }

    private static double[] interleaved(double[] x, int position, double base) {
        return rotated(rotated(x, 0, 1, position), 2, 3, position / Math.sqrt(base));
    }

    private static double[] rotated(double[] x, int first, int second, double angle) {
        double[] rotated = x.clone();
        rotated[first] = x[first] * Math.cos(angle) - x[second] * Math.sin(angle);
        rotated[second] = x[second] * Math.cos(angle) + x[first] * Math.sin(angle);
        return rotated;
    }

    /** T5's bucket with 8 buckets and a maximum distance of 6, both directions: 4 each, of which 2 are exact. */
    private static int bucket(int relative) {
        int distance = Math.abs(relative);
        int bucket = distance < 2 ? distance : Math.min(3, 2 + (int) (Math.log(distance / 2.0) / Math.log(3) * 2));
        return relative > 0 ? 4 + bucket : bucket;
    }

    private int clipped(int relative) {
        int most = type == EncodingType.SHAW ? 2 : 40;
        return Math.max(-most, Math.min(most, relative)) + most;
    }

    /**
     * DeBERTa V2's bucket with 6 buckets on each side and a maximum distance of 12: up to 3, each distance has its own.
     */
    private static int disentangledRow(int difference) {
        int distance = Math.abs(difference);
        int bucket = distance <= 3 ? distance : 3 + (int) Math.ceil(Math.log(distance / 3.0) / Math.log(11 / 3.0) * 2);
        return 6 + Math.max(-6, Math.min(5, difference < 0 ? -bucket : bucket));
    }

    private double[] projected(String name, int head, double... vector) {
        double[][] weight = parameter(name + "Weight");
        double[] bias = parameter(name + "Bias")[0];
        return IntStream.range(head * H, (head + 1) * H)
                .mapToDouble(row -> dot(weight[row], vector) + bias[row])
                .toArray();
    }

    private double[] projectedSinusoid(int head, int distance) {
        double[] sinusoid = new double[size];
        for (int pair = 0; pair < size / 2; pair++) {
            double angle = distance / Math.pow(10_000, 2.0 * pair / size);
            sinusoid[pair] = Math.sin(angle);
            sinusoid[size / 2 + pair] = Math.cos(angle);
        }
        double[][] projection = parameter("projection");
        return IntStream.range(head * H, (head + 1) * H)
                .mapToDouble(row -> dot(projection[row], sinusoid))
                .toArray();
    }

    private static double logarithmic(double share) {
        return Math.signum(share) * Math.log(1 + Math.abs(share)) / Math.log(2) / 3;
    }

    /** Fully connected layers with an activation between them. */
    private double[] network(DoubleUnaryOperator activation, int layers, double... inputs) {
        double[] x = inputs;
        for (int layer = 1; layer <= layers; layer++) {
            double[] before = layer == 1 ? x : Arrays.stream(x).map(activation).toArray();
            double[][] weight = parameter("weight" + layer);
            x = Arrays.stream(weight).mapToDouble(row -> dot(row, before)).toArray();
            boolean hasBias = !(type == EncodingType.WINDOW_NETWORK && layer == layers);
            x = hasBias ? plus(x, parameter("bias" + layer)[0]) : x;
            if (type == EncodingType.DISTANCE_NETWORK && layer < layers) {
                x = normalized(x, parameter("scale" + layer)[0], parameter("offset" + layer)[0]);
            }
        }
        return x;
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

    private double[][] parameter(String name) {
        return parameters.computeIfAbsent(
                name,
                key -> rows(block.getRelativeEncoding().getParameters().get(key).getArray()));
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

    private static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    private static double[] plus(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] + b[i]).toArray();
    }
}
