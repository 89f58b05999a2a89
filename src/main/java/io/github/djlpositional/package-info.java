/**
 * Blocks for Deep Java Library (DJL) models: absolute positional encodings, the input embedding and normalization.
 *
 * <p>This page documents the rules for all blocks of this library. A class documents what is specific to it.
 *
 * <h2>Shapes</h2>
 *
 * B batch, T sequence length (of the queries in an attention), F length of the keys and values, D embedding size, N
 * heads, K heads of keys and values, H size of a head, V vocabulary size. An ellipsis (…) stands for any number of
 * axes.
 *
 * <h2>Inputs and outputs</h2>
 *
 * <ul>
 *   <li>Arrays are FLOAT16, FLOAT32 or FLOAT64, and have the data type of the block's parameters if it has any. For
 *       FLOAT16, computation is in FLOAT32 and the result is rounded, except for sums of two arrays.
 *   <li>An output is a new array with the data type and the device of the first input. It is attached to the manager of
 *       that input, and the caller closes it. Inputs are never written to and never closed.
 *   <li>An empty sequence or batch gives an empty output.
 *   <li>An array that a getter returns belongs to the block: the caller neither closes it nor writes to it, which would
 *       change later forwards.
 *   <li>Gradients flow from the output to every floating-point input and to the parameters.
 * </ul>
 *
 * <h2>Positions</h2>
 *
 * A sequence begins at position 0, or at the forward parameter
 * {@link io.github.djlpositional.PositionalEncodingBlock#START_POSITION}, an {@link Integer} or a {@link Long}. The
 * forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, or a second input, gives each
 * token a position instead: (T) or (B, T), of integers, or of floating-point numbers where a class says so. In packed
 * {@link io.github.djlpositional.Documents}, positions begin again in each document.
 *
 * <h2>Constants</h2>
 *
 * Constants, such as a table of sinusoids, are computed from the options of a block. They are not parameters: they are
 * neither trained nor saved. A constant is computed in double, rounded once, and created once for each device and data
 * type, at the first forward that needs it. It lives until {@code clear()}, or until the manager that the block was
 * last initialized or loaded with (usually the model's) is closed. Garbage collection of the block does not free it.
 * Without such a manager, or if the manager is closed or belongs to another engine, it lives until {@code clear()} or
 * until the block is garbage collected.
 *
 * <h2>Devices</h2>
 *
 * A block runs on the device of its inputs. A forward does not wait for a GPU, except where it creates a constant or
 * where a class says so. On a CPU, ids and integer positions out of range are errors. On a GPU, they are not checked,
 * and their vectors are NaN.
 *
 * <h2>Threads</h2>
 *
 * Any number of threads may run forwards of a block. While a forward runs, initializing, loading or clearing the block,
 * its children or a block around it throws {@link IllegalStateException} and changes nothing. Closing the manager of a
 * block during a forward is not detected, and may crash the JVM.
 *
 * <h2>Saving</h2>
 *
 * A model file contains the options and the parameters of each block. Loading a file that is damaged, or that belongs
 * to another block or has other options, throws {@link ai.djl.MalformedModelException}. Sizes in the file are checked
 * before memory is allocated. A block that several blocks share is saved with each of them, and must have the same
 * numbers in each section of a file that is loaded. After a failed load, a block cannot be used until it is loaded or
 * initialized again. A failed initialization changes nothing.
 *
 * <h2>Options</h2>
 *
 * A builder's {@code setX} methods are required, and its {@code optX} methods are optional. {@code build()} validates
 * the options. A block that is an option can be built into one other block only. {@code getArguments()} returns the
 * options as plain values, and the static {@code fromArguments(Map)} of each class builds the same block from them: see
 * {@link io.github.djlpositional.options.HasArguments}.
 *
 * <h2>Exceptions</h2>
 *
 * <ul>
 *   <li>{@link IllegalArgumentException}: inputs that are null, or whose number, shape or data type differs from what
 *       the class documents, a position out of range, an option that is missing, unknown, of another type or out of
 *       range, and a constant that does not fit in memory. The message states the actual value, the expected value and
 *       what to do, and ends with the settings of the block.
 *   <li>{@link NullPointerException}: an option that is null. The message names the option.
 *   <li>{@link ai.djl.nn.UninitializedParameterException}: inference with a block that has parameters and was neither
 *       initialized nor loaded.
 *   <li>{@link ai.djl.engine.EngineException}: the engine fails, for example because a GPU is out of memory.
 * </ul>
 */
package io.github.djlpositional;
