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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * A block with a record of settings. Its description, its arguments and its section of a model file are derived from
 * the record; a model file with other options is rejected.
 */
public abstract class OptionsBlock extends AbstractBlock implements HasArguments {

    /** The number of forwards while the block is initialized, loaded or cleared. */
    private static final int CHANGING = -1;

    /**
     * The number of forwards while a block around this one is changed. Blocks between the two may run forwards in the
     * thread of the change, which are added.
     */
    private static final int HELD = Integer.MIN_VALUE;

    private final Record options;

    /** The blocks within this one that are options. */
    private final List<Block> optionBlocks = new ArrayList<>();

    private final List<ConstantTable> tables = new ArrayList<>();

    /** Warns of the first inputs that are probably mistakes. */
    protected final InputMistakes mistakes = new InputMistakes();

    /** The number of forwards that run now, {@link #CHANGING}, or from {@link #HELD} on. */
    private final AtomicInteger forwards = new AtomicInteger();

    /** The thread that changes this block, or one around it; null for none. */
    private volatile Thread changer;

    /** This block and its children, which it may use in other ways than their forwards; null before the first use. */
    private OptionsBlock[] used;

    /** Whether the last load failed. */
    private volatile boolean isIncomplete;

    /** Whether the parameters were loaded since the last training. */
    private volatile boolean isLoaded;

    /** Whether children get the state that is not in their sections of a model file. */
    private boolean isLoading;

    private volatile boolean isMaskTaken;

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

    /** Notes that a block around this one, or its caller, takes the mask of padding. */
    protected final void takeMaskOf(OptionsBlock block) {
        block.isMaskTaken = true;
    }

    /** Whether something else than this block takes the mask of padding. */
    protected final boolean isMaskTaken() {
        return isMaskTaken;
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
        if (training && isLoaded) {
            requireGradients();
        }
        return reading(() -> compute(parameterStore, inputs, training, params));
    }

    /** Computes a result from parameters or tables. */
    @FunctionalInterface
    protected interface Reading<T, E extends Exception> {
        /** {@return the result} */
        T get() throws E;
    }

    /** DJL lets an initialized block record gradients; a loaded one does so from its first training on. */
    private void requireGradients() {
        isLoaded = false;
        for (Parameter parameter : getParameters().values()) {
            if (parameter.requiresGradient() && parameter.isInitialized()) {
                parameter.getArray().setRequiresGradient(true);
            }
        }
    }

    /**
     * Computes a result from parameters or tables of this block and its children, which are not freed meanwhile: a
     * change of them throws, and the block stays reachable.
     */
    protected final <T, E extends Exception> T reading(Reading<T, E> result) throws E {
        OptionsBlock[] blocks = used();
        int entered = 0;
        try {
            while (entered < blocks.length) {
                blocks[entered].enter();
                entered++;
            }
            return result.get();
        } finally {
            while (entered > 0) {
                entered--;
                blocks[entered].forwards.decrementAndGet();
            }
            Reference.reachabilityFence(this);
        }
    }

    private OptionsBlock[] used() {
        OptionsBlock[] blocks = used;
        if (blocks == null) {
            blocks = Stream.concat(Stream.of(this), getChildren().values().stream())
                    .filter(OptionsBlock.class::isInstance)
                    .toArray(OptionsBlock[]::new);
            used = blocks;
        }
        return blocks;
    }

    private void enter() {
        if (isIncomplete) {
            throw new IllegalStateException("the last load of the block failed: expected a complete block; load a"
                    + " complete file, or call initialize; block: " + this);
        }
        int count = forwards.get();
        while (isOpen(count) && !forwards.compareAndSet(count, count + 1)) {
            count = forwards.get();
        }
        if (!isOpen(count)) {
            throw new IllegalStateException(
                    "the block is being initialized, loaded or cleared: expected a forward before"
                            + " or afterwards; to replace a model in service, load a second one; block: " + this);
        }
    }

    /** Whether a forward may begin. */
    private boolean isOpen(int count) {
        return count >= 0 || (count != CHANGING && changer == Thread.currentThread());
    }

