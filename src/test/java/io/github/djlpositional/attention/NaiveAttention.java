package io.github.djlpositional.attention;

import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;

/**
 * Attention as the papers write it, in doubles, one number at a time: what the block is compared with. It reads the
 * block's weights and shares none of its code; every formula is written here anew.
 */
final class NaiveAttention {

    private static final int H = EncodingType.HEAD_SIZE;

    private final EncodingType kind;
    private final MultiHeadAttentionBlock block;
    private final int heads;
    private final int size;

    NaiveAttention(EncodingType kind, MultiHeadAttentionBlock block) {
        this.kind = kind;
        this.block = block;
        heads = block.getHeadCount();
        size = block.getEmbeddingSize();
    }

    /** One sequence: queries (T, D), keys and values (F, D); seen[i][j] tells which query sees which key. */
    double[][] forward(double[][] queries, double[][] keys, double[][] values, boolean[][] seen) {
        return forward(0, queries, keys, values, seen);
    }

    /** The same for queries at the positions first, first + 1, …; keys are at 0, 1, …. */
    double[][] forward(int first, double[][] queries, double[][] keys, double[][] values, boolean[][] seen) {
        double[][][] weights = probabilities(first, queries, keys, seen);
        double[][] v = linear(block.getValueProjection(), values);
        double[][] together = new double[queries.length][size];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < queries.length; i++) {
                for (int j = 0; j < keys.length; j++) {
                    double[] value = valueAt(part(v[j], head), first + i, j);
                    for (int h = 0; h < H; h++) {
                        together[i][head * H + h] += weights[head][i][j] * value[h];
                    }
                }
            }
        }
        return linear(block.getResultProjection(), together);
    }

    /** What each query sees of each key, by head. */
    double[][][] probabilities(int first, double[][] queries, double[][] keys, boolean[][] seen) {
        double[][] q = linear(block.getQueryProjection(), queries);
        double[][] k = linear(block.getKeyProjection(), keys);
        int length = Math.max(first + q.length, k.length);
        double[][][] weights = new double[heads][q.length][k.length];
        for (int head = 0; head < heads; head++) {
            for (int i = 0; i < q.length; i++) {
                double sum = 0;
                for (int j = 0; j < k.length; j++) {
                    if (seen[i][j]) {
                        weights[head][i][j] =
                                Math.exp(score(head, part(q[i], head), part(k[j], head), first + i, j, length));
                        sum += weights[head][i][j];
                    }
                }
                for (int j = 0; j < k.length; j++) {
                    weights[head][i][j] /= sum;
                }
            }
        }
        return weights;
    }

    private static double[] part(double[] row, int head) {
        double[] part = new double[H];
        System.arraycopy(row, head * H, part, 0, H);
        return part;
    }

    private double score(int head, double[] q, double[] k, int i, int j, int length) {
        double scale = 1 / Math.sqrt(H);
        return switch (kind) {
            case NONE -> scale * dot(q, k);
            // pairs (0, 1) and (2, 3), frequencies 1 and 10000^(-1/2)
            case ROTARY -> scale * dot(interleaved(q, i, 10_000), interleaved(k, j, 10_000));
            // one pair (0, 1) of frequency 1; dimensions 2 and 3 stay
            case ROTARY_HALVES_PARTIAL -> scale * dot(turned(q, 0, 1, i), turned(k, 0, 1, j));
            case ROTARY_DYNAMIC -> {
                // factor 2, original length 4: base · (2 l / 4 - 1)^(4 / 2) beyond it
                double base = length > 4 ? 10_000 * Math.pow(2.0 * length / 4 - 1, 2) : 10_000;
                yield scale * dot(interleaved(q, i, base), interleaved(k, j, base));
            }
            // of two heads, the published slopes are 2^-4 and 2^-8
            case ALIBI -> scale * dot(q, k) - Math.pow(2, -4.0 * (head + 1)) * Math.abs(i - j);
            case T5 -> scale * dot(q, k) + matrix(parameter("biases"))[bucket(j - i)][head];
            case KERPLE -> {
                double a = Math.exp(parameter("logA").getArray().toDoubleArray()[head]);
                double b = Math.exp(parameter("logB").getArray().toDoubleArray()[head]);
                yield scale * dot(q, k) - b * Math.log1p(a * Math.abs(i - j));
            }
            case SHAW, SHAW_FAR -> scale * dot(q, plus(k, matrix(parameter("keys"))[clipped(j - i)]));
            case TRANSFORMER_XL -> {
                double[] content = matrix(parameter("contentBias"))[head];
                double[] position = matrix(parameter("positionBias"))[head];
                yield scale * (dot(plus(q, content), k) + dot(plus(q, position), projectedSinusoid(head, i - j)));
            }
        };
    }

    private double[] valueAt(double[] v, int i, int j) {
        return kind == EncodingType.SHAW || kind == EncodingType.SHAW_FAR
                ? plus(v, matrix(parameter("values"))[clipped(j - i)])
                : v;
    }

    private static double[] interleaved(double[] x, int position, double base) {
        return turned(turned(x, 0, 1, position), 2, 3, position / Math.sqrt(base));
    }

    private static double[] turned(double[] x, int first, int second, double angle) {
        double[] turned = x.clone();
        turned[first] = x[first] * Math.cos(angle) - x[second] * Math.sin(angle);
        turned[second] = x[second] * Math.cos(angle) + x[first] * Math.sin(angle);
        return turned;
    }

    /** T5's, of 8 buckets and a maximum distance of 6, both directions: 4 each, of which 2 are exact. */
    private static int bucket(int relative) {
        int distance = Math.abs(relative);
        int bucket = distance < 2 ? distance : Math.min(3, 2 + (int) (Math.log(distance / 2.0) / Math.log(3) * 2));
        return relative > 0 ? 4 + bucket : bucket;
    }

    private int clipped(int relative) {
        int most = kind == EncodingType.SHAW ? 2 : 40;
        return Math.max(-most, Math.min(most, relative)) + most;
    }

    private double[] projectedSinusoid(int head, int distance) {
        double[] sinusoid = new double[size];
        for (int pair = 0; pair < size / 2; pair++) {
            double angle = distance / Math.pow(10_000, 2.0 * pair / size);
            sinusoid[pair] = Math.sin(angle);
            sinusoid[size / 2 + pair] = Math.cos(angle);
        }
        double[][] projection = matrix(parameter("projection"));
        double[] projected = new double[H];
        for (int h = 0; h < H; h++) {
            projected[h] = dot(projection[head * H + h], sinusoid);
        }
        return projected;
    }

    private Parameter parameter(String name) {
        return block.getRelativeEncoding().getParameters().get(name);
    }

    private static double[][] matrix(Parameter parameter) {
        double[] flat = parameter.getArray().toDoubleArray();
        int width = Math.toIntExact(parameter.getShape().get(1));
        double[][] matrix = new double[flat.length / width][width];
        for (int i = 0; i < flat.length; i++) {
            matrix[Math.floorDiv(i, width)][i % width] = flat[i];
        }
        return matrix;
    }

    private static double[][] linear(Linear linear, double[][] x) {
        double[][] weight = matrix(linear.getParameters().get("weight"));
        double[] bias = linear.getParameters().get("bias").getArray().toDoubleArray();
        double[][] y = new double[x.length][weight.length];
        for (int row = 0; row < x.length; row++) {
            for (int unit = 0; unit < weight.length; unit++) {
                y[row][unit] = dot(weight[unit], x[row]) + bias[unit];
            }
        }
        return y;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static double[] plus(double[] a, double[] b) {
        double[] sum = new double[a.length];
        for (int i = 0; i < a.length; i++) {
            sum[i] = a[i] + b[i];
        }
        return sum;
    }
}
