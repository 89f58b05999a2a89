package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDResource;
import java.util.concurrent.Callable;

/**
 * What is called to measure it.
 *
 * @param name its name, which {@code peers.py} uses too
 * @param column the name beside others; empty for an operation of this library that is compared with others
 * @param calls how many calls are measured as one; more than one on a GPU, which works behind the program
 * @param preparation makes what a call needs, and returns the call, whose result is the caller's to close
 */
record Operation(String name, String column, int calls, Preparation preparation) implements Peer {

    /** Makes what a call needs. */
    interface Preparation {

        Callable<? extends NDResource> of(Setting setting) throws Exception;
    }

    private static final int CALLS_ON_GPU = 32;

    Operation(String name, String column, Preparation preparation) {
        this(name, column, 1, preparation);
    }

    /** The same on a GPU if there is one: many calls, and waiting for the last one. */
    Operation onGpu() {
        return new Operation(name + "_ON_GPU", column, CALLS_ON_GPU, setting -> {
            Callable<? extends NDResource> call = preparation.of(setting);
            return () -> {
                for (int i = 1; i < CALLS_ON_GPU; i++) {
                    call.call().close();
                }
                NDResource last = call.call();
                NDArray array = last.getResourceNDArrays().get(0);
                try (NDArray corner = array.get("0:1, 0:1");
                        NDArray read = corner.toDevice(Device.cpu(), true)) {
                    read.toByteBuffer();
                }
                return last;
            };
        });
    }

    boolean isOnGpu() {
        return calls > 1;
    }

    @Override
    public Case beside(Case own) {
        return own.calling(this);
    }

    @Override
    public String toString() {
        return name;
    }
}
