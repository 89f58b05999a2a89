package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.quoted;

import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.ProjectionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The layers of a published model, its input and its output, with what its configuration and its model type fix. */
final class ModelLayers {

    /** The functions of feed-forward networks by their names in transformers, without and with a gate. */
    private static final Map<String, Nonlinearity[]> NONLINEARITIES = Map.ofEntries(
            Map.entry("relu", new Nonlinearity[] {Nonlinearity.RELU, null}),
            Map.entry("relu2", new Nonlinearity[] {Nonlinearity.SQUARED_RELU, null}),
            Map.entry("gelu", new Nonlinearity[] {Nonlinearity.GELU, Nonlinearity.GEGLU}),
            Map.entry("gelu_new", new Nonlinearity[] {Nonlinearity.GELU_TANH, Nonlinearity.GEGLU_TANH}),
            Map.entry("gelu_fast", new Nonlinearity[] {Nonlinearity.GELU_TANH, Nonlinearity.GEGLU_TANH}),
            Map.entry("gelu_pytorch_tanh", new Nonlinearity[] {Nonlinearity.GELU_TANH, Nonlinearity.GEGLU_TANH}),
            Map.entry("quick_gelu", new Nonlinearity[] {Nonlinearity.QUICK_GELU, null}),
            Map.entry("silu", new Nonlinearity[] {Nonlinearity.SILU, Nonlinearity.SWIGLU}),
            Map.entry("swish", new Nonlinearity[] {Nonlinearity.SILU, Nonlinearity.SWIGLU}),
            Map.entry("swiglu", new Nonlinearity[] {null, Nonlinearity.SWIGLU}));

    private final HuggingFaceConfig config;
    private final Facts facts;

    /** Of all layers; null for none. */
    private final RelativePositionBiasBlock bias;

    ModelLayers(HuggingFaceConfig config) {
        this.config = config;
        facts = config.facts;
        Check.that(
                facts.value("tensors") != null,
                () -> config + ": expected a model type whose layers are known, one of docs/model-types.csv; build them"
                        + " with the attention or the rotary encoding of this configuration");
        Check.that(
                config.config.get("quantization_config") == null,
                "quantization_config is given: expected weights that are not quantized; use the folder of the original"
                        + " model");
        bias = ModelAttention.relativeBias(facts);
    }

