package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.ParameterList;
import ai.djl.util.Pair;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Loads tensors of a {@link WeightFile} into the parameters of a model. Tensors are selected by name, their shapes and
 * types are checked, and no parameter is written before everything has been read.
 *
 * <pre>{@code
 * model.initialize(manager, DataType.FLOAT32, new Shape(1, 1)); // or load a model
 * WeightLoader.of(WeightFile.open(Path.of("model.safetensors")))
 *         .table("embedding.weight", model.input.getTokenTable())
 *         .module("transformer_encoder.", model.layers) // nn.TransformerEncoder
 *         .module("linear.", model.linear) // nn.Linear
 *         .load(model);
 * }</pre>
 *
 * <p>Loading is strict, like PyTorch's {@code load_state_dict}: each parameter of the model must get a tensor, and each
 * tensor of the file must be used. {@link #allowMissing} and {@link #allowUnused} name exceptions. Use one loader for
 * all files and all blocks of a model.
 *
 * <p>A parameter may belong to any block, including blocks of DJL: a bias (buckets, N) of T5, vectors (2k + 1, H) of
 * Shaw, a weight (out, in) of {@code Linear}. A layer normalization's {@code weight} and {@code bias} are {@code gamma}
 * and {@code beta} in DJL. A parameter must have an array, from {@code initialize} or from a model file. The numbers
 * are written into this array. Its device, data type and owner do not change, and it is trained, frozen and saved as
 * before.
 *
 * <p>Values are not rounded without {@link #allowRounding}. A {@code FLOAT16} parameter accepts F16; {@code FLOAT32}
 * accepts F32, F16 and BF16; {@code FLOAT64} accepts F64 and all of these. All other types are rejected.
 *
 * <p>Load before a trainer is initialized and before a predictor on another device is created: they copy parameters to
 * their devices. During {@link #load}, no other thread may use the model, and this thread may have no open
 * {@code GradientCollector}. A loader is not thread-safe.
 *
 * <p>V vocabulary size, D embedding size, T sequence length, n positions, N heads, H head size.
 */
public final class WeightLoader {

    /** The names in an {@code nn.MultiheadAttention}: weights, biases, and parameters of unsupported variants. */
    private static final List<String> ATTENTION_NAMES = List.of(("in_proj_weight out_proj.weight in_proj_bias"
                    + " out_proj.bias q_proj_weight k_proj_weight v_proj_weight bias_k bias_v")
            .split(" "));

    /** Names of parameters in a module of PyTorch, by their names in a block. */
    private static final Map<String, String> MODULE_NAMES =
            Map.of("weight", "weight", "bias", "bias", "gamma", "weight", "beta", "bias");

    /** Empty for a block. */
    private final List<WeightFile> files;

    private final Map<String, StoredTensor> tensors = new LinkedHashMap<>();

    /** The paths of the files, or the block. */
    private final String origin;

    private final Map<Parameter, TensorSlice> assignments = new LinkedHashMap<>();
    private final Map<TensorSlice, Parameter> slices = new HashMap<>();

    /** The blocks of modules, with which messages describe parameters. */
    private final List<Block> blocks = new ArrayList<>();

    /** For each name of a tied tensor, the names of it that the files have. */
    private final Map<String, List<String>> tied = new LinkedHashMap<>();

    private final NamePatterns mayBeMissing = new NamePatterns();
    private final NamePatterns mayBeUnused = new NamePatterns();
    private final NamePatterns minusOne = new NamePatterns();
    private final NamePatterns appended = new NamePatterns();
    private final NamePatterns shortened = new NamePatterns();
    private final NamePatterns reversed = new NamePatterns();
    private boolean isRounded;
    private boolean isOneByOne;

    private WeightLoader(Collection<WeightFile> files, String origin) {
        this.files = List.copyOf(files);
        this.origin = origin;
        files.forEach(file -> tensors.putAll(file.stored()));
    }

    /**
     * Creates a loader; it reads nothing yet.
     *
     * @param file the file with the tensors
     * @return a loader without tensors
     */
    public static WeightLoader of(WeightFile file) {
        return ofAll(List.of(file));
    }

    /**
     * Creates a loader for a model in several files.
     *
     * @param files one or more files, whose tensors have different names
     * @return a loader without tensors
     * @throws IllegalArgumentException if two files have a tensor of the same name, or there is no file
     */
    public static WeightLoader ofAll(Collection<WeightFile> files) {
        Set<String> names = new HashSet<>();
        List<String> twice = files.stream()
                .flatMap(file -> file.getTensors().keySet().stream())
                .filter(name -> !names.add(name))
                .toList();
        Check.that(
                twice.isEmpty() && !files.isEmpty(),
                () -> "the files [" + paths(files) + "] have the tensors "
                        + InvalidFileException.listed(twice)
                        + " twice: expected one or more files, and each tensor in one; pass the files of one model");
        return new WeightLoader(files, paths(files));
    }

    private static String paths(Collection<WeightFile> files) {
        return files.stream().map(file -> file.path().toString()).collect(Collectors.joining(", "));
    }

    /**
     * Creates a loader that copies the parameters of another block, such as a trained model, which may be on another
     * device. The tensors have the names in {@code block.getParameters()}; {@link #load} copies those that have the
     * name and the shape of a parameter of the models and were not added before.
     *
     * @param block an initialized block, which must not be trained or closed before {@link #load}
     * @return a loader of the block's parameters
     * @throws IllegalArgumentException if a parameter has no array
     */
    public static WeightLoader ofBlock(Block block) {
        Check.notNull("block", block, "an initialized block");
        String origin = "the block " + Settings.classOf(block);
        WeightLoader loader = new WeightLoader(List.of(), origin);
        Set<Parameter> found = new HashSet<>(); // blocks may share a parameter, which has the first of its names
        block.getParameters().forEach(entry -> {
            if (found.add(entry.getValue())) {
                loader.tensors.put(entry.getKey(), StoredTensor.of(origin, entry.getKey(), entry.getValue()));
            }
        });
        return loader;
    }

    /**
     * Adds a tensor for a parameter.
     *
     * @param name the tensor's name in the file
     * @param parameter the parameter to write to, of the tensor's shape, such as (V, D); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, or the tensor or the parameter was added before
     */
    public WeightLoader table(String name, Parameter parameter) {
        return add(TensorSlice.whole(tensor(name, parameter)), parameter);
    }

    /**
     * Adds rows of a tensor, slices along its first axis, for a parameter. The position tables of OPT, BART and RoBERTa
     * have two rows before position 0; {@code in_proj_weight} of {@code nn.MultiheadAttention} has the rows of three
     * weights. Several parameters may get different rows of a tensor, which may overlap.
     *
     * @param name the tensor's name in the file
     * @param from the first row, at least 0
     * @param to one more than the last row, at most the tensor's number of rows
     * @param parameter the parameter to write to, (to - from, D) for a tensor (n, D); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor has no such rows, or these rows or
     *     the parameter were added before
     */
    public WeightLoader rows(String name, long from, long to, Parameter parameter) {
        return add(new TensorSlice(tensor(name, parameter), false, from, to), parameter);
    }

    /**
     * Adds the same rows of each of some equal groups of rows for a parameter. GPT-NeoX and BLOOM store the rows of
     * queries, keys and values of each head together, Falcon those of each head of keys.
     *
     * @param name the tensor's name in the file
     * @param groups the number of groups, at least 1, which divides the tensor's number of rows
     * @param from the first row of a group, at least 0
     * @param to one more than the last row, at most the number of rows of a group
     * @param parameter the parameter to write to, (groups · (to - from), D) for a tensor (n, D); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor has no such rows, or these rows or
     *     the parameter were added before
     */
    public WeightLoader rowsOfGroups(String name, int groups, long from, long to, Parameter parameter) {
        return add(new TensorSlice(tensor(name, parameter), false, groups, from, to), parameter);
    }

    /**
     * Adds columns of a matrix for a parameter; each column becomes a row. This transposes: {@code Conv1D} of GPT-2
     * stores a weight as (in, out), {@code Linear} as (out, in). All axes of a tensor but the first are one: the
     * columns of MaxViT's biases of a window, (N, 2h - 1, 2w - 1), are those of (N, (2h - 1) · (2w - 1)).
     *
     * @param name the tensor's name in the file
     * @param from the first column, at least 0
     * @param to one more than the last column, at most the tensor's number of columns
     * @param parameter the parameter to write to, (to - from, in) for a tensor (in, out); owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the file has no such tensor, the tensor has one axis or no such columns, or
     *     these columns or the parameter were added before
     */
    public WeightLoader columnsAsRows(String name, long from, long to, Parameter parameter) {
        return add(new TensorSlice(tensor(name, parameter), true, from, to), parameter);
    }

    /**
     * Adds the tensors of a module of PyTorch for the block that corresponds to it, by the names of its
     * {@code state_dict}.
     *
     * <ul>
     *   <li>{@code Linear}, {@code LayerNormBlock}, {@code RmsNormBlock} and others whose only parameters are a
     *       {@code weight} or {@code gamma}, and a {@code bias} or {@code beta}: {@code nn.Linear},
     *       {@code nn.LayerNorm} and so on
     *   <li>{@link MultiHeadAttentionBlock}: {@code nn.MultiheadAttention} without {@code kdim}, {@code vdim} and
     *       {@code add_bias_kv}, with biases if the block has them
     *   <li>{@link TransformerLayerBlock}: {@code nn.TransformerEncoderLayer}, with a cross-attention
     *       {@code nn.TransformerDecoderLayer}
     *   <li>{@link TransformerStackBlock}, but not its input: {@code nn.TransformerEncoder},
     *       {@code nn.TransformerDecoder}
     * </ul>
     *
     * The normalizations of a module with {@code bias=False} have no bias: their {@code beta}, which is zero in a new
     * block, gets no tensor then, and {@code allowMissing("*beta")} allows this. The following are not in a file and
     * are not compared: the number of heads, where norms stand, the function of the feed-forward network, and the
     * epsilon of a normalization.
     *
     * @param prefix the text before these names in the file, such as {@code transformer_encoder.}; may be empty
     * @param block the initialized block to write to, of the module's sizes; owned by the caller
     * @return this loader
     * @throws IllegalArgumentException if the block is none of these, the file has other tensors than it needs, or a
     *     tensor or a parameter was added before
     */
    public WeightLoader module(String prefix, Block block) {
        Objects.requireNonNull(prefix, "prefix");
        blocks.add(Check.notNull("block", block, "a block that corresponds to a module"));
        if (block instanceof TransformerStackBlock stack) {
            for (int i = 0; i < stack.getLayers().size(); i++) {
                module(prefix + "layers." + i + ".", stack.getLayers().get(i));
            }
            return stack.getFinalNorm() == null ? this : module(prefix + "norm.", stack.getFinalNorm());
        }
        if (block instanceof TransformerLayerBlock layer) {
            return transformerLayer(prefix, layer);
        }
        if (block instanceof MultiHeadAttentionBlock attention) {
            return attention(prefix, attention);
        }
        ParameterList parameters = block.getDirectParameters();
        Check.that(
                !parameters.isEmpty()
                        && MODULE_NAMES.keySet().containsAll(parameters.keys())
                        && block.getChildren().isEmpty(),
                () -> "the block " + Settings.classOf(block) + " with the parameters "
                        + block.getParameters().keys() + ": expected one that corresponds to a module of PyTorch; load"
                        + " its children with module, or its parameters with table");
        parameters.forEach(entry -> {
            String name = prefix + nameOf(entry.getValue(), prefix);
            if (!entry.getKey().equals("beta") || has(name)) {
                table(name, entry.getValue());
            }
        });
        return this;
    }

    /** The name of a parameter in a module; the first files of BERT have gamma and beta. */
    private String nameOf(Parameter parameter, String prefix) {
        String name = parameter.getName();
        return has(prefix + name) ? name : MODULE_NAMES.getOrDefault(name, "weight");
    }

    /**
     * Adds the tensors of a stack and its input by the names that Hugging Face's transformers give them. What is not in
     * a file is the same as for {@link #module(String, Block)}.
     *
     * @param prefix the text before these names in the file: {@code bert.}, {@code transformer.} or {@code model.} in
     *     files of models with a head, empty in others
     * @param stack the initialized stack to write to, of the model's sizes; owned by the caller
     * @param names the names of the model's family
     * @return this loader
     * @throws IllegalArgumentException if the file lacks a tensor that the stack needs, or a tensor or a parameter was
     *     added before
     */
    public WeightLoader module(String prefix, TransformerStackBlock stack, TensorNames names) {
        Objects.requireNonNull(prefix, "prefix");
        blocks.add(Check.notNull("stack", stack, "a TransformerStackBlock"));
        return tensors(prefix, names.tensors(stack));
    }

    /**
     * Adds the tensors of an encoder of pictures, but for an output layer of its last stage: see
     * {@link #output(TransformerStackBlock, TensorNames)}.
     *
     * @param prefix the text before these names in the file: {@code vit.} or another in files of models with a head,
     *     empty in others
     * @param encoder the initialized encoder to write to, of the model's sizes; owned by the caller
     * @param names the names of the model's family
     * @return this loader
     * @throws IllegalArgumentException as {@link #module(String, TransformerStackBlock, TensorNames)}
     */
    public WeightLoader module(String prefix, VisionTransformerBlock encoder, TensorNames names) {
        Objects.requireNonNull(prefix, "prefix");
        blocks.add(Check.notNull("encoder", encoder, "a VisionTransformerBlock"));
        return tensors(prefix, names.tensors(encoder));
    }

    /**
     * Adds the tensors of a stack's output layer and of the projection before it.
     *
     * @param stack the initialized stack to write to, of the model's sizes; owned by the caller
     * @param names the names of the model's family
     * @return this loader
     * @throws IllegalArgumentException as {@link #module(String, TransformerStackBlock, TensorNames)}
     */
    public WeightLoader output(TransformerStackBlock stack, TensorNames names) {
        return tensors("", names.outputTensors(stack));
    }

    private WeightLoader tensors(String prefix, List<TensorNames.Tensor> all) {
        Set<String> names = new HashSet<>();
        all.stream()
                .map(tensor -> prefix + tensor.name())
                .filter(name -> !names.add(name) && has(name))
                .forEach(this::tied); // of several layers
        for (TensorNames.Tensor tensor : all) {
            Parameter first = tensor.parameters().get(0);
            String full = prefix + tensor.name();
            String old =
                    full.substring(0, full.lastIndexOf('.') + 1) + first.getName(); // gamma and beta in files of BERT
            String name = has(old) && !has(full) ? old : full;
            if (!first.getName().equals("beta") || has(name)) {
                addInOrder(
                        tensor(name, first),
                        tensor.isTransposed(),
                        tensor.groups(),
                        tensor.firstRow(),
                        tensor.parameters());
            }
        }
        return this;
    }

    /** Adds slices of a tensor for parameters, one after another in each group; the last one gets the rest. */
    private void addInOrder(
            StoredTensor tensor, boolean isTransposed, int groups, long from, List<Parameter> parameters) {
        TensorSlice rest = TensorSlice.rest(tensor, isTransposed, groups, from);
        int last = parameters.size() - 1;
        for (Parameter parameter : parameters.subList(0, last)) {
            TensorSlice slice = rest.until(rest.from() + parameter.getShape().get(0) / groups);
            add(slice, parameter);
            rest = TensorSlice.rest(tensor, isTransposed, groups, slice.to());
        }
        add(rest, parameters.get(last));
    }

    private WeightLoader attention(String prefix, MultiHeadAttentionBlock block) {
        ParameterList results = block.getResultProjection().getDirectParameters();
        // every module has this one: if there is none, the message suggests other prefixes
        StoredTensor output = tensor(prefix + "out_proj.weight", results.get("weight"));
        List<String> expected = ATTENTION_NAMES.subList(0, 2 * results.size());
        List<String> found =
                ATTENTION_NAMES.stream().filter(name -> has(prefix + name)).toList();
        Check.that(
                found.equals(expected),
                () -> "the attention " + InvalidFileException.quoted(prefix) + " of " + output.origin() + " has "
                        + found + ": expected " + expected + "; build the block with optBias as in PyTorch, and the"
                        + " module without kdim, vdim and add_bias_kv");
        for (String kind : results.keys()) {
            List<Parameter> projections = Stream.of(
                            block.getQueryProjection(), block.getKeyProjection(), block.getValueProjection())
                    .map(projection -> projection.getDirectParameters().get(kind))
                    .toList();
            addInOrder(tensor(prefix + "in_proj_" + kind, projections.get(0)), false, 1, 0, projections);
            table(prefix + "out_proj." + kind, results.get(kind));
        }
        return this;
    }

    private WeightLoader transformerLayer(String prefix, TransformerLayerBlock layer) {
        boolean isDecoder = layer.getCrossAttention() != null;
        FeedForwardBlock feedForward = layer.getFeedForward();
        Check.that(
                feedForward.getGateProjection() == null && layer.getFeedForwardNorm() != null,
                () -> "the layer for " + InvalidFileException.quoted(prefix) + " has a gate, or one norm for parallel"
                        + " parts: expected neither, as in PyTorch; build it with another optNonlinearity or"
                        + " optArrangement, or load its children with module");
        module(prefix + "self_attn.", layer.getAttention()).module(prefix + "norm1.", layer.getAttentionNorm());
        if (isDecoder) {
            module(prefix + "multihead_attn.", layer.getCrossAttention());
            module(prefix + "norm2.", layer.getCrossAttentionNorm());
        }
        return module(prefix + "linear1.", feedForward.getHiddenProjection())
                .module(prefix + "linear2.", feedForward.getOutputProjection())
                .module(prefix + (isDecoder ? "norm3." : "norm2."), layer.getFeedForwardNorm());
    }

    /**
     * Declares that names stand for one tensor, as those of the token table and the head of a language model with tied
     * weights, of which most files have only one. Each name is then found if the files have any of them, and several
     * parameters may get the tensor. One name lets several parameters get the tensor of this name. Call this method
     * before those that use the names.
     *
     * @param names the names of the tensor, such as {@code model.embed_tokens.weight} and {@code lm_head.weight}. If
     *     the files have several of them, {@link #load} rejects tensors of different numbers
     * @return this loader
     * @throws IllegalArgumentException if the files have none of these tensors
     */
    public WeightLoader tied(String... names) {
        List<String> found = Stream.of(names).filter(tensors::containsKey).toList();
        Check.that(
                !found.isEmpty(),
                () -> origin + " has none of the tensors " + InvalidFileException.listed(List.of(names))
                        + ": expected one or more of them; pass names in getTensors()");
        Stream.of(names).forEach(name -> tied.put(name, found));
        return this;
    }

    /**
     * Allows parameters of the model to get no tensor, which is an error by default. A name that no parameter has is
     * allowed, since models differ; if {@link #load} rejects the model, its message lists such names.
     *
     * @param parameters names as {@code model.getParameters()} has them, in which {@code *} stands for any text, such
     *     as {@code *_03head_*}
     * @return this loader
     */
    public WeightLoader allowMissing(String... parameters) {
        mayBeMissing.add(parameters);
        return this;
    }

    /**
     * Allows tensors of the file to remain unused, which is an error by default. A name that no tensor has is allowed,
     * since files of a model differ; if {@link #load} rejects the file, its message lists such names.
     *
     * @param tensors names of tensors, in which {@code *} stands for any text, such as {@code bert.pooler.*}; {@code *}
     *     by itself allows all
     * @return this loader
     */
    public WeightLoader allowUnused(String... tensors) {
        mayBeUnused.add(tensors);
        return this;
    }

    /**
     * Writes each parameter as soon as its tensor has been read, so that only one tensor is in memory twice, for large
     * models. Names, shapes and types are still checked before anything is written; if a file is damaged or cannot be
     * read, some parameters have changed.
     *
     * @return this loader
     */
    public WeightLoader oneByOne() {
        isOneByOne = true;
        return this;
    }

    /**
     * Lets tensors, by names with {@code *} for any text, have fewer rows than their parameters, whose other rows do
     * not change: a position table for longer sequences continues as it was initialized.
     */
    public WeightLoader appendRows(String... tensors) {
        appended.add(tensors);
        return this;
    }

    /** Lets tensors, by names with {@code *} for any text, have more rows than their parameters get: the first ones. */
    public WeightLoader firstRows(String... tensors) {
        shortened.add(tensors);
        return this;
    }

    /**
     * Reverses the order of the rows that a parameter gets of tensors, by names with {@code *} for any text. Tables of
     * relative positions are stored in both orders: from keys before the query to keys after it in this library, and in
     * the reverse order in BERT ({@code relative_key}), SpeechT5, BoTNet of timm and MaxViT of TensorFlow.
     */
    public WeightLoader reverseRows(String... tensors) {
        reversed.add(tensors);
        return this;
    }

    /**
     * Adds 1 to the values of tensors, by names with {@code *} for any text: Gemma stores the factors of normalizations
     * minus 1.
     */
    public WeightLoader addOne(String... tensors) {
        minusOne.add(tensors);
        return this;
    }

    /**
     * Rounds floating-point values to the types of the parameters, to nearest, ties to even: F32 and BF16 to FLOAT16. A
     * number that would become infinite is rejected.
     */
    public WeightLoader allowRounding() {
        isRounded = true;
        return this;
    }

    private boolean has(String name) {
        return tensors.containsKey(name) || tied.containsKey(name);
    }

    private StoredTensor tensor(String name, Parameter parameter) {
        Check.notNull(
                "the parameter for the tensor " + InvalidFileException.quoted(name),
                parameter,
                "a parameter of a block");
        boolean isTied = !tensors.containsKey(name) && tied.containsKey(name);
        String stored = isTied ? tied.get(name).get(0) : name;
        return WeightFile.tensor(tensors, stored, origin, () -> describe(parameter));
    }

    /** Describes a parameter for messages, with the block that it belongs to if the loader knows it. */
    private String describe(Parameter parameter, Block... models) {
        String name = "parameter " + InvalidFileException.quoted(parameter.getName());
        return Stream.concat(Stream.of(models), blocks.stream())
                .map(block -> owner(parameter, block, ""))
                .filter(Objects::nonNull)
                .findFirst()
                .map(owner -> name + " of " + owner)
                .orElse(name);
    }

    /** Returns the class and the path of the block within another that a parameter belongs to; null for none. */
    private static String owner(Parameter parameter, Block block, String path) {
        if (block.getDirectParameters().values().contains(parameter)) {
            return Settings.classOf(block) + (path.isEmpty() ? "" : " " + InvalidFileException.quoted(path));
        }
        for (Pair<String, Block> child : block.getChildren()) {
            String childPath = (path.isEmpty() ? "" : path + "_") + child.getKey();
            String owner = owner(parameter, child.getValue(), childPath);
            if (owner != null) {
                return owner;
            }
        }
        return null;
    }

    private WeightLoader add(TensorSlice slice, Parameter parameter) {
        slice.requireExists(() -> describe(parameter));
        Check.that(
                !assignments.containsKey(parameter),
                () -> describe(parameter) + " was added before " + slice
                        + ": expected one tensor for each parameter; add each parameter once");
        Check.that(
                !slices.containsKey(slice) || tied.containsKey(slice.tensor().name()),
                () -> slice + " for " + describe(parameter) + " were added before for " + describe(slices.get(slice))
                        + ": expected one use of each tensor or of the same slice; add each once, or name the tensor"
                        + " with tied first if several parameters have it");
        slices.put(slice, parameter);
        assignments.put(parameter, slice);
        return this;
    }

    /**
     * Reads all tensors that were added, and then writes the parameters. If anything is rejected or cannot be read, no
     * parameter has changed. Until this method returns, the tables are in the engine's memory twice; {@link #oneByOne}
     * avoids this.
     *
     * @param models the model that is loaded, or its blocks: each of their parameters must get a tensor. Without any,
     *     only the use of the file's tensors is checked
     * @throws IllegalArgumentException if a parameter of the models gets no tensor, or a tensor is not used, without
     *     {@link #allowMissing} or {@link #allowUnused}; if a tensor's shape or type does not fit its parameter, a
     *     parameter has no array or is not one of the models', a row is larger than 1 GiB, or no tensor was added
     * @throws MalformedModelException if the file is damaged, or has changed since it was opened
     * @throws IOException if the file cannot be read
     */
    public void load(Block... models) throws IOException, MalformedModelException {
        for (Block model : models) {
            Check.notNull("model", model, "the model or a block of it");
        }
        if (files.isEmpty()) {
            addSameNames(models);
        }
        List<Assignment> all = new ArrayList<>();
        assignments.forEach((parameter, slice) -> {
            Assignment assignment = assignment(slice, parameter);
            assignment.requireFits(isRounded, () -> describe(parameter, models));
            all.add(assignment);
        });
        requireUnchanged();
        requireComplete(models);
        requireSameNumbers();
        Check.that(
                !slices.isEmpty(),
                () -> "nothing was added to load from " + origin
                        + ": expected one or more tensors; add them with table, rows or module");
        int batchSize = isOneByOne ? 1 : all.size();
        for (int first = 0; first < all.size(); first += batchSize) {
            try (NDManager staging = all.get(first).newStaging()) {
                List<Runnable> writes = new ArrayList<>();
                for (Assignment assignment : all.subList(first, first + batchSize)) {
                    writes.add(assignment.read(staging));
                }
                requireUnchanged();
                writes.forEach(Runnable::run);
            }
        }
    }

    /** Adds the parameters of the block that is copied for parameters of the same name and shape. */
    private void addSameNames(Block... models) {
        for (Block model : models) {
            model.getParameters().forEach(entry -> {
                StoredTensor tensor = tensors.get(entry.getKey());
                TensorSlice slice = tensor == null ? null : TensorSlice.whole(tensor);
                boolean isAdded = assignments.containsKey(entry.getValue()) || slices.containsKey(slice);
                if (tensor != null
                        && !isAdded
                        && assignment(slice, entry.getValue()).hasShape()) {
                    add(slice, entry.getValue());
                }
            });
        }
    }

    /** Checks that tensors that the files have under several tied names are equal. */
    private void requireSameNumbers() throws IOException, MalformedModelException {
        for (List<String> names : new HashSet<>(tied.values())) {
            StoredTensor first = tensors.get(names.get(0));
            for (String name : names.subList(1, names.size())) {
                Check.that(
                        first.hasNumbersOf(tensors.get(name)),
                        () -> tensors.get(name) + " differs in type, shape or values from the tensor "
                                + InvalidFileException.quoted(first.name())
                                + ": expected the same for tied names; load each into its own parameter");
            }
        }
    }

    private Assignment assignment(TensorSlice slice, Parameter parameter) {
        String name = slice.tensor().name();
        return new Assignment(
                slice,
                parameter,
                minusOne.match(name),
                appended.match(name),
                shortened.match(name),
                reversed.match(name));
    }

    private void requireUnchanged() throws IOException, MalformedModelException {
        for (WeightFile file : files) {
            file.requireUnchanged();
        }
    }

    /** Checks that each parameter of the models gets a tensor, and that each tensor of the files is used. */
    private void requireComplete(Block... models) {
        Map<Parameter, String> parameters = new LinkedHashMap<>();
        for (Block model : models) {
            model.getParameters().forEach(pair -> parameters.putIfAbsent(pair.getValue(), pair.getKey()));
        }
        List<Parameter> others = assignments.keySet().stream()
                .filter(parameter -> !parameters.containsKey(parameter))
                .toList();
        Check.that(
                models.length == 0 || others.isEmpty(),
                () -> assignments.get(others.get(0)) + " were added for " + describe(others.get(0))
                        + ", which the model does not have"
                        + (others.size() == 1 ? "" : ", and " + (others.size() - 1) + " others")
                        + ": expected parameters of the model; call load with the whole model, or with all of its blocks");
        List<String> names = List.copyOf(parameters.values());
        parameters.keySet().removeAll(assignments.keySet());
        parameters.values().removeIf(mayBeMissing::match);
        Set<String> used =
                slices.keySet().stream().map(slice -> slice.tensor().name()).collect(Collectors.toSet());
        tied.values().stream()
                .filter(tiedNames -> !Collections.disjoint(tiedNames, Set.copyOf(used)))
                .forEach(used::addAll);
        List<String> unused = tensors.keySet().stream()
                .filter(name -> !used.contains(name) && !mayBeUnused.match(name))
                .collect(Collectors.toCollection(ArrayList::new));
        Map<String, Collection<String>> left = new LinkedHashMap<>();
        if (files.isEmpty()) { // a name that is in both lists has two shapes
            parameters.replaceAll((parameter, name) -> name + " " + parameter.getShape());
            unused.replaceAll(name -> name + " " + tensors.get(name).shape());
        }
        left.put("parameters of the model without a tensor", parameters.values());
        left.put("tensors unused", unused);
        left.values().removeIf(Collection::isEmpty);
        Check.that(
                left.isEmpty(),
                () -> "loading " + origin + " would leave "
                        + left.entrySet().stream()
                                .map(entry ->
                                        entry.getKey() + " (" + entry.getValue().size() + ": "
                                                + InvalidFileException.listed(entry.getValue()) + ")")
                                .collect(Collectors.joining(" and "))
                        + mayBeUnused.withoutMatch("allowUnused", "tensor", tensors.keySet())
                        + (models.length == 0 ? "" : mayBeMissing.withoutMatch("allowMissing", "parameter", names))
                        + ": expected a tensor for each parameter and a use for each tensor; add them, or allow"
                        + " exceptions with allowMissing and allowUnused; see docs/weights.md#loading-a-model");
    }
}
