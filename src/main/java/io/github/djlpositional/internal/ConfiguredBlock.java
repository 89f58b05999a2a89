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
import io.github.djlpositional.arguments.HasArguments;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.lang.ref.Reference;
import java.nio.BufferUnderflowException;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A block with a record of settings. Its description, its arguments and its section of a model file are derived from
 * the record; a model file with other settings is refused.
 */
public abstract class ConfiguredBlock extends AbstractBlock implements HasArguments {

    /** The blocks that the outermost save of this library has written to a stream: a shared one is written once. */
    private static final Map<DataOutputStream, List<Block>> SAVES = new ConcurrentHashMap<>();

    /** The outermost loads of this library by their streams. */
    private static final Map<DataInputStream, Change> LOADS = new ConcurrentHashMap<>();

    private final Record settings;
    private final Map<String, Block> configuredChildren = new LinkedHashMap<>();
    private final List<ConstantTable> tables = new ArrayList<>();

    /** Warns of the first inputs that are probably mistakes. */
    protected final InputMistakes mistakes = new InputMistakes();

    /** Held for reading by forwards, for writing by changes of parameters and tables; waited for by neither. */
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

    /** The locks for reading of this block and of the children whose tables and parameters it may read itself. */
    private final List<Lock> readLocks = new ArrayList<>(List.of(lock.readLock()));

    private NDManager owner;
    private volatile DataType dataType = DataType.FLOAT32;

    /** Creates a block with a record of settings. */
    protected ConfiguredBlock(Record settings) {
        this.settings = settings;
    }

    /**
     * Adds a parameter with an initializer of its own. It has the type OTHER, so that a trainer's initializer for
     * weights does not replace that.
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
     * Adds a child that is a setting of this block: a block of this library, or a user's. The section of this block in
     * a model file has its class name, and the arguments of this block have its arguments. Other children are blocks of
     * DJL, whose own format may change: their parameters, of known shapes, are in the section of this block.
     */
    protected final <B extends Block> B addConfiguredChild(String name, B child) {
        configuredChildren.put(name, child);
        if (child instanceof ConfiguredBlock configured) {
            readLocks.add(configured.lock.readLock());
        }
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
        if (params != null && !params.isEmpty()) {
            Positions.requireParameters(params);
            if (!inputs.isEmpty()) {
                mistakes.checkNames(params, inputs.head().getDevice());
            }
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
     * Returns a result that is computed from parameters or tables. Meanwhile they are not freed: neither by a change,
     * which throws, nor by the garbage collector.
     */
    protected final <T, E extends Exception> T reading(Reading<T, E> result) throws E {
        int held = 0;
        try {
            while (held < readLocks.size()) {
                if (!readLocks.get(held).tryLock()) {
                    throw new IllegalStateException(this + " is being initialized, loaded or cleared in another thread:"
                            + " expected a block at rest; use it before or afterwards");
                }
                held++;
            }
            return result.get();
        } finally {
            while (held > 0) {
                readLocks.get(--held).unlock();
            }
            Reference.reachabilityFence(this);
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
        Map<String, Object> arguments = new LinkedHashMap<>(Records.write(settings));
        configuredChildren.forEach((name, child) -> arguments.put(name, argumentsOf(child)));
        return Collections.unmodifiableMap(arguments);
    }

    /** Returns the type and the arguments of a child, in a new map. */
    protected final Map<String, Object> argumentsOf(Block child) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        if (child instanceof ConfiguredBlock configured) {
            arguments.put(Records.TYPE, child.getClass().getSimpleName());
            arguments.putAll(configured.getArguments());
        } else {
            throw new UnsupportedOperationException(
                    "the block " + child.getClass().getName() + " within "
                            + getClass().getSimpleName()
                            + " has no arguments: expected a block of this library; create the outer block with its builder, in a"
                            + " BlockFactory of your own");
        }
        return arguments;
    }

    private ModelFile section() {
        Map<String, String> classes = new LinkedHashMap<>();
        configuredChildren.forEach(
                (name, child) -> classes.put(name, child.getClass().getSimpleName()));
        return new ModelFile(getClass().getSimpleName(), settings, classes);
    }

    /** The children with a section of their own. */
    private List<Block> ownChildren() {
        return configuredChildren.values().stream()
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
                    "the block " + this + " has no input shapes to save: expected a block that was"
                            + " initialized or loaded; call initialize(manager, dataType, shapes) before saving it");
        }
        boolean isOutermost = SAVES.putIfAbsent(os, new ArrayList<>()) == null;
        try {
            reading(() -> save(os, SAVES.get(os)));
        } finally {
            if (isOutermost) {
                SAVES.remove(os);
            }
        }
    }