    /**
     * Begins a change of this block. All blocks of this library within it are held until {@link #endChange}, so that
     * each can be changed within this change, and none of them is in use elsewhere.
     *
     * @return the blocks that are held; empty if a change of a block around this one holds them
     */
    private List<OptionsBlock> beginChange() {
        if (changer == Thread.currentThread() && forwards.compareAndSet(HELD, CHANGING)) {
            return List.of();
        }
        List<OptionsBlock> held = new ArrayList<>();
        for (OptionsBlock block : tree()) {
            if (!block.forwards.compareAndSet(0, HELD)) {
                held.forEach(OptionsBlock::release);
                throw new IllegalStateException(
                        "the block is in use: expected no forward of this block; initialize, load or"
                                + " clear it before or afterwards, or load a second model; block: " + block);
            }
            block.changer = Thread.currentThread();
            held.add(block);
        }
        forwards.set(CHANGING);
        return held;
    }

    private void endChange(List<OptionsBlock> held) {
        forwards.set(HELD);
        held.forEach(OptionsBlock::release);
    }

    private void release() {
        changer = null;
        forwards.set(0);
    }

    /** This block and all blocks of this library within it, each once. */
    private Set<OptionsBlock> tree() {
        Set<OptionsBlock> found = new LinkedHashSet<>();
        addTree(this, found);
        return found;
    }

