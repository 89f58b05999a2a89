package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.reals;
import static io.github.djlpositional.support.Goldens.requireFloatUlps;
import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.math.QueryScale.FloorLogarithm;
import io.github.djlpositional.math.QueryScale.LearnedLogN;
import io.github.djlpositional.math.QueryScale.LogN;
import io.github.djlpositional.support.Goldens;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The factors of queries: of Llama 4 and Ministral 3, of Qwen, and of Scalable-Softmax. */
class QueryScaleTest implements ArgumentsContract<QueryScale> {

    @Override
    public List<QueryScale> distinctValues() {
        return List.of(
                new FloorLogarithm(0.1, 8192),
                new FloorLogarithm(0.2, 8192),
                new FloorLogarithm(0.1, 4096),
                new FloorLogarithm(0.1, 8192, 0),
                new LogN(2048),
                new LogN(4096),
                new LearnedLogN(0.43),
                new LearnedLogN(0.5));
    }

    @Override
    public QueryScale fromArguments(Map<?, ?> arguments) {
        return QueryScale.fromArguments(arguments);
    }

    private static QueryScale scale(String kind, double... parameters) {
        return switch (kind) {
            case "logN" -> new LogN((int) parameters[0]);
            case "learnedLogN" -> new LearnedLogN(parameters[0]);
            case "floorLogarithm" -> new FloorLogarithm(parameters[0], parameters[1]);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** The formulas in 50-digit arithmetic. Two logarithms within one ulp each and a quotient, all in about [1, 2). */
    @Test
    void factorsAreWithinTwoUlpsAndTheirFloatsAlmostTheNearest() {
        for (String[] row : Goldens.rows("query_scales.csv")) {
            QueryScale scale = scale(row[0], reals(row[1]));
            double position = Double.parseDouble(row[2]);
            requireUlps(scale.factor(position), row[3], 2, row);
            ByteBuffer out = ByteBuffer.allocate(2 * Float.BYTES);
            scale.write(new double[] {0, position}, FloatFormat.FLOAT32, out);
            requireFloatUlps(out.getFloat(Float.BYTES), row[3], 0.501, row);
        }
    }

    /** The offset is 1 in Llama 4 and 0 in Ministral 3: position 8191 is the last without a factor there. */
    @Test
    void theOffsetIsOneByDefault() {
        assertThat(new FloorLogarithm(0.1, 8192).offset()).isEqualTo(1);
        assertThat(new FloorLogarithm(0.1, 8192).factor(8191)).isGreaterThan(1);
        assertThat(new FloorLogarithm(0.1, 8192, 0).factor(8191)).isEqualTo(1);
    }

    @Test
    void aRowIsOneFactor() {
        assertThat(new LogN(8).width()).isEqualTo(1);
    }

    @Test
    void rejectsArgumentsOutOfRange() {
        assertAll(
                rejected(() -> new FloorLogarithm(-0.1, 8192), "coefficient", -0.1),
                rejected(() -> new FloorLogarithm(Double.POSITIVE_INFINITY, 8192), "coefficient", "Infinity"),
                rejected(() -> new FloorLogarithm(0.1, 0), "length", 0.0),
                rejected(() -> new FloorLogarithm(0.1, 8192, -1), "offset", -1),
                rejected(() -> new LogN(1), "trainedLength", 1, 2),
                rejected(() -> new LearnedLogN(Double.NaN), "initialTemperature", Double.NaN),
                rejected(() -> new LearnedLogN(Double.POSITIVE_INFINITY), "initialTemperature", "Infinity"));
    }

    @Test
    void rejectsAnUnknownType() {
        assertAll(rejected(
                () -> QueryScale.fromArguments(Map.of("type", "cubic")),
                "type",
                "cubic",
                "FloorLogarithm",
                "LogN",
                "LearnedLogN"));
    }

    @Test
    void rejectsPositionsThatAreNegativeOrNotFinite() {
        assertAll(
                rejected(() -> new LogN(8).factor(-1), "position", -1.0),
                rejected(() -> new LogN(8).factor(Double.POSITIVE_INFINITY), "position", "Infinity"),
                rejected(() -> new LearnedLogN(0.43).factor(-1), "position", -1.0),
                rejected(() -> new FloorLogarithm(0.1, 8192).factor(Double.NaN), "position", Double.NaN));
    }

    /** Three floats of four bytes. */
    @Test
    void rejectsABufferThatIsTooSmall() {
        ByteBuffer small = ByteBuffer.allocate(8);
        assertAll(rejected(() -> new LogN(8).write(new double[3], FloatFormat.FLOAT32, small), "buffer", 8, 3, 12));
    }
}
