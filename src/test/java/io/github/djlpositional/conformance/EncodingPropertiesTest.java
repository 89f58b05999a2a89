package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Properties of absolute encodings of any size, convention, positions and data type, on each engine. There is no
 * tolerance without a learned scale: an output is one addition, which IEEE 754 defines to the last bit.
 */
class EncodingPropertiesTest extends OnEachEngine {

    private static final List<DataType> INDICES = List.of(DataType.UINT8, DataType.INT32, DataType.INT64);

    /** An encoding, and a sequence that fits its table: x is (leading…, length, size). */
    private record Case(
            SinusoidalEncoding encoding,
            int maxLength,
            int start,
            int length,
            Shape leading,
            DataType type,
            long seed) {

        static Case of(SplittableRandom random) {
            int maxLength = random.nextInt(1, 200);
            int length = random.nextInt(1, maxLength + 1);
            return new Case(
                    encoding(random),
                    maxLength,
                    random.nextInt(0, maxLength - length + 1),
                    length,
                    new Shape(random.longs(random.nextInt(0, 4), 1, 4).toArray()),
                    RandomCases.one(random, SmallBlocks.TYPES),
                    random.nextLong());
        }

        private static SinusoidalEncoding encoding(SplittableRandom random) {
            int size = random.nextInt(1, 40);
            OddSize oddSize = RandomCases.one(random, List.of(OddSize.values()));
            SinusoidalEncoding.Builder builder = SinusoidalEncoding.builder()
                    .setEmbeddingSize(size)
                    .optOddSize(oddSize)
                    .optLayout(RandomCases.one(random, List.of(PairLayout.INTERLEAVED, PairLayout.CONCATENATED)))
                    .optCosineFirst(random.nextBoolean());
            // 0.01 to a million
            double base = Math.pow(10, random.nextDouble(-2, 6));
            if (random.nextBoolean()) {
                return builder.optBase(base).build();
            }
            int pairs = oddSize == OddSize.ZERO_PADDED ? size / 2 : (size + 1) / 2;
            return builder.optFrequencies(Frequencies.timescales(pairs, random.nextDouble(0.1, 10), base))
                    .build();
        }

        PositionalEncodingBlock.Builder builder() {
            return PositionalEncodingBlock.builder()
                    .setEmbeddingSize(encoding.getEmbeddingSize())
                    .optMaxSequenceLength(maxLength)
                    .optEncoding(encoding);
        }

        Shape shape() {
            return leading.add(length, encoding.getEmbeddingSize());
        }

        NDArray input(NDManager manager) {
            double[] numbers =
                    new SplittableRandom(seed).doubles(shape().size(), -2, 2).toArray();
            return manager.create(numbers, shape()).toType(type, false);
        }

        /** Of all sequences, or of each sequence of the batch. */
        int[] explicitPositions(SplittableRandom random) {
            boolean isShared = leading.dimension() == 0 || random.nextBoolean();
            long count = isShared ? length : leading.get(0) * length;
            return random.ints(count, 0, maxLength).toArray();
        }

        NDArray array(NDManager manager, DataType type, int... positions) {
            NDArray all = manager.create(positions).toType(type, false);
            return positions.length == length ? all : all.reshape(-1, length);
        }

        FloatFormat format() {
            return DataTypes.formatOf(type);
        }
    }

    /** From a start, or at explicit positions of one sequence or of a batch. */
    @Test
    void addsOrReturnsTheNearestNumbersToTheExactOnes() {
        RandomCases.check(250, random -> {
            try (NDManager own = manager.newSubManager()) {
                Case tested = Case.of(random);
                NDArray x = tested.input(own);
                boolean isExplicit = random.nextBoolean();
                boolean add = isExplicit || random.nextBoolean();
                boolean isScaled = tested.type == DataType.FLOAT32 && random.nextBoolean();
                Float scale = isScaled ? (float) random.nextDouble(-1, 1) : null;
                PositionalEncodingBlock.Builder builder = tested.builder().optAddToInput(add);
                Block block = (isScaled ? builder.optLearnedScale(scale) : builder).build();
                block.initialize(own, tested.type, x.getShape());
                int[] positions = isExplicit
                        ? tested.explicitPositions(random)
                        : IntStream.range(tested.start, tested.start + tested.length)
                                .toArray();
                Object start = random.nextBoolean() ? (Object) tested.start : (Object) (long) tested.start;
                DataType type = RandomCases.one(random, random.nextBoolean() ? INDICES : SmallBlocks.TYPES);
                NDArray y = isExplicit
                        ? Forward.infer(own, block, x, tested.array(own, type, positions))
                        : Forward.inferFrom(own, start, block, x);
                int size = tested.encoding.getEmbeddingSize();
                assertThat(y.getShape()).isEqualTo(add ? x.getShape() : new Shape(1, tested.length, size));
                assertNearest(tested, scale, add ? doubles(x) : null, y, positions);
            }
        });
    }

    /**
     * Compares y with the encodings of positions, of one sequence or of as many as the batch has.
     *
     * @param scale null for none
     * @param x null if the encodings were returned
     */
    private static void assertNearest(Case tested, Float scale, double[] x, NDArray y, int... positions) {
        assertThat(y.getDataType()).isEqualTo(tested.type);
        int size = tested.encoding.getEmbeddingSize();
        double[] values = doubles(y);
        int ofBatch = values.length / (positions.length / tested.length);
        for (int i = 0; i < values.length; i++) {
            int position = positions[i / ofBatch * tested.length + i / size % tested.length];
            double row = tested.format().round(tested.encoding.value(position, i % size));
            double scaled = scale == null ? row : tested.format().round(scale * row);
            // the sum of two numbers of 11 or 24 bits is rounded the same from double's 53
            double expected = x == null ? scaled : tested.format().round(x[i] + scaled) + 0.0;
            // an engine may fuse the product with the scale into the sum, which may cancel: one ulp of a summand
            double ulp = scale == null || x == null ? 0 : Math.ulp((float) Math.max(Math.abs(x[i]), 1));
            assertThat(values[i]).as("%s at %s", tested, i).isEqualTo(expected, within(ulp));
        }
    }
}
