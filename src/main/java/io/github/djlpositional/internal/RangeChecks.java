package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;

/** Whether the values of token ids and positions are checked before they pick rows, which waits for a GPU that holds them. */
public enum RangeChecks {
    /** Only where their values are at hand: on a CPU. */
    ON_CPU,

    /** On every device. */
    ALWAYS,

    /** On none: the engine does with an index out of range what it does. */
    NEVER;

    /**
     * Returns the choice of a user.
     *
     * @param chosen true for always, false for never, null where nothing was chosen
     */
    public static RangeChecks of(Boolean chosen) {
        if (chosen == null) {
            return ON_CPU;
        }
        return chosen ? ALWAYS : NEVER;
    }

    /** Whether these indices are to be checked. */
    public boolean readValuesOf(NDArray indices) {
        return readValuesOn(indices.getDevice());
    }

    /** Whether indices on a device are to be checked. */
    boolean readValuesOn(Device device) {
        return this == ALWAYS || (this == ON_CPU && HostData.isHost(device));
    }
}
