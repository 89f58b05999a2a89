package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import io.github.djlpositional.arguments.HasArguments;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.nio.BufferUnderflowException;
import java.util.List;
import java.util.Map;

/** A block whose model file holds its settings, and which refuses a file of other settings. */
public abstract class ConfiguredBlock extends AbstractBlock implements HasArguments {

    /** The version of the model files of all these blocks. */
    private static final byte VERSION = 1;

    private final BlockSettings settings;

    /**
     * Makes a block.
     *
     * @param settings what it is built with
     */
    protected ConfiguredBlock(BlockSettings settings) {
        super(VERSION);
        this.settings = settings;
    }

    /**
     * Called once a file has been read.
     *
     * @param manager what the block was loaded with
     */
    protected void loaded(NDManager manager) {}

    /**
     * Drops out a part of a forward's answer, in training alone.
     *
     * @param encoded the answer, which only this forward holds; closed here where something is dropped
     * @param rate the part that is dropped
     * @param training whether this is training
     * @return the answer, or a new array
     */
    protected static NDList dropOut(NDArray encoded, float rate, boolean training) {
        if (!training || rate == 0) {
            return new NDList(encoded);
        }
        try (encoded) {
            return Dropout.dropout(encoded, rate, true);
        }
    }

    @Override
    protected final void saveMetadata(DataOutputStream os) throws IOException {
        if (inputShapes == null) {
            throw new IllegalStateException(
                    "the block " + this + " has no input shapes to save: allowed is one that was"
                            + " initialized or loaded; call initialize(manager, dataType, shapes) before it is saved");
        }
        settings.write(os);
        StoredShape.writeSizes(os, inputShapes);
    }

    /**
     * {@inheritDoc} Whatever the file claims, no array is made of another shape than this block's, or of a data type that no
     * embedding has. A block of the user's own within this one reads its part by itself.
     *
     * @throws MalformedModelException if the file was saved with other settings, by another version, or is damaged; a block
     *     that was not initialized before is not after; one that was may hold some of the file's parameters
     */
    @Override
    public final void loadParameters(NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        boolean mustStayUninitialized = !isInitialized();
        Runnable undo = undo();
        boolean isLoaded = false;
        try {
            loadMetadata(is.readByte(), is);
            for (Parameter parameter : getDirectParameters().values()) {
                StoredParameter.load(parameter, parameter.getShape(), toString(), manager, is);
            }
            for (Block child : getChildren().values()) {
                child.loadParameters(manager, child instanceof LambdaBlock ? checkedLambda(is) : is);
            }
            loaded(manager);
            isLoaded = true;
        } catch (EOFException
                | UTFDataFormatException
                | IllegalArgumentException
                | IndexOutOfBoundsException
                | NegativeArraySizeException
                | BufferUnderflowException e) {
            throw settings.damaged(e);
        } finally {
            if (!isLoaded && mustStayUninitialized) {
                undo.run();
                inputShapes = null;
            }
        }
        keepFromScopes();
    }

    /** The part of DJL's identity block, and of its like: a version, and from the second on the shapes of its inputs. */
    private static DataInputStream checkedLambda(DataInputStream is) throws IOException, MalformedModelException {
        ReadAhead reader = new ReadAhead(is);
        DataInputStream ahead = reader.ahead();
        if (ahead.readByte() > 1) {
            StoredShape.readAll(ahead);
        }
        return reader.again();
    }

    /**
     * What frees whatever a load, or an initialization, brings from now on, should it fail. A child that was there before
     * stays as it is: it may be shared.
     */
    private Runnable undo() {
        List<Parameter> parameters = getDirectParameters().values().stream()
                .filter(parameter -> !parameter.isInitialized())
                .toList();
        List<Block> blocks = getChildren().values().stream()
                .filter(child -> !child.isInitialized())
                .toList();
        return () -> {
            parameters.forEach(Parameter::close);
            blocks.forEach(Block::clear);
        };
    }

    /**
     * {@inheritDoc} Parameters that were freed with their manager are made anew. Should it fail, the block is left as it was.
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... shapes) {
        forgetFreedParameters();
        Shape[] before = inputShapes;
        Runnable undo = undo();
        boolean isDone = false;
        try {
            super.initialize(manager, dataType, shapes);
            isDone = true;
        } finally {
            if (!isDone) {
                undo.run();
                inputShapes = before;
            }
        }
        keepFromScopes();
    }

    /** {@inheritDoc} Frees what its blocks hold too. */
    @Override
    public void clear() {
        super.clear();
        getChildren().values().forEach(Block::clear);
    }

    /** DJL takes a parameter for initialized as long as it has an array, be it a closed one. */
    private void forgetFreedParameters() {
        for (Parameter parameter : getParameters().values()) {
            if (parameter.isInitialized() && parameter.getArray().isReleased()) {
                parameter.close();
            }
        }
    }

    /** A user's scope would close the parameters that were made within it. */
    private void keepFromScopes() {
        for (Parameter parameter : getParameters().values()) {
            if (parameter.isInitialized()) {
                NDScope.unregister(parameter.getArray());
            }
        }
    }

    @Override
    protected final void loadMetadata(byte loadVersion, DataInputStream is)
            throws IOException, MalformedModelException {
        settings.requireVersion(loadVersion, VERSION);
        settings.requireSame(is);
        Shape[] shapes = StoredShape.readSizes(is);
        if (inputShapes == null) {
            beforeInitialize(shapes);
        }
    }

    @Override
    public final Map<String, Object> getArguments() {
        return settings.arguments();
    }

    /** Returns the block's settings by name. */
    @Override
    public String toString() {
        return settings.toString();
    }
}
