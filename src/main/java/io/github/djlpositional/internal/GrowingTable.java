package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import java.util.function.IntFunction;

/**
 * A constant array that serves positions below its length, and is replaced by a longer one where more are asked for and its
 * limit allows. The shorter one stays for those who are using it until they are done.
 */
public final class GrowingTable {

    private final IntFunction<ConstantArray> maker;
    private final int limit;

    private volatile Table table;
    private volatile boolean isDropped;

    /**
     * Describes a table; nothing is made yet.
     *
     * @param length the length it begins with
     * @param limit the greatest length; {@code length} for a table that does not grow
     * @param maker describes the array of a given length
     */
    public GrowingTable(int length, int limit, IntFunction<ConstantArray> maker) {
        this.maker = maker;
        this.limit = limit;
        table = new Table(length, maker.apply(length));
    }

    private static final class Table {
        private final int length;
        private final ConstantArray array;

        Table(int length, ConstantArray array) {
            this.length = length;
            this.array = array;
        }
    }

    /** A table in use: its length stands, and it is not freed before this is closed. */
    public static final class Use implements AutoCloseable {
        private final Table table;

        private Use(Table table) {
            this.table = table;
        }

        /** The length of the table. */
        public int length() {
            return table.length;
        }

        /** See {@link ConstantArray#on}. */
        public NDArray on(Engine engine, Device device, DataType type) {
            return table.array.on(engine, device, type);
        }

        @Override
        public void close() {
            table.array.release();
        }
    }

    /** The length it has now. */
    public int length() {
        return table.length;
    }

    /** The greatest length that may be asked for. */
    public int limit() {
        return limit;
    }

    /**
     * Begins a use of the table; it is extended, to at least twice what it was where there is room, if it is shorter than asked for.
     *
     * @param length the least length, up to the limit
     * @param engine where it will be used: should there be no room for a longer one, the shorter one stays
     * @param device as the engine
     * @param type as the engine
     * @return the use, to be closed; null if the table is dropped
     * @throws IllegalArgumentException if the machine has no memory for it; the table is then as it was
     */
    public Use use(int length, Engine engine, Device device, DataType type) {
        while (true) {
            Table current = table;
            Table found = length <= current.length ? current : extend(length, engine, device, type);
            // false where another thread has just replaced it by a longer one, or dropped it
            if (found.array.retain()) {
                return new Use(found);
            }
            if (isDropped) {
                return null;
            }
        }
    }

    /**
     * Returns consecutive rows of a table that is not dropped, extending it where it is shorter.
     *
     * @param first the first row
     * @param count how many, at least 1; their end is within the limit
     * @param engine where they are wanted
     * @param device as the engine
     * @param type as the engine
     * @return the rows, (1, count, …), in use until they are closed
     * @throws IllegalArgumentException if the machine has no memory for the table; it is then as it was
     */
    public Rows rows(int first, int count, Engine engine, Device device, DataType type) {
        Table current = table;
        if (first + count <= current.length && limit == current.length) {
            // it never grows: nobody replaces it
            return new Rows(current.array.slice(first, count, engine, device, type), Slices.part(first, count), null);
        }
        Use use = use(first + count, engine, device, type);
        boolean isDone = false;
        try {
            Slice slice = use.table.array.slice(first, count, engine, device, type);
            isDone = true;
            return new Rows(slice, Slices.part(first, count), use);
        } finally {
            if (!isDone) {
                use.close();
            }
        }
    }

    /** Rows in use: they are not freed before this is closed. */
    public static final class Rows implements AutoCloseable {
        private final Slice slice;
        private final int part;

        /** What keeps the table that they are a part of; null where nobody replaces it. */
        private final Use use;

        private Rows(Slice slice, int part, Use use) {
            this.slice = slice;
            this.part = part;
            this.use = use;
        }

        /** The rows, (1, count, …); not the caller's. */
        public NDArray array() {
            return slice.part(part);
        }

        @Override
        public void close() {
            slice.close();
            if (use != null) {
                use.close();
            }
        }
    }

    private synchronized Table extend(int length, Engine engine, Device device, DataType type) {
        Table shorter = table;
        if (length > shorter.length && !isDropped) {
            Table longer = longer(length, shorter, device, type);
            NDManager owner = shorter.array.owner();
            if (owner != null) {
                longer.array.ownedBy(owner);
            }
            longer.array.on(engine, device, type);
            table = longer;
            shorter.array.drop();
        }
        return table;
    }

    /** Twice as long where there is room for that, so that a sequence which grows step by step seldom extends it. */
    private Table longer(int length, Table shorter, Device device, DataType type) {
        int longest = (int) Math.max(length, Math.min(2L * shorter.length, limit));
        ConstantArray array = maker.apply(longest);
        return array.hasRoom(device, type) ? new Table(longest, array) : new Table(length, maker.apply(length));
    }

    /** Frees the table for good, now or with its last use. */
    public synchronized void drop() {
        isDropped = true;
        table.array.drop();
    }

    /** The table as it is now; where it grows it may be dropped at any time. */
    public ConstantArray current() {
        return table.array;
    }
}
