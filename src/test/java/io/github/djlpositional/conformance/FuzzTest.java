package io.github.djlpositional.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.FileDamage;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.ResourceGuard;
import io.github.djlpositional.support.SmallBlocks;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Random arguments, inputs and model files of every block are accepted or rejected with a documented exception. */
class FuzzTest extends OnEachEngine {

    /** The rejection of settings and inputs. */
    private static final ResourceGuard GUARD = new ResourceGuard(List.of(IllegalArgumentException.class));

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IOException.class));

    /** An encoding keeps its frequencies, two doubles for each of up to a thousand pairs, and writes them as text. */
    private static final long FREQUENCIES = 1 << 24;

    /** Tables for a hundred thousand positions, the longest that are asked for here. */
    private static final long TABLES = 1 << 25;

    /** A buffer of DJL for each array of a file. */
    private static final long DJL_BUFFER = 1 << 20;

    private static TestBlocks anyKind(SplittableRandom random) {
        return RandomCases.one(random, List.of(TestBlocks.values()));
    }

    /** No value is a valid size of a table of hundreds of megabytes. */
    private static final Object[][] ARGUMENTS = {
        {0, -1, 1, 2, 3, 5, 8, 64, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE, 1L << 40, Long.MIN_VALUE},
        {0.5, 1.0, -0.0, 1e-300, 1e300, Double.NaN, Double.POSITIVE_INFINITY, 0.1f, Float.NaN},
        {"", "8", "-1", "1e9", "true", "yes", "none", "INTERLEAVED", "interleaved", "geometric", "\u0000"},
        {null, true, false, 'c', new Object(), new int[] {1}},
        {List.of(), List.of(1, "2"), List.of(List.of(0.5))},
        {Map.of(), Map.of("type", "none"), Map.of("type", "Yarn")}
    };

    private static Object value(SplittableRandom random) {
        Object[] some = ARGUMENTS[random.nextInt(ARGUMENTS.length)];
        return some[random.nextInt(some.length)];
    }

    /** Changes a map, or a map or a list within it, in one place. */
    private static Map<Object, Object> changed(SplittableRandom random, Map<?, ?> arguments) {
        Map<Object, Object> changed = new LinkedHashMap<>(arguments);
        List<Object> keys = new ArrayList<>(changed.keySet());
        Object key = keys.isEmpty() ? "none" : keys.get(random.nextInt(keys.size()));
        switch (random.nextInt(8)) {
            case 0 -> changed.remove(key);
            case 1 -> changed.put(value(random), value(random));
            case 2 -> changed.put(key, changed);
            default -> changed.put(key, within(random, changed.get(key)));
        }
        return changed;
    }

    private static Object within(SplittableRandom random, Object value) {
        if (value instanceof Map<?, ?> map && random.nextInt(4) > 0) {
            return changed(random, map);
        }
        if (value instanceof List<?> list && !list.isEmpty() && random.nextInt(4) > 0) {
            List<Object> others = new ArrayList<>(list);
            others.set(random.nextInt(others.size()), value(random));
            return others;
        }
        return value(random);
    }

    @Test
    void everyMapCreatesABlockOrIsRejected() {
        RandomCases.check(1500, random -> {
            HasArguments block = (HasArguments) anyKind(random).block();
            Map<?, ?> arguments = block.getArguments();
            for (int count = random.nextInt(1, 4); count > 0; count--) {
                arguments = changed(random, arguments);
            }
            Map<?, ?> last = arguments;
            Class<?> type = block.getClass();
            Exception refusal = GUARD.refusal(0, FREQUENCIES, () -> {
                HasArguments created = SmallBlocks.fromArguments(type, last);
                assertThat(SmallBlocks.fromArguments(type, created.getArguments()))
                        .hasToString(created.toString());
            });
            ResourceGuard.requireOurs(last, refusal);
        });
    }

    private static final List<DataType> TYPES = Stream.of(
                    "FLOAT32 FLOAT32 FLOAT64 FLOAT16 INT64 INT32 UINT8 INT8 BOOLEAN".split(" ", -1))
            .map(DataType::valueOf)
            .toList();

    private static final List<Object> STARTS =
            List.of(0, 1, 2L, -1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, 1.5, "1", true, List.of(1));

    /**
     * No position is too great for a block that extends itself, but a table up to it may be too large for the machine.
     */
    private static final List<Float> WILD = List.of(-1f, Float.NaN, 1e5f, 200f, Float.NEGATIVE_INFINITY);

    @Test
    void everyInputIsAnsweredOrRejected() {
        assumeCpu();
        RandomCases.check(200, random -> {
            TestBlocks kind = anyKind(random);
            try (NDManager own = manager.newSubManager()) {
                Block block = kind.initialized(own);
                NDList inputs = inputs(own, random, kind);
                Shape[] shapes = inputs.stream().map(NDArray::getShape).toArray(Shape[]::new);
                String what = kind + " of " + inputs;
                PairList<String, Object> params = params(random);
                if (random.nextInt(4) == 0) {
                    NDArray positions = array(own, random, shape(random, kind), RandomCases.one(random, TYPES));
                    params.add(PositionalEncodingBlock.POSITIONS, positions);
                }
                Exception refusal = GUARD.refusal(0, TABLES, () -> {
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

    /** Expects a file to be rejected, or to give a block that is usable. */
    private static void load(NDManager manager, TestBlocks kind, byte... file) {
        Block block = kind.block();
        Exception rejection = LOADING.refusal(
                file.length, block.getParameters().size() * DJL_BUFFER, () -> BlockBytes.load(manager, block, file));
        if (rejection == null) {
            requireUsable(manager, kind, block);
        } else {
            assertThat(rejection).message().isNotBlank();
            assertThat(block.getParameters().values()).noneMatch(Parameter::isInitialized);
            assertThat(block.isInitialized()).isFalse();
        }
        block.clear();
    }

    private static void requireUsable(NDManager manager, TestBlocks kind, Block block) {
        assertThat(block.getParameters().values()).allMatch(Parameter::isInitialized);
        DataType type = block.getParameters().isEmpty()
                ? DataType.FLOAT32
                : block.getParameters().valueAt(0).getArray().getDataType();
        if (type == DataType.FLOAT32) {
            try (NDManager own = manager.newSubManager()) {
                assertThat(block.getOutputShapes(kind.shapes()))
                        .contains(kind.infer(own, block, kind.numbers(own)).getShape());
            }
        }
    }

    /** EveryBlockTest has files that end too soon. */
    @Test
    void aDamagedFileIsRejectedOrHarmless() {
        RandomCases.check(200, random -> {
            try (NDManager own = manager.newSubManager()) {
                TestBlocks kind = anyKind(random);
                byte[] file = BlockBytes.saved(kind.initialized(own));
                load(own, kind, FileDamage.of(random, file));
            }
        });
    }
}
