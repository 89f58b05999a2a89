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
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.lang.ref.Reference;
import java.nio.BufferUnderflowException;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A block with a record of settings. Its description, its arguments and its section of a model file are derived from
 * the record; a model file with other options is rejected.
 */
public abstract class OptionsBlock extends AbstractBlock implements HasArguments {

    /** The number of forwards while the block is initialized, loaded or cleared. */
    private static final int CHANGING = -1;

    private final Record options;

    /** The blocks within this one that are options. */
    private final List<Block> optionBlocks = new ArrayList<>();

    private final List<ConstantTable> tables = new ArrayList<>();

    /** Warns of the first inputs that are probably mistakes. */
    protected final InputMistakes mistakes = new InputMistakes();

    /** The number of forwards that run now, or {@link #CHANGING}. */
    private final AtomicInteger forwards = new AtomicInteger();

    /** Whether the last load failed. */
    private volatile boolean isIncomplete;

    private NDManager owner;
    private volatile DataType dataType = DataType.FLOAT32;

    /** Creates a block with a record of options. */
    protected OptionsBlock(Record options) {
        this.options = options;
    }

    /**
     * Adds a parameter with its own initializer. It has the type OTHER, so that a trainer's initializer for weights
     * does not replace this one.
     */
    protected final Parameter addParameter(String name, Shape shape, Initializer initializer) {
        return addParameter(Parameter.builder()
                .setName(name)
                .setType(Parameter.Type.OTHER)
                .optShape(shape)
                .optInitializer(initializer)
                .build());
    }

    /** Adds a fully connected layer of known sizes. */
    protected final Linear addProjection(String name, int from, int to, boolean hasBias) {
        Linear projection = Linear.builder().setUnits(to).optBias(hasBias).build();
        projection.prepare(new Shape[] {new Shape(-1, from)});
        return addChildBlock(name, projection);
    }

    /**
     * Adds a block that is an option of this one: a block of this library, or a user's. In a model file it has a
     * section of its own. Other children are blocks of DJL, whose own format may change: their parameters, of known
     * shapes, are in the section of this block.
     */
    protected final <B extends Block> B addChild(String name, B child) {
        optionBlocks.add(child);
        return addChildBlock(name, child);
    }

    /**
     * Adds a table. It lives with the manager that the block was initialized or loaded with last, and is freed by
     * {@link #clear}.
     */
    protected final synchronized ConstantTable addTable(ConstantTable table) {
        tables.add(table);
        if (owner != null) {
            table.moveTo(owner, null);
        }
        return table;
    }

    /** Checks the number of inputs. */
    protected static void requireInputCount(int count, int most, String expected) {
        Check.that(
                count >= 1 && count <= most,
                () -> count + " inputs were given: expected " + expected + "; pass at least 1 and at most " + most);
    }