    TransformerLayerBlock.Builder layer(int layer, Integer length) {
        ModelAttention attention = new ModelAttention(config, layer);
        TransformerLayerBlock.Builder builder = TransformerLayerBlock.builder()
                .setAttention(attention.builder(length, bias).build())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(size())
                        .setHiddenSize(hiddenSize())
                        .optNonlinearity(nonlinearity())
                        .optBias(facts.isOn("mlp_bias"))
                        .build())
                .optNorm(Norm.valueOf(facts.value("norm").toString()))
                .optEpsilon(epsilon())
                .optNormPlacement(
                        NormPlacement.valueOf(facts.value("norm_placement").toString()))
                .optArrangement(arrangement());
        if (layer == 0 && !facts.isOn("first_attention_norm")) {
            builder.optAttentionNorm(false);
        }
        if (facts.isOn("cross_attention")) {
            builder.optCrossAttention(attention.cross());
        }
        if (facts.value("layer_scale") != null && facts.number("layer_scale") != 0) {
            builder.optResidualScale((float) facts.number("layer_scale"));
        }
        return facts.value("residual_multiplier") == null
                ? builder
                : builder.optResidualFactor(facts.number("residual_multiplier"));
    }

    private int size() {
        return facts.requireInt("hidden_size");
    }

    private int hiddenSize() {
        if (facts.value("mlp_ratio") != null) {
            return (int) (size() * facts.number("mlp_ratio"));
        }
        return facts.value("intermediate_size") == null ? 4 * size() : facts.requireInt("intermediate_size");
    }

    private double epsilon() {
        return facts.number("rms_norm_eps");
    }

    private Nonlinearity nonlinearity() {
        String ofT5 = facts.get("feed_forward_proj", String.class);
        return ofT5 == null
                ? nonlinearity("hidden_act", facts.get("hidden_act", String.class), isGated())
                : nonlinearity(
                        "feed_forward_proj", ofT5.replace("gated-", "").replaceFirst("^gelu$", "gelu_new"), isGated());
    }

    private boolean isGated() {
        String ofT5 = facts.get("feed_forward_proj", String.class);
        return ofT5 == null ? facts.isOn("gated") : ofT5.startsWith("gated-");
    }

    private Nonlinearity nonlinearity(String fact, String name, boolean isGated) {
        Nonlinearity[] known = NONLINEARITIES.get(name);
        Nonlinearity found = known == null ? null : known[isGated ? 1 : 0];
        Check.that(
                found != null,
                () -> facts.type().keyOf(fact, config.config) + " " + quoted(name) + " of " + config
                        + ": expected one of " + NONLINEARITIES.keySet()
                        + "; build the layers yourself, with Nonlinearity.of or gated");
        return found;
    }

    private Arrangement arrangement() {
        boolean isSequential = isOff("parallel_attn") || isOff("use_parallel_residual");
        return isSequential
                ? Arrangement.SEQUENTIAL
                : hasTwoNorms()
                        ? Arrangement.PARALLEL
                        : Arrangement.valueOf(facts.value("arrangement").toString());
    }

    private boolean isOff(String fact) {
        return facts.value(fact) != null && !facts.isOn(fact);
    }

    /** Whether the parallel parts of Falcon have a norm each. */
    private boolean hasTwoNorms() {
        return facts.isOn("new_decoder_architecture");
    }

    InputEmbeddingBlock.Builder input() {
        Check.that(
                facts.value("patch_size") == null,
                () -> config + ": expected a text model; use visionEncoder, or HuggingFaceModel.loadVision");
        int size = embeddingSize();
        InputEmbeddingBlock.Builder builder = InputEmbeddingBlock.builder()
                .setVocabularySize(facts.requireInt("vocab_size"))
                .setEmbeddingSize(size);
        Check.that(
                facts.value("word_embed_proj_dim") == null || facts.requireInt("word_embed_proj_dim") == size(),
                () -> "word_embed_proj_dim " + facts.value("word_embed_proj_dim") + " of " + config + ": expected "
                        + size()
                        + ", the size of the layers; other sizes are projected without a bias, which no block does");
        if ("learned".equals(config.layers.positions())) {
            builder.optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(size)
                    .optMaxSequenceLength(config.getMaxSequenceLength())
                    .build());
        } else {
            builder.optNoPositions();
        }
        if (facts.value("pad_token_id") != null) {
            builder.optPaddingIndex(facts.whole("pad_token_id"));
        }
        if (facts.isOn("positions_from_padding")) {
            builder.optPositionsFromPadding(0);
        }
        if (facts.value("type_vocab_size") != null && facts.whole("type_vocab_size") != 0) {
            builder.optTokenTypes(facts.requireInt("type_vocab_size"));
        }
        if (facts.isOn("input_norm")) {
            builder.optNorm(norm(size));
        }
        if (size != size() || facts.isOn("input_projection")) {
            builder.optOutputSize(size());
        }
        if (facts.value("embedding_multiplier") != null) {
            return builder.optTokenScale(facts.number("embedding_multiplier"));
        }
        return builder.optScaleEmbedding(facts.isOn("scale_embedding"));
    }

    /** The size of the input's vectors before their projection. */
    private int embeddingSize() {
        return facts.value("embedding_size") == null ? size() : facts.requireInt("embedding_size");
    }

    Block norm(int size) {
        return LayerNormBlock.builder()
                .setEmbeddingSize(size)
                .optEpsilon(epsilon())
                .build();
    }

    /** The input and the layers. */
    TransformerStackBlock.Builder stack(Integer length) {
        int count = config.layers.count();
        boolean isRepeated = facts.isOn("repeated_layers");
        return TransformerStackBlock.builder()
                .optInput(input().build())
                .setLayers(IntStream.range(0, isRepeated ? 1 : count)
                        .mapToObj(i -> layer(i, length).build())
                        .toList())
                .optRepetitions(isRepeated ? count : 1);
    }

    /** Adds the output layer to a stack. */
    TransformerStackBlock.Builder withHead(TransformerStackBlock.Builder stack) {
        if (facts.isOn("masked_head")) {
            String function = facts.value("transform_act") == null ? "hidden_act" : "transform_act";
            stack.optOutputTransform(ProjectionBlock.builder()
                    .setInputSize(size())
                    .setOutputSize(embeddingSize())
                    .optNonlinearity(nonlinearity(function, facts.get(function, String.class), false))
                    .optNorm(norm(embeddingSize()))
                    .optBias(facts.isOn("transform_bias"))
                    .build());
        }
        stack.optOutputBias(facts.isOn("head_bias"));
        if (isTied()) {
            stack.optTiedOutput(true);
        } else {
            stack.optOutputSize(facts.requireInt("vocab_size"));
        }
        if (facts.value("logit_scale") != null) {
            stack.optScoreScale(facts.number("logit_scale"));
        }
        if (isScaledByWidth()) {
            stack.optScoreScale(1 / Math.sqrt(size()));
        }
        if (facts.value("logits_scaling") != null) {
            stack.optScoreScale(1 / facts.number("logits_scaling"));
        }
        return facts.value("final_logit_softcapping") == null
                ? stack
                : stack.optScoreCap(facts.number("final_logit_softcapping"));
    }

    /** Whether T5 divides by the root of the size: in files without the key, if it shares the token table. */
    private boolean isScaledByWidth() {
        boolean isDecided = facts.value("scale_decoder_outputs") != null;
        return isDecided
                ? facts.isOn("scale_decoder_outputs")
                : facts.type().reads("scale_decoder_outputs") && isTied();
    }

    TensorNames names() {
        String family = facts.value("tensors").toString();
        if (family.equals("FALCON") && hasTwoNorms()) {
            return TensorNames.of("FALCON_40B");
        }
        if (family.startsWith("T5") && !isGated()) {
            return TensorNames.of(family + "_WITHOUT_GATE");
        }
        boolean isShared = family.equals("DEBERTA_V2") && facts.isOn("share_att_key");
        return TensorNames.of(isShared ? "DEBERTA_V2_SHARED" : family);
    }

    /** Names that stand for one tensor, the token table; none if it has one. */
    String[] tied(String prefix) {
        List<String> names = new ArrayList<>();
        ((List<?>) facts.value("tied_tensors")).forEach(name -> names.add(name.toString()));
        if (names.isEmpty() && names().getTokens() != null) {
            names.add(prefix + names().getTokens());
        }
        if (isTied() && names().getHead() != null) {
            names.add(names().getHead() + ".weight");
        }
        return names.size() < 2 ? new String[0] : names.toArray(String[]::new);
    }

    /** What a stack is initialized for: ids, and the output of an encoder if there is one. */
    Shape[] inputShapes() {
        Shape ids = new Shape(1, 1);
        return facts.isOn("cross_attention") ? new Shape[] {ids, new Shape(1, 1, size())} : new Shape[] {ids};
    }

    boolean isTied() {
        return facts.isOn("tie_word_embeddings");
    }

    /**
     * Whether a model has an output layer of which no tensor tells, since it shares the token table: by the name of its
     * class, or without one.
     */
    boolean isLanguageModel() {
        if (config.config.get("architectures") instanceof List<?> names && !names.isEmpty()) {
            return names.stream()
                    .anyMatch(
                            name -> String.valueOf(name).matches(".*(CausalLM|LMHeadModel|ForConditionalGeneration)"));
        }
        return isTied() && !facts.isOn("masked_head");
    }

    /** The text before the names of a file's tensors, which files without an output layer lack. */
    String prefix(Set<String> tensors) {
        String prefix = names().getPrefix();
        return Stream.of(prefix, prefix + "language_model.") // the latter of models of text and pictures
                .filter(each -> tensors.stream()
                        .anyMatch(name ->
                                name.startsWith(each + names().getLayers().replace("{stage}", "0"))))
                .findFirst()
                .orElse("");
    }

    /** Whether no tensor has a parameter of this name, so that it keeps its initial values. */
    boolean lacks(String parameter) {
        return ((List<?>) facts.value("norm_lacks")).contains(parameter);
    }

    /** Patterns of the parameters that no tensor has. */
    String[] missing() {
        return ((List<?>) facts.value("norm_lacks"))
                .stream().map(name -> "*" + name).toArray(String[]::new);
    }

    /** Patterns of tensors that are stored minus 1. */
    String[] storedMinusOne() {
        return facts.isOn("norms_minus_one") ? new String[] {"*norm.weight"} : new String[0];
    }
}
