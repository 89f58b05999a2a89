package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.math.FloatFormat;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

class ConstantArrayTest {

    /** Rows 0, 1, 2, … of which every value is the row's number, and a count of how often they are asked for. */
    private static final class CountingRows implements ConstantArray.Rows {
        private final AtomicInteger calls = new AtomicInteger();

        @Override
        public void write(int first, int count, FloatFormat format, ByteBuffer out) {
            calls.incrementAndGet();
            for (int i = 0; i < count * 3; i++) {
                format.put(out, i, first + Math.floorDiv(i, 3));
            }
        }
    }

    private static NDArray matrix(ConstantArray array, Engine engine, DataType type) {
        return array.on(engine, Device.cpu(), type);
    }

    @EngineTest
    void isMadeOnceForEachDataType(Engine engine, NDManager manager) {
        CountingRows rows = new CountingRows();
        ConstantArray array = new ConstantArray(new Shape(4, 3), rows);
        array.ownedBy(manager);
        assertThat(rows.calls).hasValue(0);
        NDArray floats = matrix(array, engine, DataType.FLOAT32);
        NDArray doubles = matrix(array, engine, DataType.FLOAT64);
        for (int i = 0; i < 3; i++) {
            assertThat(matrix(array, engine, DataType.FLOAT32)).isSameAs(floats);
            assertThat(matrix(array, engine, DataType.FLOAT64)).isSameAs(doubles);
        }
        assertThat(rows.calls).hasValue(2);
        assertThat(floats.toFloatArray()).containsExactly(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3);
        assertThat(doubles.toDoubleArray()).containsExactly(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3);
    }

    @EngineTest
    void isMadeOnceForManyThreads(Engine engine, NDManager manager) throws Exception {
        CountingRows rows = new CountingRows();
        ConstantArray array = new ConstantArray(new Shape(4, 3), rows);
        array.ownedBy(manager);
        ExecutorService executor = Executors.newFixedThreadPool(8);
        try {
            CyclicBarrier together = new CyclicBarrier(8);
            List<Future<NDArray>> futures = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                futures.add(executor.submit(() -> {
                    together.await();
                    return matrix(array, engine, DataType.FLOAT32);
                }));
            }
            for (Future<NDArray> future : futures) {
                assertThat(future.get()).isSameAs(matrix(array, engine, DataType.FLOAT32));
            }
        } finally {
            executor.shutdownNow();
        }
        assertThat(rows.calls).hasValue(1);
    }

    @EngineTest
    void belongsToEachEngineApart(Engine engine, NDManager manager) {
        ConstantArray array = new ConstantArray(new Shape(4, 3), new CountingRows());
        array.ownedBy(manager);
        NDArray own = matrix(array, engine, DataType.FLOAT32);
        for (String name : List.of("PyTorch", "MXNet")) {
            if (!EngineTestExtension.hasNatives(name)) {
                continue;
            }
            Engine other = Engine.getEngine(name);
            assertThat(matrix(array, other, DataType.FLOAT32).getManager().getEngine())
                    .isSameAs(other);
        }
        assertThat(matrix(array, engine, DataType.FLOAT32)).isSameAs(own);
        array.close();
    }

    @EngineTest
    void isFreedWithItsOwnerAndWhenItIsClosed(Engine engine) {
        ConstantArray array = new ConstantArray(new Shape(4, 3), new CountingRows());
        NDArray first;
        try (NDManager owner = engine.newBaseManager(Device.cpu())) {
            array.ownedBy(owner);
            first = matrix(array, engine, DataType.FLOAT32);
            assertThat(owner.getManagedArrays()).containsExactly(first);
        }
        assertThat(first.isReleased()).isTrue();
        NDArray second = matrix(array, engine, DataType.FLOAT32);
        assertThat(second.isReleased()).isFalse();
        array.close();
        assertThat(second.isReleased()).isTrue();
    }

    @EngineTest
    void isFreedOnceItIsGarbage(Engine engine) throws Exception {
        NDArray left = matrix(new ConstantArray(new Shape(4, 3), new CountingRows()), engine, DataType.FLOAT32);
        for (int i = 0; i < 200 && !left.isReleased(); i++) {
            System.gc();
            Thread.sleep(20);
        }
        assertThat(left.isReleased()).isTrue();
    }

    @EngineTest
    void leavesNothingBehindWhenItCannotBeMade(Engine engine, NDManager manager) {
        AtomicInteger failures = new AtomicInteger(1);
        CountingRows rows = new CountingRows();
        ConstantArray array = new ConstantArray(new Shape(4, 3), (first, count, format, out) -> {
            if (failures.getAndDecrement() > 0) {
                throw new IllegalStateException("once");
            }
            rows.write(first, count, format, out);
        });
        array.ownedBy(manager);
        assertThatIllegalStateException()
                .isThrownBy(() -> matrix(array, engine, DataType.FLOAT32))
                .withMessage("once");
        assertThat(manager.getManagedArrays()).isEmpty();
        assertThat(matrix(array, engine, DataType.FLOAT32).getFloat(3, 0)).isEqualTo(3);
    }

    @EngineTest
    void isDroppedWithItsLastUse(Engine engine, NDManager manager) {
        ConstantArray array = new ConstantArray(new Shape(4, 3), new CountingRows());
        array.ownedBy(manager);
        assertThat(array.retain()).isTrue();
        assertThat(array.retain()).isTrue();
        NDArray matrix = matrix(array, engine, DataType.FLOAT32);
        array.drop();
        assertThat(array.retain()).isFalse();
        array.release();
        assertThat(matrix.isReleased()).isFalse();
        array.release();
        assertThat(matrix.isReleased()).isTrue();
        assertThat(manager.getManagedArrays()).isEmpty();
    }
}
