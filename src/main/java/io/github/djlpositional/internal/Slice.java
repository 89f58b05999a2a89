package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/** Parts of a constant array, counted by their users: they are freed with the last of them, once they are no longer kept. */
final class Slice implements AutoCloseable {

    private static final AtomicIntegerFieldUpdater<Slice> USERS =
            AtomicIntegerFieldUpdater.newUpdater(Slice.class, "users");

    private final NDArray[] parts;

    /** Whoever keeps it is the first. */
    private volatile int users = 1;

    Slice(NDArray... parts) {
        this.parts = parts;
    }

    /** One of the parts; not the caller's. */
    NDArray part(int index) {
        return parts[index];
    }

    /** Whether it is still there: closing what it is a part of frees it too. */
    boolean isOpen() {
        return users > 0 && !parts[0].isReleased();
    }

    /** Counts one more user, unless it is freed already. */
    boolean acquire() {
        int before = users;
        while (before > 0) {
            if (USERS.compareAndSet(this, before, before + 1)) {
                return true;
            }
            before = users;
        }
        return false;
    }

    /** Counts one user less. */
    @Override
    public void close() {
        if (USERS.decrementAndGet(this) == 0) {
            for (NDArray part : parts) {
                part.close();
            }
        }
    }
}
