package io.github.djlpositional.internal.types;

import io.github.djlpositional.AxialPositionalEncodingBlock;
import io.github.djlpositional.FourierFeaturesBlock;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.options.TypeProvider;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.DistanceNetworkBiasBlock;
import io.github.djlpositional.relative.FireBiasBlock;
import io.github.djlpositional.relative.ForgettingBiasBlock;
import io.github.djlpositional.relative.GaussianBiasBlock;
import io.github.djlpositional.relative.KerpleBiasBlock;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.ProjectedDistanceBiasBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.SandwichBiasBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.relative.WindowVectorsBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.ProjectionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import java.util.LinkedHashMap;
import java.util.Map;

/** The blocks of this library, by their names in papers and models; lists contain the first name of a block. */
public final class LibraryTypes implements TypeProvider {

    @Override
    public Map<String, Class<?>> types() {
        Map<String, Class<?>> types = new LinkedHashMap<>();
        types.put("rotary", RotaryEmbeddingBlock.class);
        types.put("RoPE", RotaryEmbeddingBlock.class);
        types.put("ALiBi", AlibiBiasBlock.class);
        types.put("T5", RelativePositionBiasBlock.class);
        types.put("KERPLE", KerpleBiasBlock.class);
        types.put("Sandwich", SandwichBiasBlock.class);
        types.put("Gaussian", GaussianBiasBlock.class);
        types.put("distance network", DistanceNetworkBiasBlock.class);
        types.put("FIRE", FireBiasBlock.class);
        types.put("Shaw", ShawRelativePositionBlock.class);
        types.put("Transformer-XL", TransformerXlPositionBlock.class);
        types.put("disentangled", DisentangledPositionBlock.class);
        types.put("DeBERTa", DisentangledPositionBlock.class);
        types.put("FoX", ForgettingBiasBlock.class);
        types.put("forgetting", ForgettingBiasBlock.class);
        types.put("data-dependent ALiBi", ForgettingBiasBlock.class);
        types.put("Inkling", ProjectedDistanceBiasBlock.class);
        types.put("learned rotary", LearnedRotaryEmbeddingBlock.class);
        types.put("RoPE-Mixed", LearnedRotaryEmbeddingBlock.class);
        types.put("Swin", WindowBiasBlock.class);
        types.put("Swin V2", WindowNetworkBiasBlock.class);
        types.put("MViTv2", WindowVectorsBlock.class);
        types.put("sinusoidal", PositionalEncodingBlock.class);
        types.put("learned", LearnedPositionalEncodingBlock.class);
        types.put("axial", AxialPositionalEncodingBlock.class);
        types.put("factorized", AxialPositionalEncodingBlock.class);
        types.put("grid", GridPositionalEncodingBlock.class);
        types.put("Fourier features", FourierFeaturesBlock.class);
        types.put("input embedding", InputEmbeddingBlock.class);
        types.put("patch embedding", PatchEmbeddingBlock.class);
        types.put("RMS norm", RmsNormBlock.class);
        types.put("layer norm", LayerNormBlock.class);
        types.put("attention", MultiHeadAttentionBlock.class);
        types.put("feed-forward network", FeedForwardBlock.class);
        types.put("projection", ProjectionBlock.class);
        types.put("transformer layer", TransformerLayerBlock.class);
        types.put("transformer stack", TransformerStackBlock.class);
        types.put("vision transformer", VisionTransformerBlock.class);
        types.put("pooling", PoolingBlock.class);
        return types;
    }
}
