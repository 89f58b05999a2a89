package io.github.djlpositional.examples;

import ai.djl.nn.Blocks;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import java.util.Locale;

/** How the encoder learns where a token stands: by what is added to its input, or by what its attention is given. */
public enum Encoding {
    /** Not at all: the encoder sees a bag of words. */
    NONE,

    /** By the sines and cosines of <em>Attention Is All You Need</em>, added to the input. */
    SINUSOIDAL {
        @Override
        void addTo(InputEmbeddingBlock.Builder input, EncoderSpec spec) {
            input.optPositionalEncoding(PositionalEncodingBlock.builder()
                    .setEmbeddingSize(spec.embeddingSize())
                    .optMaxSequenceLength(spec.maxWords())
                    .build());
        }
    },

    /** By a trained vector for each position, added to the input. */
    LEARNED {
        @Override
        void addTo(InputEmbeddingBlock.Builder input, EncoderSpec spec) {
            input.optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(spec.embeddingSize())
                    .optMaxSequenceLength(spec.maxWords())
                    .build());
        }
    },

    /** By turning queries and keys. */
    ROTARY {
        @Override
        void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {
            attention.optRelativeEncoding(RotaryEmbeddingBlock.builder()
                    .setHeadSize(spec.headSize())
                    .optMaxSequenceLength(spec.maxWords())
                    .build());
        }
    },

    /** By scores that fall with the distance. */
    ALIBI {
        @Override
        void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {
            attention.optRelativeEncoding(
                    AlibiBiasBlock.builder().setHeadCount(spec.heads()).build());
        }
    },

    /** By trained biases for buckets of distances. */
    T5 {
        @Override
        void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {
            attention.optRelativeEncoding(RelativePositionBiasBlock.builder()
                    .setHeadCount(spec.heads())
                    .build());
        }
    },

    /** By trained vectors for distances up to 16, added to keys and values. */
    SHAW {
        @Override
        void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {
            attention.optRelativeEncoding(ShawRelativePositionBlock.builder()
                    .setHeadSize(spec.headSize())
                    .build());
        }
    },

    /** By projected sinusoids of the distance. */
    TRANSFORMER_XL {
        @Override
        void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {
            attention.optRelativeEncoding(TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(spec.embeddingSize())
                    .setHeadCount(spec.heads())
                    .build());
        }
    };

    /** Gives the input its positions: none without an own implementation. */
    void addTo(InputEmbeddingBlock.Builder input, EncoderSpec spec) {
        input.optPositionalEncoding(Blocks.identityBlock());
    }

    /** Gives the attention its positions: none without an own implementation. */
    void addTo(MultiHeadAttentionBlock.Builder attention, EncoderSpec spec) {}

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
