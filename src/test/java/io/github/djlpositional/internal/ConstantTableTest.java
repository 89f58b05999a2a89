package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tables whose row for position p is (p, p). SoakTest has threads that share a table while it grows. */
class ConstantTableTest extends OnEachEngine {

    private static final int LENGTH = 10_000;
    private static final int THREADS = 8;

    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger failures = new AtomicInteger();

    /** An array on the device of the table. */
    private NDArray like;

    @BeforeEach
    void createLike() {
        like = manager.create(0);
    }

    private final Rows rows = new Rows() {
        private final Rows same = Rows.of(2, (position, column) -> position);

        @Override
        public int width() {
            return 2;
        }

        @Override
        public void write(double[] positions, FloatFormat format, ByteBuffer out) {
            calls.incrementAndGet();
            if (failures.getAndDecrement() > 0) {
                throw new IllegalStateException("once");
            }
            same.write(positions, format, out);
        }
    };

    private ConstantTable table(int length, int limit) {
        return ConstantTable.ofPositions(rows, length, limit);
    }

    private ConstantTable table(NDManager owner, int length, int limit) {
        ConstantTable table = table(length, limit);
        table.moveTo(owner, null);
        return table;
    }

    private NDArray whole(ConstantTable table, DataType type) {
        return table.array(like, type);
    }

    private void requireRows(ConstantTable table, int first, int count) {
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray found = table.slice(first, count, like, DataType.FLOAT32);
            assertThat(found.getShape()).isEqualTo(new Shape(1, count, 2));
            double[] values = HostData.doubles(found);
            assertThat(values[0]).isEqualTo(first);
            assertThat(values[2 * count - 1]).isEqualTo(first + count - 1);
        }
    }

    @Test
    void isCreatedOnceForEachDataTypeByManyThreads() throws Exception {
        ConstantTable table = table(manager, 4, 4);
        assertThat(calls).hasValue(0);
        ExecutorService executor = Executors.newFixedThreadPool(THREADS);
        CyclicBarrier together = new CyclicBarrier(THREADS);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            Callable<NDArray> task = () -> {
                together.await();
                return whole(table, type);
            };
            for (Future<NDArray> found : executor.invokeAll(Collections.nCopies(THREADS, task))) {
                assertThat(found.get()).isSameAs(whole(table, type));
            }
            assertThat(HostData.doubles(whole(table, type))).containsExactly(0, 0, 1, 1, 2, 2, 3, 3);
        }
        executor.shutdown();
        assertThat(calls).hasValue(2);
    }

    @Test
    void isCreatedForEachEngine() {
        ConstantTable table = table(manager, 4, 4);
        NDArray own = whole(table, DataType.FLOAT32);
        for (TestEngine each :
                Stream.of(TestEngine.values()).filter(TestEngine::isAvailable).toList()) {
            try (NDManager others = each.newCpuManager()) {
                NDArray other = table.array(others.create(0), DataType.FLOAT32);
                assertThat(other.getManager().getEngine()).isSameAs(others.getEngine());
            }
        }
        assertThat(whole(table, DataType.FLOAT32)).isSameAs(own);
        table.close();
    }

    @Test
    void isFreedAfterItWasGarbageCollectedOnlyIfItHasNoOwner() throws Exception {
        try (NDManager owner = engine.newCpuManager()) {
            NDArray owned = whole(table(owner, 4, 4), DataType.FLOAT32);
            NDArray left = whole(table(4, 4), DataType.FLOAT32);
            for (int i = 0; i < 200 && !left.isReleased(); i++) {
                System.gc();
                Thread.sleep(20);
            }
            assertThat(left.isReleased()).isTrue();
            assertThat(owned.toFloatArray()).containsExactly(0, 0, 1, 1, 2, 2, 3, 3);
        }
    }

    @Test
    void leavesNothingBehindWhenItCannotBeCreated() {
        failures.set(1);
        ConstantTable table = table(4, 4);
        table.moveTo(manager, null);
        assertThatIllegalStateException()
                .isThrownBy(() -> whole(table, DataType.FLOAT32))
                .withMessage("once");
        assertThat(manager.getManagedArrays()).containsExactly(like);
        assertThat(whole(table, DataType.FLOAT32).getFloat(3, 0)).isEqualTo(3);
    }

    @Test
    void givesTheRowsOfPositionsAndOfDistances() {
        ConstantTable positions = table(manager, LENGTH, LENGTH);
        for (int first : new int[] {0, 1, 63, 64, 65, 4095, 4096, 4097, LENGTH - 1, 0}) {
            requireRows(positions, first, 1);
            requireRows(positions, first, Math.min(7, LENGTH - first));
        }
        ConstantTable distances = ConstantTable.ofDistances(rows, 4, 100);
        for (int first : new int[] {-3, 0, 3, -9, -40, 39, -99}) {
            requireRows(distances, first, 1);
            requireRows(distances, first, Math.min(7, 100 - first));
        }
        assertThat(whole(distances, DataType.FLOAT32).getShape()).isEqualTo(new Shape(199, 2));
        distances.close();
    }

    @Test
    void cachesSingleRowsOnly() {
        ConstantTable table = table(manager, LENGTH, LENGTH);
        NDArray row = table.slice(70, 1, like, DataType.FLOAT32);
        int arrays = manager.getManagedArrays().size();
        assertThat(table.slice(70, 1, like, DataType.FLOAT32)).isSameAs(row);
        for (int count = 2; count < 200; count++) {
            requireRows(table, 3, count);
        }
        assertThat(manager.getManagedArrays()).hasSize(arrays);
    }

    @Test
    void retainsTheTableThatItHasOutgrown() {
        ConstantTable table = table(manager, 4, 8);
        NDArray shorter = whole(table, DataType.FLOAT32);
        requireRows(table, 0, 8);
        assertThat(shorter.toFloatArray()).containsExactly(0, 0, 1, 1, 2, 2, 3, 3);
        table.close();
        assertThat(shorter.isReleased()).isTrue();
    }

    /** A manager whose engine has no memory left. */
    private static NDManager withoutMemory(NDManager real) {
        return (NDManager) Proxy.newProxyInstance(
                NDManager.class.getClassLoader(), new Class<?>[] {NDManager.class}, (proxy, method, args) -> {
                    if (method.getName().equals("create")) {
                        throw new EngineException("out of memory");
                    }
                    try {
                        Object result = method.invoke(real, args);
                        return method.getName().equals("newSubManager") ? withoutMemory((NDManager) result) : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void saysWhatAnEngineWithoutMemoryWasAskedFor() {
        ConstantTable table = table(withoutMemory(manager), 4, 4);
        assertThatExceptionOfType(EngineException.class)
                .isThrownBy(() -> whole(table, DataType.FLOAT32))
                .withMessageContaining("(4, 2) in float32 needs 32 bytes")
                .withMessageContaining(engine.engineName())
                .withMessageContaining(like.getDevice() + " (out of memory)");
        table.moveTo(manager, null);
        assertThat(whole(table, DataType.FLOAT32).getShape()).isEqualTo(new Shape(4, 2));
    }
}
