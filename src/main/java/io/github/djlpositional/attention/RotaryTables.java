package io.github.djlpositional.attention;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.RotaryTable;

/**
 * The tables of a rotary embedding, (positions, 2r): one for all lengths, or where the frequencies depend on the length, one
 * up to the original length and one for the latest length beyond it.
 */
final class RotaryTables {

    private final RotaryScaling scaling;
    private final int rotarySize;
    private final double base;
    private final PairLayout layout;
    private final int limit;
    private final GrowingTable original;

    /** For the latest length beyond the original one; null where there was none yet. */
    private volatile Extended extended;

    RotaryTables(RotaryScaling scaling, int rotarySize, double base, PairLayout layout, int length, int limit) {
        this.scaling = scaling;
        this.rotarySize = rotarySize;
        this.base = base;
        this.layout = layout;
        this.limit = limit;
        // beyond the original length this table is never asked
        original = growing(scaling.frequencies(rotarySize, base, 0), Math.min(length, scaling.lengthThreshold()));
    }

    private record Extended(Frequencies frequencies, long sequenceLength, GrowingTable table) {}

    private GrowingTable growing(Frequencies frequencies, int length) {
        RotaryTable table = table(frequencies);
        return new GrowingTable(
                length, limit, rows -> new ConstantArray(new Shape(rows, 2L * rotarySize), table::write));
    }

    private RotaryTable table(Frequencies frequencies) {
        return new RotaryTable(frequencies, layout, scaling.attentionFactor());
    }

    /** The function that fills the table of a sequence length. */
    RotaryTable table(long sequenceLength) {
        return table(scaling.frequencies(rotarySize, base, sequenceLength));
    }

    /** One more than the greatest position. */
    int limit() {
        return limit;
    }

    /** A table in use: it is not freed before this is closed. */
    record Use(GrowingTable.Use rows, Engine engine, Device device, DataType type) implements AutoCloseable {

        /** (n, 2r), the table's own. */
        NDArray array() {
            return rows.on(engine, device, type);
        }

        @Override
        public void close() {
            rows.close();
        }
    }

    /**
     * Begins a use.
     *
     * @param end the least number of positions
     * @param sequenceLength the length that the frequencies are to have been scaled for
     * @param engine where the table is wanted
     * @param device as the engine
     * @param type as the engine
     * @return the use, to be closed
     */
    Use use(int end, long sequenceLength, Engine engine, Device device, DataType type) {
        while (true) {
            GrowingTable table = sequenceLength <= scaling.lengthThreshold() ? original : extended(sequenceLength);
            GrowingTable.Use rows = table.use(end, engine, device, type);
            // null where another thread has just replaced it by that of another length
            if (rows != null) {
                return new Use(rows, engine, device, type);
            }
        }
    }

    private GrowingTable extended(long sequenceLength) {
        Extended latest = extended;
        return latest != null && latest.sequenceLength == sequenceLength ? latest.table : extend(sequenceLength);
    }

    private synchronized GrowingTable extend(long sequenceLength) {
        Extended latest = extended;
        if (latest != null && latest.sequenceLength == sequenceLength) {
            return latest.table;
        }
        Frequencies frequencies = scaling.frequencies(rotarySize, base, sequenceLength);
        boolean isSame = latest != null && latest.frequencies.equals(frequencies);
        GrowingTable table = isSame ? latest.table : growing(frequencies, Math.toIntExact(sequenceLength));
        if (!isSame) {
            NDManager owner = original.current().owner();
            if (owner != null) {
                table.current().ownedBy(owner);
            }
            if (latest != null) {
                latest.table.drop();
            }
        }
        extended = new Extended(frequencies, sequenceLength, table);
        return table;
    }

    synchronized void ownedBy(NDManager manager) {
        original.current().ownedBy(manager);
        if (extended != null) {
            extended.table.current().ownedBy(manager);
        }
    }

    synchronized void close() {
        original.current().close();
        if (extended != null) {
            extended.table.current().close();
        }
    }
}
