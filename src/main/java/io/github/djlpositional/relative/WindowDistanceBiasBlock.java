package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.internal.ConstantTable;
import java.util.function.IntUnaryOperator;

/**
 * A bias that depends on the distance in a two-dimensional window. In a window of width w, the cell in row y and column
 * x has the coordinate y · (2w - 1) + x, so that each difference of two coordinates stands for one difference of rows
 * and of columns.
 */
abstract class WindowDistanceBiasBlock extends DistanceBiasBlock {

    private final ConstantTable queryCoordinates;
    private final ConstantTable keyCoordinates;

    /**
     * Creates a block.
     *
     * @param tokens the number of positions
     * @param queryCoordinate the coordinate of a query by its position
     * @param keyCoordinate the coordinate of a key
     */
    WindowDistanceBiasBlock(
            Record options,
            int headCount,
            int tokens,
            IntUnaryOperator queryCoordinate,
            IntUnaryOperator keyCoordinate) {
        super(options, headCount);
        queryCoordinates = addTable(Window.coordinates(tokens, queryCoordinate));
        keyCoordinates = queryCoordinate == keyCoordinate
                ? queryCoordinates
                : addTable(Window.coordinates(tokens, keyCoordinate));
    }

    @Override
    public final NDArray coordinates(AttentionCall call, NDArray positions, boolean areKeys) {
        return Window.coordinates(
                areKeys ? keyCoordinates : queryCoordinates, areKeys ? call.keys() : call.queries(), positions, this);
    }
}
