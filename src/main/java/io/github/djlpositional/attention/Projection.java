package io.github.djlpositional.attention;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.internal.ReadAhead;
import io.github.djlpositional.internal.StoredParameter;
import io.github.djlpositional.internal.StoredShape;
import java.io.DataInputStream;
import java.io.IOException;

/** DJL's linear block, from D to D, which takes its sizes from nobody's model file. */
final class Projection extends Linear {

    private final int size;

    /**
     * Describes a projection.
     *
     * @param size D
     * @param bias whether it adds a bias
     */
    Projection(int size, boolean bias) {
        super(Linear.builder().setUnits(size).optBias(bias));
        this.size = size;
    }

    private Shape shapeOf(Parameter parameter) {
        return parameter.getType() == Parameter.Type.BIAS ? new Shape(size) : new Shape(size, size);
    }

    @Override
    public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        ReadAhead reader = new ReadAhead(is);
        requireSizes(reader.ahead());
        DataInputStream checked = reader.again();
        loadMetadata(checked.readByte(), checked);
        for (Parameter parameter : getDirectParameters().values()) {
            StoredParameter.load(parameter, shapeOf(parameter), toString(), manager, is);
        }
    }

    private void requireSizes(DataInputStream ahead) throws IOException, MalformedModelException {
        byte found = ahead.readByte();
        if (found != version) {
            throw new MalformedModelException("the model file has version " + found
                    + " of a projection, DJL writes version " + version
                    + ": load the file that belongs to this block, or use the library's version that saved it");
        }
        long units = ahead.readLong();
        long inputs = ahead.readLong();
        StoredShape.read(ahead);
        if (units != size || inputs != size) {
            throw new MalformedModelException("the model file has a projection from " + inputs + " to " + units
                    + ": allowed is one from " + size + " to " + size + "; load the file that belongs to the block");
        }
    }
}