    /**
     * {@return the outputs of a forward}
     *
     * @see AbstractBlock#forwardInternal(ParameterStore, NDList, boolean, PairList)
     */
    protected abstract NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params);

    @Override
    protected final NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        ForwardParameters.requireInputs(inputs);
        if (params != null && !params.isEmpty()) {
            ForwardParameters.require(params);
            InputMistakes.checkNames(params);
        }
        return reading(() -> compute(parameterStore, inputs, training, params));
    }

    /** Computes a result from parameters or tables. */
    @FunctionalInterface
    protected interface Reading<T, E extends Exception> {
        /** {@return the result} */
        T get() throws E;
    }

    /**
     * Computes a result from parameters or tables, which are not freed meanwhile: a change of this block throws, and
     * the block stays reachable.
     */
    protected final <T, E extends Exception> T reading(Reading<T, E> result) throws E {
        if (isIncomplete) {
            throw new IllegalStateException("the last load of the block failed: expected a complete block; load a"
                    + " complete file, or call initialize; block: " + this);
        }
        if (forwards.getAndUpdate(count -> count == CHANGING ? CHANGING : count + 1) == CHANGING) {
            throw new IllegalStateException(
                    "the block is being initialized, loaded or cleared: expected a forward before"
                            + " or afterwards; to replace a model in service, load a second one; block: " + this);
        }
        try {
            return result.get();
        } finally {
            forwards.decrementAndGet();
            Reference.reachabilityFence(this);
        }
    }

    private void beginChange() {
        if (!forwards.compareAndSet(0, CHANGING)) {
            throw new IllegalStateException(
                    "the block is in use: expected no forward of this block; initialize, load or"
                            + " clear it before or afterwards, or load a second model; block: " + this);
        }
    }

    /** Checks the shapes that the block is initialized with; -1 stands for an unknown size. */
    protected abstract void requireShapes(Shape... inputShapes);

    /** Returns the data type that the block was initialized with last, FLOAT32 before. */
    protected final DataType dataType() {
        return dataType;
    }

    @Override
    public Map<String, Object> getArguments() {
        return Settings.arguments(this, options);
    }

    private ModelFile section() {
        return new ModelFile(Settings.classOf(this), options);
    }

    /** The children with a section of their own. */
    private List<Block> ownChildren() {
        return optionBlocks.stream()
                .filter(child -> !(child instanceof LambdaBlock))
                .toList();
    }

    /** The parameters in this block's section of a model file. */
    private List<Parameter> ownParameters() {
        List<Parameter> parameters = new ArrayList<>(getDirectParameters().values());
        List<Block> others = ownChildren();
        for (Block child : getChildren().values()) {
            if (!others.contains(child)) {
                parameters.addAll(child.getParameters().values());
            }
        }
        return parameters;
    }

    /**
     * Applies dropout to the result of a forward, in training only. The result is closed if a new array is returned.
     */
    protected static NDList dropOut(NDArray result, float rate, boolean training) {
        if (!training || rate == 0) {
            return new NDList(result);
        }
        try (result) {
            return Dropout.dropout(result, rate, true);
        }
    }

    @Override
    public final void saveParameters(DataOutputStream os) throws IOException {
        if (inputShapes == null) {
            throw new IllegalStateException(
                    "there are no input shapes to save: expected a block that was initialized or loaded; call"
                            + " initialize(manager, dataType, shapes) before saving it; block: " + this);
        }
        reading(() -> {
            ModelFile section = section();
            section.write(os, inputShapes);
            for (Block child : ownChildren()) {
                child.saveParameters(os);
            }
            for (Parameter parameter : ownParameters()) {
                section.write(os, parameter);
            }
            return null;
        });
    }

    /**
     * {@inheritDoc} No array is created that does not have the shape of one of the block's parameters and a data type
     * of embeddings. If the load fails, the parameters and tables of this block and of the blocks within it are freed,
     * and a forward throws until the block is loaded or initialized again.
     *
     * @throws MalformedModelException if the file was saved with other options or by another version, or is damaged
     * @throws IllegalStateException if a forward of the block runs
     */
    @Override
    public final void loadParameters(NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        beginChange();
        isIncomplete = true;
        try {
            load(manager, is);
            unregisterFromScopes();
            isIncomplete = false;
        } finally {
            if (isIncomplete) {
                inputShapes = null;
                free();
            }
            forwards.set(0);
        }
    }

    private void load(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        ModelFile section = section();
        try {
            Shape[] shapes = section.read(is);
            // children first, so that a file with other options is rejected before a large table is read
            for (Block child : ownChildren()) {
                child.loadParameters(manager, is);
            }
            for (Parameter parameter : ownParameters()) {
                NDArray array = section.read(is, parameter, manager);
                // DJL takes an array only where there is neither an array nor a shape
                parameter.close();
                parameter.setShape(null);
                parameter.setArray(array);
            }
            if (inputShapes == null) {
                beforeInitialize(shapes);
            }
            moveTables(manager, null);
        } catch (EOFException
                | UTFDataFormatException
                | CharacterCodingException
                | IllegalArgumentException
                | IndexOutOfBoundsException
                | NegativeArraySizeException
                | BufferUnderflowException e) {
            throw section.damaged(e);
        }
    }

    private synchronized void moveTables(NDManager manager, DataType type) {
        tables.forEach(table -> table.moveTo(manager, type));
        owner = manager;
    }

    /** Unregisters parameters from a scope of the user that they were created in. */
    private void unregisterFromScopes() {
        getParameters().values().stream()
                .filter(Parameter::isInitialized)
                .forEach(parameter -> NDScope.unregister(parameter.getArray()));
    }

    private void free() {
        // children first: one that is in use throws while all parameters are still there
        getChildren().values().forEach(Block::clear);
        super.clear();
        synchronized (this) {
            tables.forEach(ConstantTable::close);
        }
    }

    /**
     * {@inheritDoc} Parameters that were freed with their manager are created again. If this fails, the parameters that
     * were created are freed.
     *
     * @param manager the manager that parameters and tables are created with; the tables live with it from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes the shapes of the inputs; -1 stands for an unknown size
     * @throws IllegalArgumentException if the data type is not supported or differs from the present parameters, the
     *     block cannot have inputs of these shapes, or the machine has no memory for a table
     * @throws IllegalStateException if a forward of the block runs
     * @throws UnsupportedOperationException if the engine cannot create a parameter in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, Settings.classOf(this));
        requireShapes(inputShapes);
        for (Parameter parameter : getParameters().values()) {
            // DJL considers a parameter initialized as long as it has an array, even a closed one
            if (parameter.isInitialized() && parameter.getArray().isReleased()) {
                parameter.close();
            }
        }
        for (Parameter parameter : ownParameters()) {
            Check.that(
                    !parameter.isInitialized() || parameter.getArray().getDataType() == dataType,
                    () -> "the parameter " + parameter.getName() + " is initialized in "
                            + parameter.getArray().getDataType() + ": expected the same data type, not " + dataType
                            + "; call clear() first to create it again; block: " + this);
            if (!parameter.isInitialized()) {
                HostData.requireRoomFor(parameter.getShape(), dataType, manager.getDevice());
            }
        }
        beginChange();
        Shape[] before = this.inputShapes;
        List<Parameter> created = getParameters().values().stream()
                .filter(parameter -> !parameter.isInitialized())
                .toList();
        // others may be shared, and do not change
        List<Block> children =
                ownChildren().stream().filter(child -> !child.isInitialized()).toList();
        boolean isComplete = false;
        try {
            moveTables(manager, dataType);
            super.initialize(manager, dataType, inputShapes);
            unregisterFromScopes();
            this.dataType = dataType;
            isIncomplete = false;
            isComplete = true;
        } catch (UnsupportedOperationException e) {
            throw unsupported(manager, dataType, e);
        } finally {
            if (!isComplete) {
                created.forEach(Parameter::close);
                children.forEach(Block::clear);
                this.inputShapes = before;
            }
            forwards.set(0);
        }
    }

    private UnsupportedOperationException unsupported(
            NDManager manager, DataType type, UnsupportedOperationException e) {
        if (e.getCause() instanceof UnsupportedOperationException) {
            // from a block within this one
            return e;
        }
        return new UnsupportedOperationException(
                manager.getEngine().getEngineName() + " cannot create the parameters of "
                        + Settings.classOf(this) + " in " + type + " (" + e.getMessage()
                        + "): expected float32 or float64; use one of these",
                e);
    }

    /**
     * Frees the parameters and tables of this block and the blocks within it. Tables are created again when they are
     * needed.
     *
     * @throws IllegalStateException if a forward of the block, or of a block within it, runs
     */
    @Override
    public void clear() {
        beginChange();
        try {
            free();
        } finally {
            forwards.set(0);
        }
    }

    /** Returns the options of the block and of the blocks within it. */
    @Override
    public String toString() {
        return Settings.describe(options);
    }
}
