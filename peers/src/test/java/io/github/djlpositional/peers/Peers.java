package io.github.djlpositional.peers;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** A forward of a block of the library with what a package was given. */
record Peers(NDManager manager, PeerCase peer) {

    /** The array of the case, attached to the manager of the comparison. */
    NDArray array(String name) throws IOException, MalformedModelException {
        return peer.array(manager, name);
    }

    /**
     * The output of a block in inference. Unless it is initialized, this initializes it for the inputs, with the
     * parameters of the case.
     */
    NDArray forward(Block block, NDList inputs, PairList<String, Object> params)
            throws IOException, MalformedModelException {
        if (!block.isInitialized()) {
            initialize(block, inputs.getShapes());
        }
        return block.forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    NDArray forward(Block block, NDArray... inputs) throws IOException, MalformedModelException {
        return forward(block, new NDList(inputs), null);
    }

    /** The output for the array x, at the positions or from the start position of the case if it has any. */
    NDArray encode(Block block) throws IOException, MalformedModelException {
        NDList inputs = new NDList(array("x"));
        if (peer.hasArray("positions")) {
            inputs.add(array("positions"));
        }
        PairList<String, Object> params = new PairList<>();
        if (peer.has("start")) {
            params.add(PositionalEncodingBlock.START_POSITION, peer.integer("start"));
        }
        return forward(block, inputs, params);
    }

    /** Initializes a block and sets its parameters to those of the case: each of them, and no other. */
    void initialize(Block block, Shape... shapes) throws IOException, MalformedModelException {
        block.initialize(manager, DataType.FLOAT32, shapes);
        Map<String, NDArray> values = peer.parameters(manager);
        for (Pair<String, Parameter> pair : block.getParameters()) {
            String name = name(pair.getKey());
            if (peer.hasArray("reversed." + name)) {
                peer.loadReversed("reversed." + name, pair.getValue());
                continue;
            }
            NDArray value = values.remove(name);
            NDArray target = pair.getValue().getArray();
            if (value == null || !value.getShape().equals(target.getShape())) {
                throw new AssertionError("the parameter " + name + " " + target.getShape() + " of " + block + " gets "
                        + (value == null
                                ? "nothing; left are " + values.keySet()
                                : value.getShape().toString()));
            }
            value.copyTo(target);
        }
        if (!values.isEmpty()) {
            throw new AssertionError(block + " has no parameters " + List.copyOf(values.keySet()));
        }
    }

    /** The name of a parameter without the indices that DJL writes before the names of children. */
    static String name(String key) {
        return key.replaceAll("(^|_)\\d+(?=[a-zA-Z])", "$1");
    }
}
