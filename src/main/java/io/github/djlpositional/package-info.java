/**
 * Positional encodings that are added to a sequence, and norms, as blocks for models of Deep Java Library.
 *
 * <p>This page documents the rules for all blocks of this library. A class documents what is specific to it.
 *
 * <h2>Shapes</h2>
 *
 * B batch, T sequence length (of the queries in an attention), F length of the keys and values, D embedding size, N
 * heads, K heads of keys and values, H size of a head, V vocabulary size. A (…) stands for any number of axes.
 *
 * <h2>Inputs and outputs</h2>
 *
 * <ul>
 *   <li>Arrays are FLOAT16, FLOAT32 or FLOAT64, of the data type of the block's parameters if it has any. FLOAT16 is
 *       computed in FLOAT32 and rounded, except for sums of two arrays.
 *   <li>An output is a new array with the data type and the device of the first input. It is attached to the manager of
 *       that input, and the caller closes it. Inputs are never written to and never closed.
 *   <li>An empty sequence or batch gives an empty output.
 *   <li>An array that a getter returns belongs to the block: the caller neither closes it nor writes to it.
 *   <li>Gradients pass from the output to every real input, and to the parameters.
 * </ul>
 *
 * <h2>Positions</h2>
 *
 * A sequence begins at position 0, or at the forward parameter
 * {@link io.github.djlpositional.PositionalEncodingBlock#START_POSITION}, an {@link Integer} or a {@link Long}. The
 * forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, or a second input, gives a
 * position to each token instead: (T) or (B, T), integers, or real numbers where a class says so.
 *
 * <h2>Constants</h2>
 *
 * Constants, such as a table of sinusoids, are computed from the options of a block. They are not parameters: they are
 * neither trained nor saved. A constant is computed in double, rounded once, and created once for each device and data
 * type, at the first forward that needs it. It lives until {@code clear()}, or until the manager is closed that the
 * block was initialized or loaded with last, usually the model's. Garbage collection of the block does not free it.
 * Without such a manager, or if the manager is closed or belongs to another engine, it lives until {@code clear()} or
 * until the block is garbage collected.
 *
 * <h2>Devices</h2>
 *
 * A block runs on the device of its inputs. A forward does not wait for a GPU, except where it creates a constant or
 * where a class says so. On a CPU, ids and integer positions out of range are errors. On a GPU they are not read, and
 * their vectors are NaN.
 *
 * <h2>Threads</h2>
 *
 * Any number of threads may run forwards of a block. While a forward runs, initializing, loading or clearing the block
 * throws {@link IllegalStateException} and changes nothing. Closing the manager of a block during a forward is not
 * detected, and may end the process.
 *
 * <h2>Saving</h2>
 *
 * A model file has the options of each block and its parameters. A file of another block or of other options, and a
 * file that is damaged, is a {@link ai.djl.MalformedModelException}; sizes in it are checked before memory is taken. A
 * block whose load has failed cannot be used until it is loaded or initialized again.
 *
 * <h2>Options</h2>
 *
 * A builder's {@code setX} is required, {@code optX} is optional. {@code getArguments()} returns the options as plain
 * values, and the static {@code fromArguments(Map)} of each class builds the same block from them: the keys are the
 * names of the builder's methods without {@code set} or {@code opt}, and {@code type} is the name of the class.
 *
 * <h2>Exceptions</h2>
 *
 * <ul>
 *   <li>{@link IllegalArgumentException}: inputs of another number, shape or data type than the class documents, a
 *       position out of range, an option that is missing, unknown, of another type or out of range, and a constant that
 *       does not fit the machine's memory. The message has the actual value, the expected value, and what to do; the
 *       settings of the block come last.
 *   <li>{@link NullPointerException}: an option that is null. The message names the option.
 *   <li>{@link ai.djl.nn.UninitializedParameterException}: an inference with a block that has parameters and was
 *       neither initialized nor loaded.
 *   <li>{@link ai.djl.engine.EngineException}: the engine fails, for example because a GPU has no memory.
 * </ul>
 */
package io.github.djlpositional;
