package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import java.io.DataInputStream;
import java.io.IOException;

/**
 * A parameter in a model file. DJL takes what the file has: an array of any shape, as many bytes as it claims, and BFLOAT16,
 * of which PyTorch ends the whole JVM. So all of that is checked before DJL makes an array.
 */
public final class StoredParameter {

    private static final char PRESENT = 'P';
    private static final byte VERSION = 1;
    private static final String ARRAY = "NDAR";
    private static final int ARRAY_VERSIONS = 3;

    private final Parameter parameter;
    private final Shape expected;
    private final String block;

    private StoredParameter(Parameter parameter, Shape expected, String block) {
        this.parameter = parameter;
        this.expected = expected;
        this.block = block;
    }

    /**
     * Loads a parameter.
     *
     * @param parameter what is loaded
     * @param expected its shape
     * @param block whose it is, for the message
     * @param manager what the array is made with
     * @param is at the parameter
     * @throws MalformedModelException if the file has another shape, or no numbers of a data type of embeddings
     */
    public static void load(Parameter parameter, Shape expected, String block, NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        new StoredParameter(parameter, expected, block).load(manager, is);
    }

    private void load(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        ReadAhead reader = new ReadAhead(is);
        DataInputStream ahead = reader.ahead();
        // of anything else DJL says what is wrong, or it takes the parameter for one without an array
        if (ahead.readChar() == PRESENT
                && ahead.readByte() == VERSION
                && ahead.readUTF().equals(parameter.getName())) {
            requireArray(ahead);
        }
        parameter.load(manager, reader.again());
        if (!parameter.isInitialized()) {
            throw other("no array");
        }
    }

    private void requireArray(DataInputStream ahead) throws IOException, MalformedModelException {
        String kind = ahead.readUTF();
        int version = ahead.readInt();
        if (!kind.equals(ARRAY) || version < 1 || version > ARRAY_VERSIONS) {
            throw other("an array of kind '" + kind + "', version " + version);
        }
        if (version > 1 && ahead.readByte() == 1) {
            ahead.readUTF(); // its name
        }
        ahead.readUTF(); // its sparse format, which DJL does not look at
        String type = ahead.readUTF();
        Shape shape = StoredShape.read(ahead);
        if (!shape.equals(expected)) {
            throw other(shape.toString());
        }
        if (version > 2) {
            ahead.readByte(); // its byte order
        }
        int bytes = ahead.readInt();
        if (bytes != expected.size() * requireEmbedding(type).getNumOfBytes()) {
            throw other(bytes + " bytes of " + type);
        }
    }

    private DataType requireEmbedding(String name) throws MalformedModelException {
        for (DataType type : DataType.values()) {
            if (type.name().equals(name) && DataTypes.isEmbedding(type)) {
                return type;
            }
        }
        throw new MalformedModelException("the model file has data type " + name + " for " + parameter.getName()
                + ": allowed are FLOAT16, FLOAT32 and FLOAT64; convert the model where it was made, or load the file that"
                + " belongs to " + block);
    }

    private MalformedModelException other(String found) {
        return new MalformedModelException("the model file has " + found + " for " + parameter.getName()
                + ": allowed is " + expected + " of " + block + "; load the file that belongs to it");
    }
}
