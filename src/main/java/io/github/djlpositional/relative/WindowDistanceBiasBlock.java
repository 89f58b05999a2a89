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

    private final ConstantTable ofQueries;
    private final ConstantTable ofKeys;

    /**
     * Creates a block.
     *
     * @param tokens the number of positions
     * @param ofQuery the coordinate of a query by its position
     * @param ofKey the coordinate of a key
     */
    WindowDistanceBiasBlock(
            Record options, int headCount, int tokens, IntUnaryOperator ofQuery, IntUnaryOperator ofKey) {
        super(options, headCount);
        ofQueries = addTable(Window.coordinates(tokens, ofQuery));
        ofKeys = ofQuery == ofKey ? ofQueries : addTable(Window.coordinates(tokens, ofKey));
    }

    @Override
    public final NDArray coordinates(AttentionCall call, NDArray positions, boolean areKeys) {
        return Window.coordinates(
                areKeys ? ofKeys : ofQueries, areKeys ? call.keys() : call.queries(), positions, this);
    }
}
