package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.math.FloatFormat;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Tables that cannot be made: what is left of those that were. */
class FaultTableTest {

    /** (2^30, 4096): more than any machine has the memory for. */
    private static final Shape IMPOSSIBLE = new Shape(1 << 30, 4096);

    private static void writeZeros(int first, int count, FloatFormat format, ByteBuffer out) {
        if (format == FloatFormat.FLOAT64) {
            throw new IllegalStateException("no doubles today");
        }
        for (int i = 0; i < 3 * count; i++) {
            format.put(out, i, 0);
        }
    }

    /** An owner of whom the engine has no memory left. */
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

    @EngineTest
    void engineWithoutMemorySaysHowMuchItWasAskedFor(Engine engine, NDManager manager) {
        ConstantArray array = new ConstantArray(new Shape(4, 3), FaultTableTest::writeZeros);
        array.ownedBy(withoutMemory(manager));
        assertThatExceptionOfType(EngineException.class)
                .isThrownBy(() -> array.on(engine, Device.cpu(), DataType.FLOAT32))
                .withMessage("a table of shape (4, 3) in float32 needs 48 bytes, which " + engine.getEngineName()
                        + " does not give on cpu() (out of memory): ask for fewer positions or smaller sizes, or free"
                        + " memory there");
        array.ownedBy(manager);
        assertThat(array.on(engine, Device.cpu(), DataType.FLOAT32).getShape()).isEqualTo(new Shape(4, 3));
    }

    @EngineTest
    void tableThatFailedInOneTypeIsFreedInTheOtherOnceItIsOutgrown(Engine engine, NDManager manager) {
        GrowingTable table =
                new GrowingTable(4, 8, length -> new ConstantArray(new Shape(length, 3), FaultTableTest::writeZeros));
        table.current().ownedBy(manager);
        NDArray shorter = table.current().on(engine, Device.cpu(), DataType.FLOAT32);
        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> table.rows(0, 2, engine, Device.cpu(), DataType.FLOAT64))
                .withMessage("no doubles today");
        table.rows(0, 6, engine, Device.cpu(), DataType.FLOAT32).close();
        assertThat(shorter.isReleased()).isTrue();
    }

    @EngineTest
    void tableGrowsByWhatIsAskedForWhereThereIsNoRoomForTwiceItsLength(Engine engine) {
        GrowingTable table = new GrowingTable(
                4,
                16,
                length ->
                        new ConstantArray(length == 8 ? IMPOSSIBLE : new Shape(length, 3), FaultTableTest::writeZeros));
        table.rows(0, 5, engine, Device.cpu(), DataType.FLOAT32).close();
        assertThat(table.length()).isEqualTo(5);
        table.drop();
    }

    @Test
    void machineKnowsItsMemory() {
        // of any machine that runs the tests: from 64 MB to a petabyte
        assertThat(MachineMemory.available()).isBetween(64L << 20, 1L << 50);
        assertThat(MachineMemory.hasRoomFor(new Shape(1000), DataType.FLOAT32, Device.cpu()))
                .isTrue();
        assertThat(MachineMemory.hasRoomFor(IMPOSSIBLE, DataType.FLOAT32, Device.cpu()))
                .isFalse();
    }

    @Test
    void memoryOfAGpuIsItsEnginesToCount() {
        assertThat(MachineMemory.hasRoomFor(IMPOSSIBLE, DataType.FLOAT32, Device.gpu()))
                .isTrue();
    }
}