    private Void save(DataOutputStream os, List<Block> saved) throws IOException {
        if (saved.contains(this)) {
            ModelFile.writeReference(os, saved.indexOf(this));
            return null;
        }
        saved.add(this);
        ModelFile section = section();
        section.write(os, inputShapes);
        for (Block child : ownChildren()) {
            child.saveParameters(os);
        }
        for (Parameter parameter : ownParameters()) {
            section.write(os, parameter);
        }
        return null;
    }

    /**
     * {@inheritDoc} No array is created that does not have the shape of one of the block's parameters and a data type
     * of embeddings. The parameters of this block, and of the blocks of this library within it, are replaced when all
     * are read; until then the memory holds both. A user's block within this one reads its own section, and may keep a
     * part of it if the load fails.
     *
     * @throws MalformedModelException if the file was saved with other settings or by another version, or is damaged.
     *     The block is then as it was before.
     * @throws IllegalStateException if another thread uses the block, or a forward of this thread loads it
     */
    @Override
    public final void loadParameters(NDManager manager, DataInputStream is)
            throws IOException, MalformedModelException {
        Change outermost = LOADS.get(is);
        if (outermost != null) {
            load(manager, is, outermost);
            return;
        }
        try (Change change = new Change()) {
            LOADS.put(is, change);
            load(manager, is, change);
            change.complete();
        } finally {
            LOADS.remove(is);
        }
    }

