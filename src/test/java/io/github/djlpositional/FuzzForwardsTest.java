package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.HasArguments;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Forwards with random inputs and parameters. */
class FuzzForwardsTest {

    private static final ResourceGuard FORWARD = new ResourceGuard(List.of(IllegalArgumentException.class));

    /** With {@code optRangeChecks(false)}, the engine may reject values that are out of range. */
    private static final ResourceGuard UNCHECKED =
            new ResourceGuard(List.of(IllegalArgumentException.class, EngineException.class));

    private static final List<DataType> TYPES = List.of(
            DataType.FLOAT32,
            DataType.FLOAT32,
            DataType.FLOAT64,
            DataType.FLOAT16,
            DataType.INT64,
            DataType.INT32,
            DataType.UINT8,
            DataType.INT8,
            DataType.BOOLEAN);

    private static final List<Object> STARTS =
            List.of(0, 1, 2L, -1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, 1.5, "1", true, List.of(1));

    /**
     * No position is too great for a block that extends itself, but a table up to it may be too large for the machine.
     */
    private static final List<Float> WILD = List.of(-1f, Float.NaN, 1e5f, 200f, Float.NEGATIVE_INFINITY);

    /** Tables for a hundred thousand positions, the longest that are asked for here. */
    private static final long TABLES = 1 << 25;

    @EngineTest
    void everyInputIsAnsweredOrRejected(NDManager manager) {

        RandomCases.check(3000, random -> {
            TestBlocks kind = RandomCases.one(random, List.of(TestBlocks.values()));
            try (NDManager own = manager.newSubManager()) {
                Block block = kind.block();
                block.initialize(own, DataType.FLOAT32, kind.input());
                NDList inputs = inputs(own, random, kind);
                Shape[] shapes = inputs.stream().map(NDArray::getShape).toArray(Shape[]::new);
                String what = kind + " of " + inputs;
                PairList<String, Object> params = params(random);
                Exception refusal = (isChecked(block) ? FORWARD : UNCHECKED).refusal(0, TABLES, () -> {
                    NDList answer = block.forward(new ParameterStore(own, false), inputs, false, params);
                    if (params.isEmpty()) {
                        assertThat(answer.getShapes()).as(what).isEqualTo(block.getOutputShapes(shapes));
                    }
                });
                ResourceGuard.requireOurs(what, refusal);
                block.clear();
            }
        });
    }

    private static boolean isChecked(Block block) {
        // an embedding with a user's block has no arguments
        return block instanceof InputEmbeddingBlock
                || !Boolean.FALSE.equals(((HasArguments) block).getArguments().get("rangeChecks"));
    }

    private static NDList inputs(NDManager manager, SplittableRandom random, TestBlocks kind) {
        NDList inputs = new NDList();
        int count = random.nextInt(8) == 0 ? random.nextInt(5) : random.nextInt(1, 4);
        boolean isFirstRight = random.nextBoolean();
        for (int i = 0; i < count; i++) {
            Shape shape = i == 0 && isFirstRight ? kind.input() : shape(random, kind);
            DataType type = i == 0 && isFirstRight && !(kind.block() instanceof InputEmbeddingBlock)
                    ? DataType.FLOAT32
                    : RandomCases.one(random, TYPES);
            inputs.add(array(manager, random, shape, type));
        }
        return inputs;
    }

    /**
     * Mostly that of an input with an axis changed, gone or new, or the beginning of it, as positions and masks have.
     */
    private static Shape shape(SplittableRandom random, TestBlocks kind) {
        long[] sizes = kind.input().getShape();
        return switch (random.nextInt(6)) {
            case 0 -> new Shape(random.longs(random.nextInt(6), 0, 6).toArray());
            case 1 -> kind.input();
            case 2 -> kind.input().slice(0, random.nextInt(sizes.length));
            case 3 -> kind.input().slice(random.nextInt(sizes.length));
            case 4 -> kind.input().add(random.nextInt(4));
            default -> Shape.update(kind.input(), random.nextInt(sizes.length), random.nextInt(12));
        };
    }

    private static NDArray array(NDManager manager, SplittableRandom random, Shape shape, DataType type) {
        int size = Math.toIntExact(shape.size());
        float[] values = new float[size];
        boolean isWild = random.nextInt(4) == 0;
        for (int i = 0; i < size; i++) {
            values[i] = isWild ? RandomCases.one(random, WILD) : random.nextInt(3);
        }
        if (type == DataType.INT64 || type == DataType.INT32) {
            long[] whole = new long[size];
            for (int i = 0; i < size; i++) {
                whole[i] = (long) values[i];
            }
            return manager.create(whole, shape).toType(type, false);
        }
        return manager.create(values, shape).toType(type, false);
    }

    private static PairList<String, Object> params(SplittableRandom random) {
        PairList<String, Object> params = new PairList<>();
        if (random.nextInt(3) == 0) {
            params.add(PositionalEncodingBlock.START_POSITION, RandomCases.one(random, STARTS));
        }
        if (random.nextInt(10) == 0) {
            Stream.of("keyValueCache", "unknown").forEach(key -> params.add(key, RandomCases.one(random, STARTS)));
        }
        return params;
    }
}
