package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Properties of absolute encodings of any size, convention, positions and data type, on each engine. There is no
 * tolerance without a learned scale: an output is one addition, which IEEE 754 defines to the last bit.
 */
class EncodingPropertiesTest {

    private static final List<DataType> TYPES = List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64);
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

        @Override
        public String toString() {
            return encoding + ", maxLength " + maxLength + ", start " + start + ", x " + shape() + " " + type;
        }

        static Case of(SplittableRandom random, List<DataType> types) {
            int maxLength = random.nextInt(1, 200);
            int length = random.nextInt(1, maxLength + 1);
            return new Case(
                    encoding(random),
                    maxLength,
                    random.nextInt(0, maxLength - length + 1),
                    length,
                    new Shape(random.longs(random.nextInt(0, 4), 1, 4).toArray()),
                    RandomCases.one(random, types),
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

        /** A block with a table of random numbers, the same for each call. */
        LearnedPositionalEncodingBlock learned(NDManager manager) {
            int size = encoding.getEmbeddingSize();
            float[] table = floats(new SplittableRandom(~seed), maxLength * size);
            LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(size)
                    .optMaxSequenceLength(maxLength)
                    .build();
            block.initialize(manager, DataType.FLOAT32, shape());
            block.getTable().getArray().set(table);
            return block;
        }

        Shape shape() {
            return leading.add(length, encoding.getEmbeddingSize());
        }

        float[] numbers() {
            return floats(new SplittableRandom(seed), Math.toIntExact(shape().size()));
        }

        NDArray input(NDManager manager) {
            return manager.create(numbers(), shape()).toType(type, false);
        }

        FloatFormat format() {
            return DataTypes.formatOf(type);
        }
    }

    private static float[] floats(SplittableRandom random, int count) {
        float[] floats = new float[count];
        for (int i = 0; i < count; i++) {
            floats[i] = (float) random.nextDouble(-2, 2);
        }
        return floats;
    }

    private interface Property {
        void check(NDManager manager, SplittableRandom random);
    }

    private static void holds(int count, NDManager manager, Property property) {
        RandomCases.check(count, random -> {
            try (NDManager own = manager.newSubManager()) {
                property.check(own, random);
            }
        });
    }

    /** What is added at a position, before any scale. */
    @FunctionalInterface
    private interface Encoding {
        double value(int position, int dimension);
    }

    private static Encoding encodingOf(Case tested, Block block) {
        if (block instanceof LearnedPositionalEncodingBlock learned) {
            float[] table = learned.getTable().getArray().toFloatArray();
            return (position, dimension) -> table[position * tested.encoding.getEmbeddingSize() + dimension];
        }
        return (position, dimension) -> tested.format().round(tested.encoding.value(position, dimension));
    }

    @EngineTest
    void addsOrReturnsTheNearestNumbersToTheExactOnesFromAnyStart(NDManager engine) {
        holds(150, engine, (manager, random) -> {
            Case tested = Case.of(random, TYPES);
            NDArray x = tested.input(manager);
            boolean add = random.nextBoolean();
            Object start = random.nextBoolean() ? (Object) tested.start : (Object) (long) tested.start;
            PositionalEncodingBlock.Builder builder = tested.builder().optAddToInput(add);
            boolean isScaled = tested.type == DataType.FLOAT32 && random.nextBoolean();
            float scale = isScaled ? (float) random.nextDouble(-1, 1) : 1;
            Block block = (isScaled ? builder.optLearnedScale(scale) : builder).build();
            block.initialize(manager, tested.type, x.getShape());
            NDArray y = Forward.inferFrom(manager, start, block, x);
            int size = tested.encoding.getEmbeddingSize();
            assertThat(y.getShape()).isEqualTo(add ? x.getShape() : new Shape(1, tested.length, size));
            int[] positions =
                    IntStream.range(tested.start, tested.start + tested.length).toArray();
            assertNearest(tested, block, isScaled ? scale : null, add ? doubles(x) : null, y, positions);
        });
    }

    @EngineTest
    void addsTheRowsOfGivenPositionsOfOneSequenceOrABatch(NDManager engine) {
        holds(100, engine, (manager, random) -> {
            Case drawn = Case.of(random, TYPES);
            int batch = random.nextInt(1, 5);
            Shape leading = random.nextBoolean() ? new Shape(batch) : new Shape(batch, random.nextInt(1, 4));
            Case tested = new Case(drawn.encoding, drawn.maxLength, 0, drawn.length, leading, drawn.type, drawn.seed);
            boolean isLearned = tested.type == DataType.FLOAT32 && random.nextBoolean();
            Block block = isLearned ? tested.learned(manager) : tested.builder().build();
            // a learned table has integer positions only
            DataType type = RandomCases.one(random, isLearned || random.nextBoolean() ? INDICES : TYPES);
            boolean isShared = random.nextBoolean();
            int[] positions = random.ints((isShared ? 1 : batch) * (long) tested.length, 0, tested.maxLength)
                    .toArray();
            Shape shape = isShared ? new Shape(tested.length) : new Shape(batch, tested.length);
            NDArray given = manager.create(positions).reshape(shape).toType(type, false);
            NDArray x = tested.input(manager);
            NDArray y = Forward.infer(manager, block, x, given);
            assertThat(y.getShape()).isEqualTo(x.getShape());
            assertNearest(tested, block, null, doubles(x), y, positions);
        });
    }

    /**
     * Compares y with the encodings of positions, of one sequence or of as many as the batch has.
     *
     * @param scale null for none
     * @param x null if the encodings were returned
     */
    private static void assertNearest(Case tested, Block block, Float scale, double[] x, NDArray y, int... positions) {
        assertThat(y.getDataType()).isEqualTo(tested.type);
        Encoding encoding = encodingOf(tested, block);
        int size = tested.encoding.getEmbeddingSize();
        double[] values = doubles(y);
        int ofBatch = values.length / (positions.length / tested.length);
        for (int i = 0; i < values.length; i++) {
            int position = positions[i / ofBatch * tested.length + i / size % tested.length];
            double row = encoding.value(position, i % size);
            double scaled = scale == null ? row : tested.format().round(scale * row);
            // the sum of two numbers of 11 or 24 bits is rounded the same from double's 53
            double expected = x == null ? scaled : tested.format().round(x[i] + scaled) + 0.0;
            // an engine may fuse the product with the scale into the sum, which may cancel: one ulp of a summand
            double ulp = scale == null || x == null ? 0 : Math.ulp((float) Math.max(Math.abs(x[i]), 1));
            assertThat(values[i]).as("%s at %s", tested, i).isEqualTo(expected, within(ulp));
        }
    }
}
