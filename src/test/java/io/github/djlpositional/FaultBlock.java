package io.github.djlpositional;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.function.UnaryOperator;

/** A block of a user's, with a parameter, that fails where it is told to. */
final class FaultBlock extends AbstractBlock {

    /** Where it fails. */
    enum Stage {
        INITIALIZE,
        LOAD,
        FORWARD
    }

    /** What it fails with. */
    static final class Fault extends RuntimeException {
        private static final long serialVersionUID = 1;

        Fault(Stage stage) {
            super("the user's block fails in " + stage);
        }
    }

    private final UnaryOperator<NDArray> function;
    private Stage faulty;

    /** Makes one that works. */
    FaultBlock(Shape parameter, UnaryOperator<NDArray> function) {
        this.function = function;
        addParameter(Parameter.builder()
                .setName("own")
                .setType(Parameter.Type.WEIGHT)
                .optShape(parameter)
                .build());
    }

    /** From now on it fails there; null for nowhere. */
    void failIn(Stage stage) {
        faulty = stage;
    }

    private void reach(Stage stage) {
        if (faulty == stage) {
            throw new Fault(stage);
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        reach(Stage.FORWARD);
        return new NDList(function.apply(inputs.head()));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return inputShapes;
    }

    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        super.initialize(manager, dataType, inputShapes);
        // after its parameter is made
        reach(Stage.INITIALIZE);
    }

    @Override
    public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        super.loadParameters(manager, is);
        reach(Stage.LOAD);
    }
}