    private void load(NDManager manager, DataInputStream is, Change change)
            throws IOException, MalformedModelException {
        ModelFile section = section();
        try {
            if (section.readReference(is, change.loaded.indexOf(this))) {
                return;
            }
            change.loaded.add(this);
            Shape[] shapes = section.read(is);
            // children first, so that a file with other settings is refused before a large table is read
            for (Block child : ownChildren()) {
                child.loadParameters(manager, is);
            }
            for (Parameter parameter : ownParameters()) {
                change.replace(parameter, section.read(is, parameter, manager));
            }
            change.steps.add(() -> {
                if (inputShapes == null) {
                    beforeInitialize(shapes);
                }
                moveTables(manager, null);
            });
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

    /**
     * A load, an initialization or {@link #clear}. Unless it completes, it frees what it has created. No forward of
     * this block, or of a block of this library within it, may run meanwhile.
     */
    private final class Change implements AutoCloseable {

        private final List<Lock> locks = new ArrayList<>();
        private final Shape[] before = inputShapes;
        private final List<Parameter> created = getParameters().values().stream()
                .filter(parameter -> !parameter.isInitialized())
                .toList();

        /** Children that were initialized before may be shared, and are left as they are. */
        private final List<Block> blocks =
                ownChildren().stream().filter(child -> !child.isInitialized()).toList();

        /** The blocks that a load has read, for references to them. */
        private final List<Block> loaded = new ArrayList<>();

        /** What a load has read, and what it changes when all is read. */
        private final List<NDArray> arrays = new ArrayList<>();

        private final List<Runnable> steps = new ArrayList<>();

        private boolean isComplete;

        Change() {
            if (!lock(ConfiguredBlock.this)) {
                locks.forEach(Lock::unlock);
                throw new IllegalStateException(
                        ConfiguredBlock.this + " or a block within it is in use: expected no other"
                                + " thread, and no forward of this one, that uses it; initialize, load or clear it before or"
                                + " afterwards, or use a separate block");
            }
        }

        private boolean lock(Block block) {
            if (block instanceof ConfiguredBlock configured) {
                Lock own = configured.lock.writeLock();
                if (!own.tryLock()) {
                    return false;
                }
                locks.add(own);
            }
            return block.getChildren().values().stream().allMatch(this::lock);
        }

        void replace(Parameter parameter, NDArray array) {
            arrays.add(array);
            steps.add(() -> {
                // DJL takes an array only where there is neither an array nor a shape
                parameter.close();
                parameter.setShape(null);
                parameter.setArray(array);
            });
        }

        /** Keeps what was created, also after the end of a scope of the user that it was created in. */
        void complete() {
            steps.forEach(Runnable::run);
            getParameters().values().stream()
                    .filter(Parameter::isInitialized)
                    .forEach(parameter -> NDScope.unregister(parameter.getArray()));
            isComplete = true;
        }

        @Override
        public void close() {
            if (!isComplete) {
                arrays.forEach(NDArray::close);
                created.forEach(Parameter::close);
                blocks.forEach(Block::clear);
                inputShapes = before;
            }
            locks.forEach(Lock::unlock);
        }
    }

    /**
     * {@inheritDoc} Parameters that were freed with their manager are created again. If this fails, the block is as it
     * was before.
     *
     * @param manager the manager that parameters and tables are created with; the tables live with it from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes the shapes of the inputs; -1 stands for an unknown size
     * @throws IllegalArgumentException if the data type is another, or another than that of the present parameters, the
     *     block cannot have inputs of these shapes, or the machine has no memory for a table
     * @throws IllegalStateException if another thread uses the block, or a forward of this thread initializes it
     * @throws UnsupportedOperationException if the engine cannot create a parameter in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, this);
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
                    () -> "the parameter " + parameter.getName() + " of " + this + " is initialized in "
                            + parameter.getArray().getDataType() + ": expected the same data type, not " + dataType
                            + "; call clear() first to create it again");
            if (!parameter.isInitialized()) {
                HostData.requireRoomFor(parameter.getShape(), dataType, manager.getDevice());
            }
        }
        try (Change change = new Change()) {
            moveTables(manager, dataType);
            super.initialize(manager, dataType, inputShapes);
            change.complete();
            this.dataType = dataType;
        } catch (UnsupportedOperationException e) {
            throw unsupported(manager, dataType, e);
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
                        + getClass().getSimpleName() + " in " + type + " (" + e.getMessage()
                        + "): expected float32 or float64; use one of these",
                e);
    }

    /**
     * Frees the parameters and tables of this block and the blocks within it. Tables are created again when they are
     * needed.
     *
     * @throws IllegalStateException if another thread uses the block, or a forward of this thread clears it
     */
    @Override
    public void clear() {
        try (Change change = new Change()) {
            super.clear();
            getChildren().values().forEach(Block::clear);
            synchronized (this) {
                tables.forEach(ConstantTable::close);
            }
            change.complete();
        }
    }

    /** Returns the settings of the block and of the blocks within it. */
    @Override
    public String toString() {
        Map<String, Integer> counts = new LinkedHashMap<>();
        for (Block child : configuredChildren.values()) {
            counts.merge(
                    child instanceof ConfiguredBlock
                            ? child.toString()
                            : child.getClass().getSimpleName(),
                    1,
                    Integer::sum);
        }
        StringBuilder text = new StringBuilder(Records.describe(settings));
        counts.forEach((child, count) ->
                text.append(" with ").append(count == 1 ? "" : count + " × ").append(child));
        return text.toString();
    }
}
