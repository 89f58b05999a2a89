package io.github.djlpositional;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Embedding;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.MachineMemory;
import io.github.djlpositional.internal.StoredParameter;
import io.github.djlpositional.internal.StoredShape;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;

/** DJL's embedding, by token id, with a row for padding that starts as zeros. */
final class TokenEmbedding extends Embedding<Long> {

    /** What DJL 0.35.1 writes before an embedding. */
    private static final byte FILE_VERSION = 6;

    private final int vocabularySize;
    private final int size;
    private final int paddingIndex;

    /**
     * Describes a table of token vectors.
     *
     * @param vocabularySize the number of rows
     * @param embeddingSize the number of columns
     * @param paddingIndex the row that starts as zeros, or -1 for none
     * @param sparseGradients whether gradients hold the rows in use alone
     */
    TokenEmbedding(int vocabularySize, int embeddingSize, int paddingIndex, boolean sparseGradients) {
        super(new Builder()
                .optNumEmbeddings(vocabularySize)
                .setEmbeddingSize(embeddingSize)
                .optUseDefault(false)
                .optSparseFormat(sparseGradients ? SparseFormat.COO : SparseFormat.DENSE));
        this.vocabularySize = vocabularySize;
        size = embeddingSize;
        this.paddingIndex = paddingIndex;
    }

    Parameter table() {
        return embedding;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        try {
            return super.forwardInternal(parameterStore, inputs, training, params);
        } catch (IllegalArgumentException e) {
            if (sparseFormat == SparseFormat.DENSE) {
                throw e;
            }
            String engine = inputs.head().getManager().getEngine().getEngineName();
            throw new IllegalArgumentException(
                    "sparse gradients were asked for: " + engine
                            + " has dense ones alone; build the block without optSparseGradients(true)",
                    e);
        }
    }

    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        MachineMemory.requireRoomFor(embedding, new Shape(vocabularySize, size), dataType, manager.getDevice());
        DataTypes.initializing(
                "token table", manager, dataType, () -> super.initialize(manager, dataType, inputShapes));
        NDScope.unregister(embedding.getArray());
    }

    /** DJL would take the sizes and the format of the gradients from the file: they are this block's. */
    @Override
    public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        byte found = is.readByte();
        if (found != FILE_VERSION) {
            throw new MalformedModelException("the model file has version " + found
                    + " of a token embedding, DJL writes version " + FILE_VERSION
                    + ": load the file that belongs to this block, or use the library's version that saved it");
        }
        Shape[] shapes = StoredShape.readAll(is);
        SparseFormat.fromValue(is.readInt());
        StoredParameter.load(embedding, new Shape(vocabularySize, size), toString(), manager, is);
        inputShapes = shapes;
        NDScope.unregister(embedding.getArray());
    }

    @Override
    public String toString() {
        return "TokenEmbedding(vocabularySize=" + vocabularySize + ", embeddingSize=" + size + ")";
    }

    @Override
    public void prepare(Shape[] inputShapes) {
        super.prepare(inputShapes);
        Initializer chosen = embedding.getInitializer();
        if (paddingIndex >= 0 && !(chosen instanceof ZeroRow)) {
            embedding.setInitializer(new ZeroRow(chosen, paddingIndex));
        }
    }

    @Override
    public boolean hasItem(Long item) {
        return item >= 0 && item < vocabularySize;
    }

    @Override
    public long embed(Long item) {
        return item;
    }

    @Override
    public Optional<Long> unembed(long index) {
        return hasItem(index) ? Optional.of(index) : Optional.empty();
    }

    @Override
    public byte[] encode(Long input) {
        return ByteBuffer.allocate(Long.BYTES).putLong(input).array();
    }

    @Override
    public Long decode(byte[] byteArray) {
        return ByteBuffer.wrap(byteArray).getLong();
    }

    /** Another initializer, and then one row of zeros. */
    private record ZeroRow(Initializer others, int row) implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            NDArray array = others.initialize(manager, shape, dataType);
            // not set(index, 0): DJL would leave the number open, as an array of the manager's
            try (NDArray zeros = manager.zeros(new Shape(1, shape.get(1)), dataType)) {
                array.set(NDIndex.sliceAxis(0, row, row + 1L), zeros);
            }
            return array;
        }
    }

    private static final class Builder extends BaseBuilder<Long, Builder> {
        @Override
        protected Builder setType(Class<Long> embeddingType) {
            this.embeddingType = embeddingType;
            return self();
        }

        @Override
        protected Builder self() {
            return this;
        }
    }
}