    private static void addTree(Block block, Set<OptionsBlock> found) {
        if (!(block instanceof OptionsBlock own) || found.add(own)) {
            block.getChildren().values().forEach(child -> addTree(child, found));
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
        return section("the model file");
    }

    private ModelFile section(String file) {
        return new ModelFile(file, Settings.classOf(this), options);
    }

    /** The sections of this block and of the blocks of this library within it, each once. */
    final List<ModelFile> sections(String file) {
        return tree().stream().map(block -> block.section(file)).toList();
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
     * @throws MalformedModelException if the file was saved with other options or by another version, is damaged, or
     *     has different numbers for a parameter that several blocks share
     * @throws IllegalStateException if a forward of the block, or of a block within it, runs
     */
    @Override
    public final void loadParameters(NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        List<OptionsBlock> held = beginChange();
        isIncomplete = true;
        try {
            load(manager, is);
            unregisterFromScopes();
            isLoaded = true;
            isIncomplete = false;
        } catch (Throwable e) {
            LoadedParameters.forget(is);
            inputShapes = null;
            try {
                free();
            } catch (RuntimeException failure) {
                e.addSuppressed(failure);
            }
            throw e;
        } finally {
            endChange(held);
        }
    }

    private void load(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        ModelFile section = section();
        LoadedParameters loaded = LoadedParameters.from(is);
        try {
            Shape[] shapes = section.read(is);
            // children first, so that a file with other options is rejected before a large table is read
            for (Block child : ownChildren()) {
                loaded.load(child, manager, is, section);
            }
            for (Parameter parameter : ownParameters()) {
                if (loaded.contains(parameter)) {
                    section.requireSame(is, parameter);
                    continue;
                }
                NDArray array = section.read(is, parameter, manager);
                // DJL takes an array only where there is neither an array nor a shape
                parameter.close();
                parameter.setShape(null);
                parameter.setArray(array);
                loaded.add(parameter);
            }
            if (inputShapes == null) {
                beforeInitialize(shapes);
            }
            moveTables(manager, null);
            completeChildren(manager);
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

    /** Gives children the state that initializing this block would give them and that is not in a model file. */
    private void completeChildren(NDManager manager) {
        dataType = typeOf(this, dataType);
        if (!getChildren().isEmpty()) {
            isLoading = true;
            try {
                initializeChildBlocks(manager, dataType, inputShapes);
            } finally {
                isLoading = false;
            }
        }
    }

    /** The data type of a block's parameters, or another type if it has none. */
    private static DataType typeOf(Block block, DataType otherwise) {
        return block.getParameters().values().stream()
                .filter(Parameter::isInitialized)
                .findFirst()
                .map(parameter -> parameter.getArray().getDataType())
                .orElse(otherwise);
    }

    /**
     * Initializes a child in {@link #initializeChildBlocks}. That method is also called when this block was loaded;
     * children that are options then have their state from their own sections, except for the data type of one without
     * parameters.
     *
     * @param child null for none
     */
    protected final void initializeChild(Block child, NDManager manager, DataType type, Shape... shapes) {
        if (child == null) {
            return;
        }
        if (!isLoading) {
            child.initialize(manager, type, shapes);
        } else if (!optionBlocks.contains(child)) {
            child.initialize(manager, typeOf(child, type), shapes);
            // unlike initializing, loading does not let parameters record gradients
            child.getParameters()
                    .values()
                    .forEach(parameter -> parameter.getArray().setRequiresGradient(false));
        } else if (child instanceof OptionsBlock own && own.getParameters().isEmpty()) {
            own.tree().forEach(block -> block.dataType = type);
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

    /** Frees everything, also if a block of a user throws, whose exception is thrown afterwards. */
    private void free() {
        RuntimeException failure = null;
        for (Block child : getChildren().values()) {
            try {
                child.clear();
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        super.clear();
        synchronized (this) {
            tables.forEach(ConstantTable::close);
        }
        if (failure != null) {
            throw failure;
        }
    }

    /**
     * {@inheritDoc} Parameters that were freed with their manager are created again. If this fails, the parameters that
     * were created are freed, and the block and those within it are as they were.
     *
     * @param manager the manager that parameters and tables are created with; the tables live with it from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes the shapes of the inputs; -1 stands for an unknown size
     * @throws IllegalArgumentException if the data type is not supported or differs from the present parameters, the
     *     block cannot have inputs of these shapes, or the machine has no memory for a table
     * @throws IllegalStateException if a forward of the block, or of a block within it, runs
     * @throws UnsupportedOperationException if the engine cannot create a parameter in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, Settings.classOf(this));
        requireShapes(inputShapes);
        List<OptionsBlock> held = beginChange();
        List<State> before = tree().stream().map(State::of).toList();
        List<Parameter> created = new ArrayList<>();
        boolean isComplete = false;
        try {
            closeReleased();
            requireCreatable(manager, dataType);
            getParameters().values().stream()
                    .filter(parameter -> !parameter.isInitialized())
                    .forEach(created::add);
            moveTables(manager, dataType);
            super.initialize(manager, dataType, inputShapes);
            unregisterFromScopes();
            this.dataType = dataType;
            isIncomplete = false;
            isLoaded = false;
            isComplete = true;
        } catch (UnsupportedOperationException e) {
            throw unsupported(manager, dataType, e);
        } finally {
            if (!isComplete) {
                created.forEach(Parameter::close);
                before.forEach(State::restore);
            }
            endChange(held);
        }
    }

    /** DJL considers a parameter initialized as long as it has an array, even a closed one. */
    private void closeReleased() {
        for (Parameter parameter : getParameters().values()) {
            if (parameter.isInitialized() && parameter.getArray().isReleased()) {
                parameter.close();
            }
        }
    }

    private void requireCreatable(NDManager manager, DataType dataType) {
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
    }

    /** What a block is apart from its parameters. */
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    private record State(
            OptionsBlock block, Shape[] inputShapes, DataType dataType, NDManager owner, boolean isIncomplete) {

        static State of(OptionsBlock block) {
            return new State(block, block.inputShapes, block.dataType, block.owner, block.isIncomplete);
        }

        void restore() {
            block.inputShapes = inputShapes;
            block.dataType = dataType;
            block.isIncomplete = isIncomplete;
            block.moveTables(owner, null);
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
        List<OptionsBlock> held = beginChange();
        try {
            free();
        } finally {
            endChange(held);
        }
    }

    /** Returns the options of the block and of the blocks within it. */
    @Override
    public String toString() {
        return Settings.describe(options);
    }
}
