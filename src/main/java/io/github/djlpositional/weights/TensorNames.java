package io.github.djlpositional.weights;

import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.ParameterList;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.ProjectionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The names of the tensors of a {@link TransformerStackBlock} or a {@link VisionTransformerBlock} in a file, for
 * {@link WeightLoader#module(String, TransformerStackBlock, TensorNames)}. {@link #of} returns the names of published
 * models; a builder creates others:
 *
 * <pre>{@code
 * TensorNames names = TensorNames.builder()
 *         .setLayers("blocks.")                       // blocks.0.attn.q.weight
 *         .optTokens("embedding.weight")
 *         .optQuery("attn.q").optKey("attn.k").optValue("attn.v").optResult("attn.out")
 *         .optAttentionNorm("norm1")
 *         .optHidden("mlp.in").optOutput("mlp.out").optFeedForwardNorm("norm2")
 *         .build();
 * }</pre>
 *
 * <p>A name belongs to a module, whose tensors are {@code .weight} and {@code .bias}, unless the method of the builder
 * says that it belongs to a single tensor. The names of the parts of a layer follow the number of the layer. A part of
 * the stack without a name gets no tensor, which a strict loader reports.
 */
public final class TensorNames {

    /** How a tensor has the rows of queries, keys and values. */
    public enum Fusion {
        /** All queries, then all keys, then all values. */
        CONTIGUOUS,
        /** Query, key and value of each head, as in GPT-NeoX and BLOOM. */
        BY_HEAD,
        /** The queries of each group, then its key and its value, as in Falcon. */
        BY_GROUP
    }

    record Options(
            String prefix,
            String layers,
            @Default("false") boolean transposed,
            String tokens,
            String tokenTypes,
            String positions,
            @Default("0") @Range(min = 0) int firstPosition,
            String inputNorm,
            String inputProjection,
            String patches,
            String classToken,
            String registers,
            String merge,
            String mergeNorm,
            String query,
            String key,
            String value,
            String queryKeyValue,
            @Default("CONTIGUOUS") Fusion fusion,
            String queryOutputGate,
            String outputGate,
            String result,
            String queryNorm,
            String keyNorm,
            String temperature,
            String sinks,
            String relativeBiases,
            String relativeHidden,
            String relativeOutput,
            String relativeKey,
            String relativeQuery,
            String attentionNorm,
            String attentionResultNorm,
            String attentionScale,
            String crossQuery,
            String crossKey,
            String crossValue,
            String crossResult,
            String crossNorm,
            String gate,
            String hidden,
            String gateHidden,
            String output,
            String feedForwardNorm,
            String feedForwardResultNorm,
            String feedForwardScale,
            String sharedRelativeBiases,
            String sharedRelativeVectors,
            String sharedRelativeVectorNorm,
            String finalNorm,
            String outputTransform,
            String outputTransformNorm,
            String head,
            String headBias) {

        Options {
            Check.present("layers", layers);
            prefix = Objects.requireNonNullElse(prefix, "");
        }
    }

    /** Stands for the number of a stage of an encoder of pictures. */
    private static final String STAGE = "{stage}";

    private static final Map<String, TensorNames> PUBLISHED = read();

    private final Options options;

    private TensorNames(Options options) {
        this.options = options;
    }

    private static Map<String, TensorNames> read() {
        Map<String, Map<String, Object>> lines = new LinkedHashMap<>();
        Json.resource(TensorNames.class, "tensor-names.jsonc").forEach((name, value) -> {
            Map<String, Object> line = new LinkedHashMap<>();
            ((Map<?, ?>) value).forEach((key, each) -> line.put(String.valueOf(key), each));
            Object like = line.remove("like");
            Map<String, Object> all = new LinkedHashMap<>(like == null ? Map.of() : lines.get(like.toString()));
            all.putAll(line);
            all.values().removeIf(Objects::isNull);
            lines.put(name, all);
        });
        Map<String, TensorNames> names = new LinkedHashMap<>();
        lines.forEach((name, line) -> names.put(name, Settings.build(builder(), line)));
        return names;
    }

    /**
     * {@return the names in published models of a family, as Hugging Face's transformers save them}
     *
     * @param family {@code BERT}, {@code LLAMA} or another of {@link #families}
     * @throws IllegalArgumentException if it is not known
     */
    public static TensorNames of(String family) {
        TensorNames names = PUBLISHED.get(family);
        Check.that(
                names != null,
                () -> "names of the family \"" + family + "\": expected one of " + families()
                        + "; pass one of these, or make others with TensorNames.builder()");
        return names;
    }

    /** {@return the families that {@link #of} knows} */
    public static List<String> families() {
        return List.copyOf(PUBLISHED.keySet());
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the text before all names but that of the head in files of models with a head; may be empty} */
    public String getPrefix() {
        return options.prefix;
    }

    /** {@return what stands before the number of a layer} */
    public String getLayers() {
        return options.layers;
    }

    /** {@return the tensor of the token table, without prefix; null for none} */
    public String getTokens() {
        return options.tokens;
    }

    /** {@return the name of the output layer, without prefix; null for none} */
    public String getHead() {
        return options.head;
    }

    /**
     * A tensor of a model.
     *
     * @param name its name, without a prefix
     * @param parameters the parameters that are its rows, one after another in each group; usually one
     * @param isTransposed whether they are its columns instead
     * @param groups the number of equal groups of its rows, usually 1
     * @param firstRow the row that the first parameter begins with
     */
    public record Tensor(String name, List<Parameter> parameters, boolean isTransposed, int groups, int firstRow) {}

    /** {@return the tensors of a stack; parameters without a name here are not among them} */
    public List<Tensor> tensors(TransformerStackBlock stack) {
        Found found = new Found();
        InputEmbeddingBlock input = stack.getInput();
        if (input != null) {
            if (options.tokens != null) {
                found.add(options.tokens, input.getTokenTable());
            }
            found.add(options.tokenTypes, input.getTokenTypeTable());
            if (input.getPositionalEncoding() instanceof LearnedPositionalEncodingBlock learned) {
                found.add(options.positions, 1, options.firstPosition, List.of(learned.getTable()));
            }
            found.add(options.inputNorm, input.getNorm());
            found.add(options.inputProjection, input.getProjection());
        }
        addLayers(found, stack, options.layers);
        stack.getLayers().forEach(layer -> addVectors(found, layer.getAttention()));
        found.addFirst(options.sharedRelativeBiases, stack.getLayers().get(0).getAttention());
        found.add(options.finalNorm, stack.getFinalNorm());
        return found.tensors;
    }

    private void addLayers(Found found, TransformerStackBlock stack, String layers) {
        for (int i = 0; i < stack.getLayers().size(); i++) {
            found.prefix = layers + i + ".";
            addLayer(found, stack.getLayers().get(i));
        }
        found.prefix = "";
    }

    /** {@return the tensors of an encoder of pictures; parameters without a name here are not among them} */
    public List<Tensor> tensors(VisionTransformerBlock encoder) {
        Found found = new Found();
        PatchEmbeddingBlock input = encoder.getInput();
        found.add(options.patches, input.getProjection());
        found.add(options.classToken, input.getClassToken());
        found.add(options.registers, input.getRegisters());
        if (input.getPositionalEncoding() instanceof LearnedPositionalEncodingBlock learned) {
            found.add(options.positions, learned.getTable());
        }
        found.add(options.inputNorm, input.getNorm());
        List<TransformerStackBlock> stages = encoder.getStages();
        for (int i = 0; i < stages.size(); i++) {
            if (i > 0) {
                found.add(ofStage(options.merge, i - 1), encoder.getMerges().get(i - 1));
                found.add(
                        ofStage(options.mergeNorm, i - 1),
                        encoder.getMergeNorms().get(i - 1));
            }
            addLayers(found, stages.get(i), ofStage(options.layers, i));
        }
        found.add(options.finalNorm, stages.get(stages.size() - 1).getFinalNorm());
        return found.tensors;
    }

    private static String ofStage(String name, int stage) {
        return name == null ? null : name.replace(STAGE, String.valueOf(stage));
    }

    /**
     * {@return the tensors of a stack's output layer and of the {@link ProjectionBlock} before it, whose names have no
     * prefix}
     */
    public List<Tensor> outputTensors(TransformerStackBlock stack) {
        Found found = new Found();
        if (stack.getOutputTransform() instanceof ProjectionBlock transform) {
            found.add(options.outputTransform, transform.getProjection());
            found.add(options.outputTransformNorm, transform.getNorm());
        }
        if (options.head != null) {
            Linear output = stack.getOutput();
            found.add(options.head + ".weight", output == null ? null : found.parameter(output, "weight"));
            found.add(
                    Objects.requireNonNullElse(options.headBias, options.head + ".bias"),
                    output == null ? stack.getOutputBias() : found.parameter(output, "bias"));
        }
        return found.tensors;
    }

    /** {@return whether a file with these tensors has an output layer, or what stands before it} */
    public boolean hasOutput(Set<String> tensors) {
        return Stream.of(options.head, options.outputTransform)
                .anyMatch(module -> module != null && tensors.contains(module + ".weight"));
    }

    private void addLayer(Found found, TransformerLayerBlock layer) {
        MultiHeadAttentionBlock attention = layer.getAttention();
        List<Block> projections =
                List.of(attention.getQueryProjection(), attention.getKeyProjection(), attention.getValueProjection());
        if (options.queryKeyValue == null) {
            if (options.queryOutputGate == null) {
                found.add(options.query, projections.get(0));
            } else {
                List<Block> queryAndGate = Arrays.asList(projections.get(0), attention.getGateProjection());
                found.addFused(options.queryOutputGate, attention.getHeadCount(), queryAndGate);
            }
            found.add(options.key, projections.get(1));
            found.add(options.value, projections.get(2));
        } else {
            found.addFused(options.queryKeyValue, groups(attention), projections);
        }
        if (options.queryOutputGate == null) {
            found.add(options.outputGate, attention.getGateProjection());
        }
        found.add(options.result, attention.getResultProjection());
        found.add(options.queryNorm, attention.getQueryNorm());
        found.add(options.keyNorm, attention.getKeyNorm());
        found.add(options.temperature, attention.getTemperature());
        found.add(options.sinks, attention.getSinks());
        found.addFirst(options.relativeBiases, attention);
        for (RelativeEncoding encoding : attention.getRelativeEncodings()) {
            ParameterList all = encoding.getDirectParameters();
            found.add(options.relativeKey, all.get("keyWeight"), all.get("keyBias"));
            found.add(options.relativeQuery, all.get("queryWeight"), all.get("queryBias"));
            found.add(options.relativeHidden, all.get("weight1"), all.get("bias1"));
            found.add(options.relativeOutput, all.get("weight2"), all.get("bias2"));
        }
        found.add(options.attentionNorm, layer.getAttentionNorm());
        found.add(options.attentionResultNorm, layer.getAttentionResultNorm());
        found.add(options.attentionScale, layer.getAttentionScale());
        if (layer.getCrossAttention() != null) {
            found.add(options.crossQuery, layer.getCrossAttention().getQueryProjection());
            found.add(options.crossKey, layer.getCrossAttention().getKeyProjection());
            found.add(options.crossValue, layer.getCrossAttention().getValueProjection());
            found.add(options.crossResult, layer.getCrossAttention().getResultProjection());
            found.add(options.crossNorm, layer.getCrossAttentionNorm());
        }
        FeedForwardBlock feedForward = layer.getFeedForward();
        if (options.gateHidden == null) {
            found.add(options.gate, feedForward.getGateProjection());
            found.add(options.hidden, feedForward.getHiddenProjection());
        } else {
            found.addFused(
                    options.gateHidden,
                    1,
                    Arrays.asList(feedForward.getGateProjection(), feedForward.getHiddenProjection()));
        }
        found.add(options.output, feedForward.getOutputProjection());
        found.add(options.feedForwardNorm, layer.getFeedForwardNorm());
        found.add(options.feedForwardResultNorm, layer.getFeedForwardResultNorm());
        found.add(options.feedForwardScale, layer.getFeedForwardScale());
    }

    /** Adds the vectors of DeBERTa, which all layers share in a file. */
    private void addVectors(Found found, MultiHeadAttentionBlock attention) {
        for (RelativeEncoding encoding : attention.getRelativeEncodings()) {
            ParameterList all = encoding.getDirectParameters();
            found.add(options.sharedRelativeVectors, all.get("vectors"));
            found.add(options.sharedRelativeVectorNorm, all.get("vectorScale"), all.get("vectorOffset"));
        }
    }

    private int groups(MultiHeadAttentionBlock attention) {
        return switch (options.fusion) {
            case CONTIGUOUS -> 1;
            case BY_HEAD -> attention.getHeadCount();
            case BY_GROUP -> attention.getKeyValueHeadCount();
        };
    }

    /** {@return the names, as {@link Builder} sets them} */
    @Override
    public String toString() {
        return options.toString();
    }

    /** The tensors of the parts of a stack. */
    private final class Found {

        private final List<Tensor> tensors = new ArrayList<>();
        private String prefix = "";

        /** Adds a tensor for a parameter; null for neither. */
        void add(String name, Parameter parameter) {
            if (parameter != null) {
                add(name, 1, 0, List.of(parameter));
            }
        }

        /** Adds the weight and the bias of a module; null for neither. */
        void add(String name, Parameter weight, Parameter bias) {
            if (name != null) {
                add(name + ".weight", weight);
                add(name + ".bias", bias);
            }
        }

        private void add(String name, int groups, int firstRow, List<Parameter> parameters) {
            if (name != null) {
                boolean isTransposed = options.transposed && name.endsWith(".weight") && isOfLinear(parameters);
                tensors.add(new Tensor(prefix + name, parameters, isTransposed, groups, firstRow));
            }
        }

        private boolean isOfLinear(List<Parameter> parameters) {
            return !prefix.isEmpty() && parameters.get(0).getShape().dimension() == 2;
        }

        /** Adds the parameters of relative encodings with one, which layers may share, if no layer before had them. */
        void addFirst(String name, MultiHeadAttentionBlock attention) {
            for (RelativeEncoding encoding : attention.getRelativeEncodings()) {
                List<Parameter> all = encoding.getDirectParameters().values();
                if (all.size() == 1 && isFirst(all.get(0))) {
                    add(name, all.get(0));
                }
            }
        }

        private boolean isFirst(Parameter parameter) {
            return tensors.stream().noneMatch(tensor -> tensor.parameters.contains(parameter));
        }

        /** Adds the weight and the bias of a block, a linear layer or a norm; null for none. */
        void add(String name, Block block) {
            if (name != null && block != null) {
                addFused(name, 1, List.of(block));
            }
        }

        /** Adds the weights and biases of blocks, each in one tensor; null for no block. */
        void addFused(String name, int groups, List<Block> blocks) {
            for (String kind : List.of("weight", "bias")) {
                List<Parameter> parameters = blocks.stream()
                        .filter(Objects::nonNull)
                        .flatMap(block -> Stream.ofNullable(parameter(block, kind)))
                        .toList();
                if (!parameters.isEmpty()) {
                    add(name + "." + kind, groups, 0, parameters);
                }
            }
        }

        Parameter parameter(Block block, String kind) {
            Parameter named = block.getDirectParameters().get(kind);
            return named != null || block instanceof Linear
                    ? named
                    : block.getDirectParameters().get(kind.equals("weight") ? "gamma" : "beta");
        }
    }

    /** Builds {@link TensorNames}. */
    public static final class Builder extends BlockBuilder<TensorNames, Builder> {

        private Builder() {
            super(Options.class, TensorNames::new);
        }

        /**
         * Sets what stands before the number of a layer, such as {@code encoder.layer.}. In an encoder of pictures,
         * {@code {stage}} stands for the number of the stage.
         */
        public Builder setLayers(String layers) {
            return set("layers", layers);
        }

        /** Sets what stands before all names but that of the head in files of models with a head (default: nothing). */
        public Builder optPrefix(String prefix) {
            return set("prefix", prefix);
        }

        /** Sets the tensor of the token table. */
        public Builder optTokens(String tokens) {
            return set("tokens", tokens);
        }

        /** Sets the tensor of the token types. */
        public Builder optTokenTypes(String tokenTypes) {
            return set("tokenTypes", tokenTypes);
        }

        /** Sets the tensor of a {@link LearnedPositionalEncodingBlock}. */
        public Builder optPositions(String positions) {
            return set("positions", positions);
        }

        /** Sets the norm of the input. */
        public Builder optInputNorm(String inputNorm) {
            return set("inputNorm", inputNorm);
        }

        /** Sets the projection of the input. */
        public Builder optInputProjection(String inputProjection) {
            return set("inputProjection", inputProjection);
        }

        /** Sets the projection of patches, whose weight a convolution has as (D, C, h, w). */
        public Builder optPatches(String patches) {
            return set("patches", patches);
        }

        /** Sets the tensor of the class token. */
        public Builder optClassToken(String classToken) {
            return set("classToken", classToken);
        }

        /** Sets the tensor of the registers. */
        public Builder optRegisters(String registers) {
            return set("registers", registers);
        }

        /** Sets the projection that merges the patches of a {@code {stage}} for the next one. */
        public Builder optMerge(String merge) {
            return set("merge", merge);
        }

        /** Sets the norm after this projection. */
        public Builder optMergeNorm(String mergeNorm) {
            return set("mergeNorm", mergeNorm);
        }

        /** Sets the projection of the queries. */
        public Builder optQuery(String query) {
            return set("query", query);
        }

        /** Sets the projection of the keys. */
        public Builder optKey(String key) {
            return set("key", key);
        }

        /** Sets the projection of the values. */
        public Builder optValue(String value) {
            return set("value", value);
        }

        /** Sets one module for queries, keys and values instead of three; see {@link #optFusion}. */
        public Builder optQueryKeyValue(String queryKeyValue) {
            return set("queryKeyValue", queryKeyValue);
        }

        /**
         * Sets one module for the query and the output gate of each head, one head after another, as in Qwen3-Next and
         * Qwen 3.5, instead of {@link #optQuery} and {@link #optOutputGate}.
         */
        public Builder optQueryOutputGate(String queryOutputGate) {
            return set("queryOutputGate", queryOutputGate);
        }

        /** Sets the projection of the {@link MultiHeadAttentionBlock.Builder#optOutputGate output gate}. */
        public Builder optOutputGate(String outputGate) {
            return set("outputGate", outputGate);
        }

        /** Sets the projection of the heads' results. */
        public Builder optResult(String result) {
            return set("result", result);
        }

        /** Sets the norm of the queries. */
        public Builder optQueryNorm(String queryNorm) {
            return set("queryNorm", queryNorm);
        }

        /** Sets the norm of the keys. */
        public Builder optKeyNorm(String keyNorm) {
            return set("keyNorm", keyNorm);
        }

        /** Sets the tensor of the heads' temperatures. */
        public Builder optTemperature(String temperature) {
            return set("temperature", temperature);
        }

        /** Sets the tensor of the heads' sinks. */
        public Builder optSinks(String sinks) {
            return set("sinks", sinks);
        }

        /**
         * Sets the tensor of the biases of a relative encoding, which layers may share: that of the first one counts.
         */
        public Builder optRelativeBiases(String relativeBiases) {
            return set("relativeBiases", relativeBiases);
        }

        /** Sets DeBERTa's projection of vectors of positions for the queries, which may be that of the keys. */
        public Builder optRelativeKey(String relativeKey) {
            return set("relativeKey", relativeKey);
        }

        /** Sets DeBERTa's projection of vectors of positions for the keys, which may be that of the queries. */
        public Builder optRelativeQuery(String relativeQuery) {
            return set("relativeQuery", relativeQuery);
        }

        /** Sets the hidden layer of a network that computes the biases of positions, as in Swin V2. */
        public Builder optRelativeHidden(String relativeHidden) {
            return set("relativeHidden", relativeHidden);
        }

        /** Sets the output layer of this network. */
        public Builder optRelativeOutput(String relativeOutput) {
            return set("relativeOutput", relativeOutput);
        }

        /** Sets the norm of the attention, or the first of two. */
        public Builder optAttentionNorm(String attentionNorm) {
            return set("attentionNorm", attentionNorm);
        }

        /** Sets the second norm of the attention. */
        public Builder optAttentionResultNorm(String attentionResultNorm) {
            return set("attentionResultNorm", attentionResultNorm);
        }

        /** Sets the tensor of the factors of the attention's residual. */
        public Builder optAttentionScale(String attentionScale) {
            return set("attentionScale", attentionScale);
        }

        /** Sets the projection of the queries of the cross-attention. */
        public Builder optCrossQuery(String crossQuery) {
            return set("crossQuery", crossQuery);
        }

        /** Sets the projection of the keys of the cross-attention. */
        public Builder optCrossKey(String crossKey) {
            return set("crossKey", crossKey);
        }

        /** Sets the projection of the values of the cross-attention. */
        public Builder optCrossValue(String crossValue) {
            return set("crossValue", crossValue);
        }

        /** Sets the projection of the results of the cross-attention. */
        public Builder optCrossResult(String crossResult) {
            return set("crossResult", crossResult);
        }

        /** Sets the norm of the cross-attention. */
        public Builder optCrossNorm(String crossNorm) {
            return set("crossNorm", crossNorm);
        }

        /** Sets the projection of the gate. */
        public Builder optGate(String gate) {
            return set("gate", gate);
        }

        /** Sets the projection to the hidden layer. */
        public Builder optHidden(String hidden) {
            return set("hidden", hidden);
        }

        /** Sets one module for the gate and the hidden layer, in this order, instead of two. */
        public Builder optGateHidden(String gateHidden) {
            return set("gateHidden", gateHidden);
        }

        /** Sets the projection from the hidden layer. */
        public Builder optOutput(String output) {
            return set("output", output);
        }

        /** Sets the norm of the feed-forward network, or the first of two. */
        public Builder optFeedForwardNorm(String feedForwardNorm) {
            return set("feedForwardNorm", feedForwardNorm);
        }

        /** Sets the second norm of the feed-forward network. */
        public Builder optFeedForwardResultNorm(String feedForwardResultNorm) {
            return set("feedForwardResultNorm", feedForwardResultNorm);
        }

        /** Sets the tensor of the factors of the feed-forward network's residual. */
        public Builder optFeedForwardScale(String feedForwardScale) {
            return set("feedForwardScale", feedForwardScale);
        }

        /** Sets the tensor of the biases of a relative encoding of all layers, which stands beside the layers. */
        public Builder optSharedRelativeBiases(String sharedRelativeBiases) {
            return set("sharedRelativeBiases", sharedRelativeBiases);
        }

        /** Sets the tensor of DeBERTa's vectors of positions, one for all layers. */
        public Builder optSharedRelativeVectors(String sharedRelativeVectors) {
            return set("sharedRelativeVectors", sharedRelativeVectors);
        }

        /** Sets the norm of DeBERTa's vectors of positions. */
        public Builder optSharedRelativeVectorNorm(String sharedRelativeVectorNorm) {
            return set("sharedRelativeVectorNorm", sharedRelativeVectorNorm);
        }

        /** Sets the norm after the layers. */
        public Builder optFinalNorm(String finalNorm) {
            return set("finalNorm", finalNorm);
        }

        /** Sets the {@link ProjectionBlock} before the output layer, which has no prefix. */
        public Builder optOutputTransform(String outputTransform) {
            return set("outputTransform", outputTransform);
        }

        /** Sets the norm of that block, which has no prefix. */
        public Builder optOutputTransformNorm(String outputTransformNorm) {
            return set("outputTransformNorm", outputTransformNorm);
        }

        /** Sets the output layer, which has no prefix. */
        public Builder optHead(String head) {
            return set("head", head);
        }

        /** Sets the tensor of its bias, which has no prefix (default: that of the output layer's module). */
        public Builder optHeadBias(String headBias) {
            return set("headBias", headBias);
        }

        /** Sets how one module has queries, keys and values (default: {@link Fusion#CONTIGUOUS}). */
        public Builder optFusion(Fusion fusion) {
            return set("fusion", fusion);
        }

        /** Stores the weights of linear layers as (in, out), as {@code Conv1D} of GPT-2 does (default: false). */
        public Builder optTransposed(boolean transposed) {
            return set("transposed", transposed);
        }

        /** Sets the number of rows before position 0, two in RoBERTa and OPT (default: 0). */
        public Builder optFirstPosition(int firstPosition) {
            return set("firstPosition", firstPosition);
        }
    }
}
