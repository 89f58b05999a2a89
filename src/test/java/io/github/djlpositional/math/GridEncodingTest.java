package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class GridEncodingTest {

    static GridEncoding named(String convention, int axes, int channels) {
        return switch (convention) {
            case "tensor2tensor" -> GridEncoding.tensor2tensor(axes, channels, 1, 10_000);
            case "multidim" -> GridEncoding.multidim(axes, channels);
            case "visionTransformer" -> GridEncoding.visionTransformer(channels);
            case "simpleVit" -> GridEncoding.simpleVit(channels);
            default -> throw new IllegalArgumentException(convention);
        };
    }

    @Test
    void followsThePublishedCode() {
        // reference: goldens/grids.csv, the published code's formulas in mpmath (src/test/python)
        for (String[] row : Goldens.rows("grids.csv")) {
            GridEncoding encoding = named(row[0], Integer.parseInt(row[1]), Integer.parseInt(row[2]));
            double[] place = Arrays.stream(row[3].split(" ", -1))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
            double value = encoding.value(Integer.parseInt(row[4]), place);
            assertThat(Goldens.doubleUlps(value, new BigDecimal(row[5])))
                    .as("%s", (Object) row)
                    .isLessThanOrEqualTo(2);
        }
    }

    @Test
    void writesChannelsLastAndFirst() {
        GridEncoding encoding = GridEncoding.multidim(3, 10);
        int[] sizes = {2, 3, 4};
        ByteBuffer last = ByteBuffer.allocate(240 * 4).order(ByteOrder.nativeOrder());
        encoding.write(sizes, false, 0, 2, FloatFormat.FLOAT32, last);
        ByteBuffer first = ByteBuffer.allocate(240 * 4).order(ByteOrder.nativeOrder());
        encoding.write(sizes, true, 0, 10, FloatFormat.FLOAT32, first);
        for (int d = 0; d < 2; d++) {
            for (int h = 0; h < 3; h++) {
                for (int w = 0; w < 4; w++) {
                    for (int c = 0; c < 10; c++) {
                        float expected = (float) encoding.value(c, d, h, w);
                        int cell = (d * 3 + h) * 4 + w;
                        assertThat(last.getFloat((cell * 10 + c) * 4)).isEqualTo(expected);
                        assertThat(first.getFloat((c * 24 + cell) * 4)).isEqualTo(expected);
                    }
                }
            }
        }
    }

    @Test
    void writesPartsOfTheFirstAxis() {
        GridEncoding encoding = GridEncoding.visionTransformer(8);
        ByteBuffer whole = ByteBuffer.allocate(5 * 3 * 8 * 8);
        encoding.write(new int[] {5, 3}, false, 0, 5, FloatFormat.FLOAT64, whole);
        ByteBuffer part = ByteBuffer.allocate(2 * 3 * 8 * 8);
        encoding.write(new int[] {5, 3}, false, 2, 2, FloatFormat.FLOAT64, part);
        assertThat(part).isEqualTo(whole.slice(2 * 3 * 8 * 8, 2 * 3 * 8 * 8));
    }

    @Test
    void equalsOthersOfTheSameValues() {
        assertThat(GridEncoding.visionTransformer(8))
                .isEqualTo(GridEncoding.visionTransformer(8))
                .hasSameHashCodeAs(GridEncoding.visionTransformer(8))
                .isNotEqualTo(GridEncoding.simpleVit(8))
                .isNotEqualTo(GridEncoding.visionTransformer(12));
        // the same sines and cosines, of the column first in one and of the row first in the other
        assertThat(GridEncoding.simpleVit(8)).isNotEqualTo(GridEncoding.tensor2tensor(2, 8, 1, 10_000));
        // one channel less, which is the last cosine
        assertThat(GridEncoding.multidim(2, 7)).isNotEqualTo(GridEncoding.multidim(2, 8));
    }

    @Test
    void printsItsSettings() {
        assertThat(GridEncoding.visionTransformer(8)).hasToString("GridEncoding.visionTransformer(channels=8)");
    }
}
