package io.github.djlpositional.huggingface;

import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The names of the tensors of a {@link TransformerStackBlock} in published models, as the classes of Hugging Face's
 * transformers save them, for {@code WeightLoader.module}.
 *
 * <p>They cover the layers, the normalization after them, and of the input the token table, a
 * {@link LearnedPositionalEncodingBlock} and a layer normalization. The two latter may be any parts of the
 * {@linkplain InputEmbeddingBlock.Builder#optPositionalEncoding positional encoding}.
 */
public enum TensorNames {
    /** {@code BertModel}: BERT, MiniLM, E5, BGE; and ELECTRA. The table of token types is not part of a stack. */
    BERT,
    /**
     * {@code RobertaModel}: RoBERTa, XLM-RoBERTa, CamemBERT. As {@link #BERT}, but the position table begins with two
     * rows that are not used.
     */
    ROBERTA,
    /** {@code DistilBertModel}. */
    DISTILBERT,
    /** {@code GPT2Model}: GPT-2, DistilGPT-2. Weights are transposed; queries, keys and values are one matrix. */
    GPT2,
    /**
     * {@code LlamaModel} and its relatives: Llama 2 and 3, Mistral, Qwen 2 and 3, SmolLM, Cohere. Not Gemma, whose
     * factors of normalizations are stored minus 1.
     */
    LLAMA,
    /**
     * {@code Phi3Model}: as {@link #LLAMA}, but queries, keys and values are one matrix, as are gate and hidden layer.
     */
    PHI3;

    private static final String NONE = "-";

    /** The names of the parts, those of layers behind the name of the layer and its number. */
    private static final String TABLE = """
            part             BERT                            DISTILBERT                      GPT2        LLAMA
            tokens           embeddings.word_embeddings      embeddings.word_embeddings      wte         embed_tokens
            positions        embeddings.position_embeddings  embeddings.position_embeddings  wpe         -
            inputNorm        embeddings.LayerNorm            embeddings.LayerNorm            -           -
            layer            encoder.layer.                  transformer.layer.              h.          layers.
            query            attention.self.query            attention.q_lin                 attn.c_attn self_attn.q_proj
            key              attention.self.key              attention.k_lin                 attn.c_attn self_attn.k_proj
            value            attention.self.value            attention.v_lin                 attn.c_attn self_attn.v_proj
            result           attention.output.dense          attention.out_lin               attn.c_proj self_attn.o_proj
            queryNorm        -                               -                               -           self_attn.q_norm
            keyNorm          -                               -                               -           self_attn.k_norm
            attentionNorm    attention.output.LayerNorm      sa_layer_norm                   ln_1        input_layernorm
            feedForwardNorm  output.LayerNorm                output_layer_norm               ln_2        post_attention_layernorm
            gate             -                               -                               -           mlp.gate_proj
            hidden           intermediate.dense              ffn.lin1                        mlp.c_fc    mlp.up_proj
            output           output.dense                    ffn.lin2                        mlp.c_proj  mlp.down_proj
            finalNorm        -                               -                               ln_f        norm
            """;

    /**
     * A tensor of a model.
     *
     * @param name its name, without a prefix
     * @param parameters the parameters that are its rows, one after another; usually one
     * @param isTransposed whether they are its columns instead
     * @param firstRow the row that the first parameter begins with
     */
    public record Tensor(String name, List<Parameter> parameters, boolean isTransposed, int firstRow) {}

    /**
     * {@return the tensors of a stack, in the order of the model; parameters without a name here are not among them}
     *
     * @throws IllegalStateException if the token embedding of the input is a block of its own
     */
    public List<Tensor> tensors(TransformerStackBlock stack) {
        Map<String, String> parts = parts();
        Map<String, List<Parameter>> found = new LinkedHashMap<>();
        if (stack.getInput() != null) {
            add(found, parts.get("tokens") + ".weight", stack.getInput().getTokenTable());
            addPositions(found, parts, stack.getInput().getPositionalEncoding());
        }
        for (int i = 0; i < stack.getLayers().size(); i++) {
            String prefix = parts.get("layer") + i + ".";
            blocks(stack.getLayers().get(i)).forEach((part, block) -> addBlock(found, prefix, parts.get(part), block));
        }
        addBlock(found, "", parts.get("finalNorm"), stack.getFinalNorm());
        List<Tensor> tensors = new ArrayList<>();
        found.forEach((name, parameters) -> {
            boolean isLinear = name.startsWith(parts.get("layer"))
                    && parameters.get(0).getName().equals("weight");
            boolean isOfPositions = name.equals(parts.get("positions") + ".weight");
            int firstRow = this == ROBERTA && isOfPositions ? 2 : 0;
            tensors.add(new Tensor(name, List.copyOf(parameters), this == GPT2 && isLinear, firstRow));
        });
        return tensors;
    }

    /** The names of the parts of a model. */
    private Map<String, String> parts() {
        int column = switch (this) {
            case BERT, ROBERTA -> 1;
            case DISTILBERT -> 2;
            case GPT2 -> 3;
            case LLAMA, PHI3 -> 4;
        };
        Map<String, String> parts = new HashMap<>();
        TABLE.lines().map(line -> line.split(" +", -1)).forEach(row -> parts.put(row[0], row[column]));
        if (this == PHI3) {
            List.of("query", "key", "value").forEach(part -> parts.put(part, "self_attn.qkv_proj"));
            List.of("gate", "hidden").forEach(part -> parts.put(part, "mlp.gate_up_proj"));
        }
        return parts;
    }

    /** The blocks of a layer by the names of their parts; null for none. */
    private static Map<String, Block> blocks(TransformerLayerBlock layer) {
        MultiHeadAttentionBlock attention = layer.getAttention();
        Map<String, Block> blocks = new LinkedHashMap<>();
        blocks.put("query", attention.getQueryProjection());
        blocks.put("key", attention.getKeyProjection());
        blocks.put("value", attention.getValueProjection());
        blocks.put("queryNorm", attention.getQueryNorm());
        blocks.put("keyNorm", attention.getKeyNorm());
        blocks.put("result", attention.getResultProjection());
        blocks.put("attentionNorm", layer.getAttentionNorm());
        blocks.put("gate", layer.getGateProjection());
        blocks.put("hidden", layer.getHiddenProjection());
        blocks.put("output", layer.getOutputProjection());
        blocks.put("feedForwardNorm", layer.getFeedForwardNorm());
        return blocks;
    }

    private static void addPositions(Map<String, List<Parameter>> found, Map<String, String> parts, Block block) {
        String positions = parts.get("positions");
        if (block instanceof LearnedPositionalEncodingBlock learned && !positions.equals(NONE)) {
            add(found, positions + ".weight", learned.getTable());
        } else if (block != null && block.getDirectParameters().contains("gamma")) {
            addBlock(found, "", parts.get("inputNorm"), block);
        } else if (block != null) {
            block.getChildren().values().forEach(child -> addPositions(found, parts, child));
        }
    }

    /** Adds the weight and the bias of a projection or a normalization, unless the block or its name is missing. */
    private static void addBlock(Map<String, List<Parameter>> found, String prefix, String name, Block block) {
        if (block != null && !name.equals(NONE)) {
            block.getDirectParameters().values().forEach(parameter -> {
                boolean isBias = List.of("bias", "beta").contains(parameter.getName());
                add(found, prefix + name + (isBias ? ".bias" : ".weight"), parameter);
            });
        }
    }

    private static void add(Map<String, List<Parameter>> found, String name, Parameter parameter) {
        found.computeIfAbsent(name, missing -> new ArrayList<>()).add(parameter);
    }
}
