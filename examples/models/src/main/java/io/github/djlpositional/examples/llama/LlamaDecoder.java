package io.github.djlpositional.examples.llama;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.huggingface.HuggingFaceRope;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongPredicate;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * A decoder of the Llama family: Llama 2 and 3, Mistral, Qwen 2 and 3. It maps token ids (B, T) to logits (B, T, V),
 * the scores of the tokens that may follow. After Touvron et al., <em>LLaMA: Open and Efficient Foundation Language
 * Models</em> (2023), section 2.2.
 *
 * <p>B batch, T sequence length, V vocabulary size, D embedding size. The logits are a new array with the manager of
 * the ids, and the caller's to close.
 */
public final class LlamaDecoder extends AbstractBlock {

    private static final String LAYERS = "num_hidden_layers";
    private static final String TIED = "tie_word_embeddings";

    private final int vocabularySize;
    private final List<Long> endTokens;

    /** The rotary encoding that all layers share. */
    private final RotaryEmbeddingBlock rotary;

    private final TransformerStackBlock layers;

    /** The weight of the output layer, (V, D): the table of token vectors, or a parameter of its own. */
    private final Parameter head;

    LlamaDecoder(LlamaConfig config, int length) {
        vocabularySize = config.size("vocab_size");
        endTokens = config.endTokens();
        int embeddingSize = config.size("hidden_size");
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(vocabularySize)
                .setEmbeddingSize(embeddingSize)
                .optNoPositions() // the attentions have rotary positions
                .build();
        rotary = config.rotary(length);
        List<TransformerLayerBlock> built = new ArrayList<>();
        for (int i = 0; i < config.size(LAYERS); i++) {
            built.add(TransformerLayerBlock.builder()
                    .setAttention(config.attention(i, rotary))
                    .setFeedForward(FeedForwardBlock.builder()
                            .setEmbeddingSize(embeddingSize)
                            .setHiddenSize(config.size("intermediate_size"))
                            .optNonlinearity(Nonlinearity.SWIGLU)
                            .optBias(config.isOn("mlp_bias"))
                            .build())
                    .optNorm(Norm.RMS)
                    .optEpsilon(config.epsilon())
                    .optNormPlacement(NormPlacement.BEFORE_PART)
                    .build());
        }
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder().optInput(input).setLayers(built).build());
        head = config.isOn(TIED)
                ? input.getTokenTable()
                : addParameter(Parameter.builder()
                        .setName("head")
                        .setType(Parameter.Type.WEIGHT)
                        .optShape(new Shape(vocabularySize, embeddingSize))
                        .build());
    }

    /**
     * Loads the model in a folder as Hugging Face publishes it. The weights, F32, F16 or BF16, are FLOAT32 in the
     * decoder, and frozen; the manager owns them.
     *
     * @param length the number of tokens to serve, on which the frequencies of LongRoPE and dynamic NTK depend
     * @throws UserError if the folder is not that of such a model, or a file is missing or damaged
     */
    public static LlamaDecoder load(Path folder, int length, NDManager manager) throws IOException {
        ModelFolder files = new ModelFolder(folder);
        try {
            HuggingFaceRope.read(files.file("config.json")); // also refuses repeated keys and deep nesting
            LlamaConfig config = new LlamaConfig(files.json("config.json"));
            Collection<WeightFile> weights = files.weights();
            List<Shape> tensors = weights.stream()
                    .flatMap(file -> file.getTensors().values().stream())
                    .map(TensorInfo::shape)
                    .toList();
            Check.that(
                    config.size(LAYERS) < tensors.size(),
                    () -> LAYERS + " " + config.size(LAYERS) + ": expected fewer than the " + tensors.size()
                            + " tensors of the weights; download both again");
            LlamaDecoder decoder = new LlamaDecoder(config, length);
            WeightLoader loader = WeightLoader.ofAll(weights)
                    .module("model.", decoder.layers, TensorNames.LLAMA)
                    .oneByOne() // while a tensor is loaded, it is in memory twice
                    // the frequencies of the rotary encoding, and a copy of a table that is the head too
                    .allowUnused("*.rotary_emb.inv_freq", "lm_head.weight");
            if (!config.isOn(TIED)) {
                loader.table("lm_head.weight", decoder.head);
            }
            // before arrays are created, which may be too large
            double described = count(decoder.getParameters().values().stream().map(Parameter::getShape));
            double stored = count(tensors.stream());
            Check.that(
                    described <= stored,
                    () -> String.format(
                            Locale.ROOT,
                            "a model of %,.0f numbers: expected at most the %,.0f of the weights; download both again",
                            described,
                            stored));
            decoder.setInitializer(Initializer.ZEROS, parameter -> true);
            decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
            loader.load(decoder);
            decoder.freezeParameters(true);
            return decoder;
        } catch (IllegalArgumentException | MalformedModelException e) {
            throw new UserError("model folder '" + folder + "', config.json and weights: " + e.getMessage(), e);
        }
    }

    private static double count(Stream<Shape> shapes) {
        return shapes.mapToDouble(Shape::size).sum();
    }

    /** {@return the number of token ids, V} */
    public int getVocabularySize() {
        return vocabularySize;
    }

    /** {@return the maximum number of tokens of a sequence} */
    public int getLongestSequence() {
        Map<String, ?> arguments = rotary.getArguments();
        return (int) arguments.get(arguments.containsKey("autoExtend") ? "autoExtend" : "maxSequenceLength");
    }

    /** {@return the tokens that end a text; empty if the configuration has none} */
    public List<Long> getEndTokens() {
        return endTokens;
    }

    /**
     * Continues a prompt, token by token. The attentions keep the keys and values of all tokens in a cache, so that
     * each step computes only one token.
     *
     * @param prompt the tokens before the continuation, at least one
     * @param choice returns the next token for its logits, V numbers
     * @param continues gets each token of the continuation; returns whether another one is wanted
     * @throws IllegalArgumentException if the prompt is empty, the sequence gets too long, or an id is out of range
     */
    public void generate(long[] prompt, ToIntFunction<float[]> choice, LongPredicate continues) {
        try (NDManager manager = head.getArray().getManager().newSubManager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            ParameterStore store = new ParameterStore(manager, false);
            long[] all = prompt;
            do {
                long[] step = Arrays.copyOfRange(all, cache.getLength(), all.length);
                try (NDManager temporary = manager.newSubManager()) {
                    NDList ids = new NDList(temporary.create(step).expandDims(0));
                    NDArray vectors =
                            layers.forward(store, ids, false, cache.nextStep()).singletonOrThrow();
                    NDArray last = vectors.get(NDIndex.sliceAxis(1, step.length - 1, step.length));
                    NDArray logits = Linear.linear(last, head.getArray()).singletonOrThrow();
                    all = Arrays.copyOf(all, all.length + 1);
                    all[all.length - 1] = choice.applyAsInt(logits.toFloatArray());
                }
            } while (continues.test(all[all.length - 1]));
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        try (NDList x = layers.forward(store, inputs, training, params)) {
            NDArray weight = store.getValue(head, x.head().getDevice(), training);
            return Linear.linear(x.head(), weight);
        }
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        layers.initialize(manager, dataType, inputShapes);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {inputShapes[0].add(vocabularySize)};
    }
}
