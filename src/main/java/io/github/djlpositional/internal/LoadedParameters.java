package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * The parameters that were loaded from a stream so far. A file has a section for each place of a block, so a parameter
 * that is loaded a second time belongs to a block that several others share. The sections may be those of several
 * blocks that one of DJL contains, which only have the stream in common.
 */
final class LoadedParameters {

    private static final Map<DataInputStream, LoadedParameters> BY_STREAM =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final Set<Parameter> parameters = Collections.newSetFromMap(new WeakHashMap<>());

    private LoadedParameters() {}

    /** Returns the parameters that were loaded from a stream. */
    static LoadedParameters from(DataInputStream stream) {
        return BY_STREAM.computeIfAbsent(stream, missing -> new LoadedParameters());
    }

    /** Forgets a stream, from which nothing more is loaded. */
    static void forget(DataInputStream stream) {
        BY_STREAM.remove(stream);
    }

    /** Returns whether a parameter has the values of an earlier section. */
    boolean contains(Parameter parameter) {
        return parameter.isInitialized() && parameters.contains(parameter);
    }

    /** Adds a parameter that was loaded. */
    void add(Parameter parameter) {
        parameters.add(parameter);
    }

    /** Loads a block that may be shared. One of DJL creates new arrays, which must have the values of the earlier. */
    void load(Block block, NDManager manager, DataInputStream stream, ModelFile section)
            throws IOException, MalformedModelException {
        if (block instanceof OptionsBlock) {
            block.loadParameters(manager, stream);
            return;
        }
        Map<Parameter, NDArray> before = new LinkedHashMap<>();
        for (Parameter parameter : block.getParameters().values()) {
            if (contains(parameter)) {
                before.put(parameter, parameter.getArray());
            }
        }
        try {
            block.loadParameters(manager, stream);
            for (Map.Entry<Parameter, NDArray> each : before.entrySet()) {
                NDArray after = each.getKey().getArray();
                section.requireShared(after == each.getValue() || isSame(each.getValue(), after), each.getKey());
            }
            parameters.addAll(block.getParameters().values());
        } finally {
            before.forEach((parameter, array) -> {
                if (!parameter.isInitialized() || parameter.getArray() != array) {
                    array.close();
                }
            });
        }
    }

    private static boolean isSame(NDArray one, NDArray other) {
        return one.getDataType() == other.getDataType()
                && one.getShape().equals(other.getShape())
                && HostData.read(one, NDArray::toByteBuffer).equals(HostData.read(other, NDArray::toByteBuffer));
    }
}
