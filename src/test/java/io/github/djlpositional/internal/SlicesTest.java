package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Slices of an array whose row i is (i, i). */
class SlicesTest {

    private static final int LENGTH = 10_000;

    private static GrowingTable table(NDManager manager, int length, int limit) {
        GrowingTable table = new GrowingTable(
                length,
                limit,
                rows -> new ConstantArray(new Shape(rows, 2), (first, count, format, out) -> {
                    for (int i = 0; i < 2 * count; i++) {
                        format.put(out, i, first + Math.floorDiv(i, 2));
                    }
                }));
        table.current().ownedBy(manager);
        return table;
    }

    private static GrowingTable.Rows rows(GrowingTable table, Engine engine, int first, int count) {
        return table.rows(first, count, engine, Device.cpu(), DataType.FLOAT32);
    }

    private static void requireRows(GrowingTable table, Engine engine, int first, int count) {
        try (GrowingTable.Rows slice = rows(table, engine, first, count)) {
            assertThat(slice.array().getShape()).isEqualTo(new Shape(1, count, 2));
            float[] values = slice.array().toFloatArray();
            assertThat(values[0]).isEqualTo(first);
            assertThat(values[2 * count - 1]).isEqualTo(first + count - 1);
        }
    }

    @EngineTest
    void areTheRowsThatWereAskedFor(Engine engine, NDManager manager) {
        GrowingTable table = table(manager, LENGTH, LENGTH);
        for (int first : new int[] {0, 1, 63, 64, 65, 4095, 4096, 4097, LENGTH - 1, 0}) {
            requireRows(table, engine, first, 1);
            requireRows(table, engine, first, Math.min(7, LENGTH - first));
        }
    }

    @EngineTest
    void latestAndItsNeighboursAreKept(Engine engine, NDManager manager) {
        GrowingTable table = table(manager, LENGTH, LENGTH);
        try (GrowingTable.Rows first = rows(table, engine, 5, 9);
                GrowingTable.Rows again = rows(table, engine, 5, 9);
                GrowingTable.Rows row = rows(table, engine, 70, 1);
                GrowingTable.Rows next = rows(table, engine, 71, 1);
                GrowingTable.Rows rowAgain = rows(table, engine, 70, 1)) {
            assertThat(again.array()).isSameAs(first.array());
            assertThat(rowAgain.array()).isSameAs(row.array());
            assertThat(next.array()).isNotSameAs(row.array());
        }
    }

    @EngineTest
    void oneInUseIsFreedWithItsLastUser(Engine engine, NDManager manager) {
        GrowingTable table = table(manager, LENGTH, LENGTH);
        GrowingTable.Rows used = rows(table, engine, 5, 9);
        GrowingTable.Rows row = rows(table, engine, 5, 1);
        rows(table, engine, 6, 9).close();
        // the same place among the runs
        rows(table, engine, 5 + 64 * 64, 1).close();
        assertThat(used.array().isReleased()).isFalse();
        assertThat(row.array().isReleased()).isFalse();
        used.close();
        row.close();
        assertThat(used.array().isReleased()).isTrue();
        assertThat(row.array().isReleased()).isTrue();
    }

    @EngineTest
    void aScopeOfTheUsersClosesNone(Engine engine, NDManager manager) {
        GrowingTable table = table(manager, LENGTH, LENGTH);
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            requireRows(table, engine, 5, 9);
            requireRows(table, engine, 5, 1);
        }
        requireRows(table, engine, 5, 9);
        requireRows(table, engine, 5, 1);
    }

    @EngineTest
    void comeBackAfterTheTableWasFreed(Engine engine, NDManager manager) {
        GrowingTable table = table(manager, LENGTH, LENGTH);
        requireRows(table, engine, 5, 9);
        requireRows(table, engine, 5, 1);
        table.current().close();
        requireRows(table, engine, 5, 9);
        requireRows(table, engine, 5, 1);
    }

    @EngineTest
    void manyThreadsShareThemWhileTheTableGrows(Engine engine, NDManager manager) throws Exception {
        GrowingTable table = table(manager, 4, LENGTH);
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                int seed = thread;
                done.add(threads.submit(() -> {
                    Random random = new Random(seed);
                    for (int i = 0; i < 300; i++) {
                        int most = Math.min(LENGTH, 4 + 40 * i);
                        int first = random.nextInt(most);
                        requireRows(table, engine, first, random.nextBoolean() ? 1 : 1 + random.nextInt(most - first));
                    }
                }));
            }
            for (Future<?> each : done) {
                each.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
