package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
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
                    .optLayout(RandomCases.one(random, List.of(PairLayout.values())))
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

    private static double[] doubles(NDArray array) {
        return array.toType(DataType.FLOAT64, false).toDoubleArray();
    }

    /** Steps of a sequence. */
    private static NDArray rows(NDArray x, int from, int to) {
        return x.get(NDIndex.sliceAxis(x.getShape().dimension() - 2, from, to));
    }

    private interface Property {
        void check(NDManager manager, SplittableRandom random) throws Exception;
    }

    private static void holds(int usual, NDManager manager, Property property) {
        RandomCases.check(usual, random -> {
            try (NDManager own = manager.newSubManager()) {
                property.check(own, random);
            }
        });
    }

    @EngineTest
    void addsOrReturnsTheNearestNumbersToTheExactOnes(NDManager engine) {
        holds(150, engine, (manager, random) -> {
            Case tested = Case.of(random, TYPES);
            NDArray x = tested.input(manager);
            double[] given = doubles(x);
            boolean add = random.nextBoolean();
            Object start = random.nextBoolean() ? (Object) tested.start : (Object) (long) tested.start;
            PositionalEncodingBlock.Builder builder = tested.builder().optAddToInput(add);
            boolean isScaled = tested.type == DataType.FLOAT32 && random.nextBoolean();
            float scale = isScaled ? (float) random.nextDouble(-1, 1) : 1;
            Block block = (isScaled ? builder.optLearnedScale(scale) : builder).build();
            block.initialize(manager, tested.type, x.getShape());
            NDArray y = Forward.inferFrom(manager, start, block, x);
            assertThat(y.getDataType()).isEqualTo(tested.type);
            int size = tested.encoding.getEmbeddingSize();
            assertThat(y.getShape()).isEqualTo(add ? x.getShape() : new Shape(1, tested.length, size));
            double[] values = doubles(y);
            for (int i = 0; i < values.length; i++) {
                int position = tested.start + i / size % tested.length;
                double row = tested.format().round(tested.encoding.value(position, i % size));
                double scaled = tested.format().round(scale * row);
                // the sum of two numbers of 11 or 24 bits is rounded the same from double's 53
                double expected = add ? tested.format().round(given[i] + scaled) + 0.0 : scaled;
                // an engine may fuse the product with the scale into the sum, which may cancel: one ulp of a summand
                double ulp = Math.ulp((float) Math.max(Math.abs(given[i]), 1));
                assertThat(values[i]).as("%s at %s", tested, i).isEqualTo(expected, within(isScaled && add ? ulp : 0));
            }
        });
    }

    /** A sinusoidal or a learned encoding. */
    private static Block anyBlock(NDManager manager, Case tested, SplittableRandom random) {
        return tested.type == DataType.FLOAT32 && random.nextBoolean()
                ? tested.learned(manager)
                : tested.builder().build();
    }

    @EngineTest
    void encodesPartsAsTheWhole(NDManager engine) {
        holds(100, engine, (manager, random) -> {
            Case tested = Case.of(random, TYPES);
            Block block = anyBlock(manager, tested, random);
            NDArray x = tested.input(manager);
            NDArray whole = Forward.inferFrom(manager, tested.start, block, x);
            int from = 0;
            while (from < tested.length) {
                int to = random.nextInt(from + 1, tested.length + 1);
                NDArray part = Forward.inferFrom(manager, tested.start + from, block, rows(x, from, to));
                assertThat(doubles(part))
                        .as("%s, %s to %s", tested, from, to)
                        .containsExactly(doubles(rows(whole, from, to)));
                from = to;
            }
        });
    }

    private static int[] permutation(SplittableRandom random, int length) {
        int[] order = new int[length];
        for (int i = 0; i < length; i++) {
            int at = random.nextInt(i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        return order;
    }

    @EngineTest
    void encodesPermutedPositionsAsPermutedRows(NDManager engine) {
        holds(200, engine, (manager, random) -> {
            Case tested = Case.of(random, TYPES);
            Block block = anyBlock(manager, tested, random);
            // a learned table has integer positions only
            DataType indices = block instanceof PositionalEncodingBlock && random.nextBoolean()
                    ? RandomCases.one(random, TYPES)
                    : RandomCases.one(random, INDICES);
            int[] order = random.nextBoolean()
                    ? permutation(random, tested.length)
                    : IntStream.range(0, tested.length).toArray();
            NDArray positions = manager.create(order).add(tested.start).toType(indices, false);
            NDArray zeros = tested.input(manager).mul(0);
            double[] inOrder = doubles(Forward.inferFrom(manager, tested.start, block, zeros));
            double[] permuted = doubles(Forward.infer(manager, block, zeros, positions));
            int size = tested.encoding.getEmbeddingSize();
            int sequence = tested.length * size;
            for (int i = 0; i < permuted.length; i++) {
                int row = order[i % sequence / size];
                assertThat(permuted[i])
                        .as("%s, positions %s, at %s", tested, indices, i)
                        .isEqualTo(inOrder[i / sequence * sequence + row * size + i % size]);
            }
        });
    }

    @EngineTest
    void encodesABatchOfPositionsAsItsSequences(NDManager engine) {
        holds(60, engine, (manager, random) -> {
            Case drawn = Case.of(random, TYPES);
            int batch = random.nextInt(1, 5);
            Shape leading = random.nextBoolean() ? new Shape(batch) : new Shape(batch, random.nextInt(1, 4));
            Case tested = new Case(drawn.encoding, drawn.maxLength, 0, drawn.length, leading, drawn.type, drawn.seed);
            Block block = anyBlock(manager, tested, random);
            NDArray x = tested.input(manager);
            int[] positions = random.ints((long) batch * tested.length, 0, tested.maxLength)
                    .toArray();
            NDArray given = manager.create(positions).reshape(batch, tested.length);
            NDArray together = Forward.infer(manager, block, x, given);
            for (int i = 0; i < batch; i++) {
                assertThat(doubles(together.get(i)))
                        .as("%s, sequence %s", tested, i)
                        .containsExactly(doubles(Forward.infer(manager, block, x.get(i), given.get(i))));
            }
        });
    }

    @EngineTest
    void gradientOfTheInputEqualsThatOfTheOutput(Engine engine, NDManager base) {
        // MXNet has no gradients in float16
        List<DataType> types =
                "MXNet".equals(engine.getEngineName()) ? List.of(DataType.FLOAT32, DataType.FLOAT64) : TYPES;
        holds(60, base, (manager, random) -> {
            Case tested = Case.of(random, types);
            Block block = anyBlock(manager, tested, random);
            NDArray x = tested.input(manager);
            NDArray upstream = tested.input(manager).mul(3);
            x.setRequiresGradient(true);
            SmallBlocks.train(manager, block, upstream, x);
            assertThat(doubles(x.getGradient())).as("%s", tested).containsExactly(doubles(upstream));
        });
    }
}
