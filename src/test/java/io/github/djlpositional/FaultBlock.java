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

/** A user's block with a parameter. It fails at a chosen stage. */
final class FaultBlock extends AbstractBlock {

    /** A stage at which it can fail. */
    enum Stage {
        INITIALIZE,
        LOAD,
        FORWARD
    }

    static final class Fault extends RuntimeException {
        private static final long serialVersionUID = 1;

        Fault(Stage stage) {
            super("the user's block fails in " + stage);
        }
    }

    private final UnaryOperator<NDArray> function;
    private Stage faulty;

    /** Creates a block that does not fail. */
    FaultBlock(Shape parameter, UnaryOperator<NDArray> function) {
        this.function = function;
        addParameter(Parameter.builder()
                .setName("own")
                .setType(Parameter.Type.WEIGHT)
                .optShape(parameter)
                .build());
    }

    /** Sets the stage at which it fails from now on; null for none. */
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
        // after its parameter was created
        reach(Stage.INITIALIZE);
    }

    @Override
    public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        super.loadParameters(manager, is);
        reach(Stage.LOAD);
    }
}
