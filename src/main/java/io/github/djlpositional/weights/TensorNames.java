package io.github.djlpositional.weights;

import ai.djl.nn.Parameter;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names of the tensors of a {@link TransformerStackBlock} in published models, as Hugging Face's transformers save
 * them, for {@link WeightLoader#module(String, TransformerStackBlock, TensorNames)}.
 *
 * <p>They cover the layers, the normalization after them, and the input: the tables of tokens and of their types, a
 * {@link LearnedPositionalEncodingBlock} and a layer normalization, which may be children of the
 * {@linkplain InputEmbeddingBlock.Builder#optPositionalEncoding positional encoding}.
 */
public enum TensorNames {
    /**
     * {@code BertModel}: BERT, MiniLM, E5, BGE; and ELECTRA. The input needs
     * {@link InputEmbeddingBlock.Builder#optTokenTypes} for the table of token types, two in most models.
     */
    BERT(1, "encoder.layer."),
    /**
     * {@code RobertaModel}, XLM-RoBERTa, CamemBERT: as {@link #BERT}, with two unused rows before the positions and one
     * token type.
     */
    ROBERTA(1, "encoder.layer."),
    /** {@code DistilBertModel}. */
    DISTILBERT(2, "transformer.layer."),
    /** {@code GPT2Model}: GPT-2, DistilGPT-2. Weights are transposed; queries, keys and values are one matrix. */
    GPT2(3, "h."),
    /**
     * {@code LlamaModel} and its relatives: Llama 2 and 3, Mistral, Qwen 2 and 3, SmolLM, Cohere. Not Gemma, whose
     * factors of normalizations are stored minus 1.
     */
    LLAMA(4, "layers."),
    /** {@code Phi3Model}: as {@link #LLAMA}; queries, keys and values are one matrix, as are gate and hidden layer. */
    PHI3(5, "layers.");

    /** The names of the blocks of a stack, and of a layer, whose names follow its number; a dash for none. */
    private static final String[] TABLE = """
            input_embedding              embeddings.word_embeddings     embeddings.word_embeddings     wte         embed_tokens             embed_tokens
            input_tokenTypes             embeddings.token_type_embeddings -                            -           -                        -
            input_.*encodings            embeddings.position_embeddings embeddings.position_embeddings wpe         -                        -
            input_.*(?=_gamma|_beta)     embeddings.LayerNorm           embeddings.LayerNorm           -           -                        -
            attention_queryProjection    attention.self.query           attention.q_lin                attn.c_attn self_attn.q_proj         self_attn.qkv_proj
            attention_keyProjection      attention.self.key             attention.k_lin                attn.c_attn self_attn.k_proj         self_attn.qkv_proj
            attention_valueProjection    attention.self.value           attention.v_lin                attn.c_attn self_attn.v_proj         self_attn.qkv_proj
            attention_resultProjection   attention.output.dense         attention.out_lin              attn.c_proj self_attn.o_proj         self_attn.o_proj
            attention_queryNorm          -                              -                              -           self_attn.q_norm         -
            attention_keyNorm            -                              -                              -           self_attn.k_norm         -
            attentionNorm                attention.output.LayerNorm     sa_layer_norm                  ln_1        input_layernorm          input_layernorm
            feedForward_gateProjection   -                              -                              -           mlp.gate_proj            mlp.gate_up_proj
            feedForward_hiddenProjection intermediate.dense             ffn.lin1                       mlp.c_fc    mlp.up_proj              mlp.gate_up_proj
            feedForward_outputProjection output.dense                   ffn.lin2                       mlp.c_proj  mlp.down_proj            mlp.down_proj
            feedForwardNorm              output.LayerNorm               output_layer_norm              ln_2        post_attention_layernorm post_attention_layernorm
            finalNorm                    -                              -                              ln_f        norm                     norm
            """.split("\n");

    private final int column;
    private final String layers;

    TensorNames(int column, String layers) {
        this.column = column;
        this.layers = layers;
    }

    /**
     * A tensor of a model.
     *
     * @param name its name, without a prefix
     * @param parameters the parameters that are its rows, one after another; usually one
     * @param isTransposed whether they are its columns instead
     * @param firstRow the row that the first parameter begins with
     */
    public record Tensor(String name, List<Parameter> parameters, boolean isTransposed, int firstRow) {}

    /** {@return the tensors of a stack; parameters without a name here are not among them} */
    public List<Tensor> tensors(TransformerStackBlock stack) {
        Map<String, List<Parameter>> found = new LinkedHashMap<>();
        // parameters are named 02layer0_01attention_01keyProjection_weight
        Map<String, Parameter> paths = new LinkedHashMap<>();
        stack.getParameters()
                .forEach(
                        entry -> paths.put(entry.getKey().replaceAll("(^|_)\\d+(?=[A-Za-z])", "$1"), entry.getValue()));
        for (String line : TABLE) {
            String[] row = line.split(" +", -1);
            Pattern pattern = Pattern.compile("(?:layer(\\d+)_)?" + row[0] + "(?:_(?:weight|gamma|(bias|beta)))?");
            paths.forEach((path, parameter) -> {
                Matcher block = pattern.matcher(path);
                if (block.matches() && !row[column].equals("-")) {
                    String layer = block.group(1) == null ? "" : layers + block.group(1) + ".";
                    String name = layer + row[column] + (block.group(2) == null ? ".weight" : ".bias");
                    found.computeIfAbsent(name, missing -> new ArrayList<>()).add(parameter);
                }
            });
        }
        List<Tensor> tensors = new ArrayList<>();
        found.forEach((name, parameters) -> {
            String kind = parameters.get(0).getName();
            boolean isTransposed = this == GPT2 && kind.equals("weight");
            int firstRow = this == ROBERTA && kind.equals("encodings") ? 2 : 0;
            tensors.add(new Tensor(name, List.copyOf(parameters), isTransposed, firstRow));
        });
        return tensors;
    }
}
