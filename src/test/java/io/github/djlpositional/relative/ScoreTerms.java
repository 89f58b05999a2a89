package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Goldens;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What encodings add to the scores of two heads of size 4, beside formulas; and the parameters of encodings. */
final class ScoreTerms {

    private static final int FIRST = 2;
    private static final int QUERIES = 5;
    private static final int KEYS = FIRST + QUERIES;

    private ScoreTerms() {}

    /** A bias by the head, from 0, and the positions of a query and a key. */
    @FunctionalInterface
    interface Bias {
        double at(int head, int i, int j);
    }

    /** A term that depends on the query and the key, (H) each. */
    @FunctionalInterface
    interface Term {
        double at(int head, double[] q, double[] k, int i, int j);
    }

    /** Checks the biases of the queries at the positions 2 to 6 for the keys at 0 to 6. */
    static void requireBiases(NDManager manager, Block block, Bias bias) {
        NDArray queries = manager.zeros(new Shape(1, QUERIES, 4), DataType.FLOAT64);
        NDArray biases = Forward.inferFrom(manager, FIRST, block, queries);
        assertThat(biases.getShape()).isEqualTo(new Shape(1, HEADS, QUERIES, KEYS));
        requireClose(biases, expected(bias), 1e-12);
    }

    /** Checks the biases of a block that takes the input of the attention, (1, 7, D), for all tokens. */
    static void requireBiasesOfInput(NDManager manager, Block block, NDArray input, Bias bias) {
        NDArray biases = Forward.inferFrom(manager, FIRST, block, input.get(":, {}:", FIRST), input);
        assertThat(biases.getShape()).isEqualTo(new Shape(1, HEADS, QUERIES, KEYS));
        requireClose(biases, expected(bias), 1e-12);
    }

    /** Checks the terms of random queries at the positions 2 to 6 for random keys at 0 to 6. */
    static void requireTerms(NDManager manager, Block block, Term term) {
        NDArray queries = numbers(manager, 11, DataType.FLOAT64, 1, HEADS, QUERIES, 4);
        NDArray keys = numbers(manager, 12, DataType.FLOAT64, 1, HEADS, KEYS, 4);
        double[][] q = rows(queries);
        double[][] k = rows(keys);
        NDArray terms = Forward.inferFrom(manager, FIRST, block, queries, keys);
        assertThat(terms.getShape()).isEqualTo(new Shape(1, HEADS, QUERIES, KEYS));
        double[] expected =
                expected((head, i, j) -> term.at(head, q[head * QUERIES + i - FIRST], k[head * KEYS + j], i, j));
        requireClose(terms, expected, 1e-12);
    }

    /** Expects inputs of other shapes to be rejected, and no array to remain open. */
    static void requireRejected(NDManager manager, Block block, String expected, Shape... shapes) {
        assertAll(Stream.of(shapes).map(shape -> {
            NDArray x = manager.zeros(shape);
            return rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x), shape, expected);
        }));
    }

    /** A bound of the error of a bias, in units of half an ulp of 1. */
    @FunctionalInterface
    interface ErrorBound {
        double units(double[] parameters, double distance, double bias);
    }

    /**
     * Checks the biases of one head at distances up to 100,003.
     *
     * @param golden a file with numbers of the parameters, a distance and the exact bias
     */
    static void requireGoldenBiases(
            NDManager manager, Block block, DataType type, String golden, List<String> parameters, ErrorBound bound) {
        int farthest = 100_003;
        block.initialize(manager, type, new Shape(1, -1, 4));
        NDArray x = manager.zeros(new Shape(1, 1, 4), type);
        int count = parameters.size();
        Map<List<String>, double[]> biases = new HashMap<>();
        for (String[] row : Goldens.rows(golden)) {
            double[] numbers = Stream.of(row).mapToDouble(Double::parseDouble).toArray();
            double[] byDistance = biases.computeIfAbsent(List.of(row).subList(0, count), key -> {
                for (int i = 0; i < count; i++) {
                    // FLOAT32 holds these numbers exactly
                    set(block, parameters.get(i), numbers[i]);
                }
                return doubles(Forward.inferFrom(manager, farthest, block, x));
            });
            int distance = (int) numbers[count];
            double bias = numbers[count + 1];
            double unit = type == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
            assertThat(byDistance[farthest - distance])
                    .as("%s", (Object) row)
                    .isCloseTo(bias, within(unit * bound.units(numbers, distance, bias)));
        }
    }

    private static double[] expected(Bias bias) {
        return IntStream.range(0, HEADS * QUERIES * KEYS)
                .mapToDouble(n -> bias.at(n / KEYS / QUERIES, FIRST + n / KEYS % QUERIES, n % KEYS))
                .toArray();
    }

    /**
     * The weights of an attention whose queries and keys are 0, so that its scores are the biases: those of a head for
     * the last of some tokens.
     */
    static double[] lastWeights(NDManager manager, MultiHeadAttentionBlock attention, int head, int tokens) {
        Shape input = new Shape(1, tokens, attention.getEmbeddingSize());
        attention.initialize(manager, DataType.FLOAT64, input);
        NDArray x = manager.zeros(input, DataType.FLOAT64);
        NDArray weights = attention.probabilities(new ParameterStore(manager, false), new NDList(x));
        return weights.get(0, head, tokens - 1).toDoubleArray();
    }

    static NDArray array(Block block, String parameter) {
        return block.getParameters().get(parameter).getArray();
    }

    /** The numbers of a parameter. */
    static double[] parameter(Block block, String name) {
        return doubles(array(block, name));
    }

    /** The rows of a parameter. */
    static double[][] rows(Block block, String name) {
        return rows(array(block, name));
    }

    private static double[][] rows(NDArray array) {
        double[] all = doubles(array);
        int width = (int) array.getShape().getLastDimension();
        return IntStream.range(0, all.length / width)
                .mapToObj(row -> Arrays.copyOfRange(all, row * width, (row + 1) * width))
                .toArray(double[][]::new);
    }

    /** W x + b with two parameters; null for no b. */
    static double[] linear(Block block, String weight, String bias, double... x) {
        double[] product = Arrays.stream(rows(block, weight))
                .mapToDouble(row -> NaiveAttention.dot(row, x))
                .toArray();
        return bias == null ? product : NaiveAttention.plus(product, parameter(block, bias));
    }

    /** Sets the numbers of a parameter. */
    static void set(Block block, String parameter, double... numbers) {
        NDArray array = array(block, parameter);
        array.getManager()
                .create(numbers, array.getShape())
                .toType(array.getDataType(), false)
                .copyTo(array);
    }

    /** Sets the numbers of a parameter to 0, 1, 2, …, so that looked up numbers are indices. */
    static void count(Block block, String parameter) {
        long size = array(block, parameter).size();
        set(block, parameter, IntStream.range(0, (int) size).asDoubleStream().toArray());
    }
}
