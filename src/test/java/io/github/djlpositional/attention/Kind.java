package io.github.djlpositional.attention;

import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;

/** Every relative encoding, as the tests use it: for heads of size 4. */
enum Kind {
    NONE {
        @Override
        RelativeEncoding encoding(int heads) {
            return null;
        }
    },
    ROTARY {
        @Override
        RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder().setHeadSize(HEAD_SIZE).build();
        }
    },
    ROTARY_HALVES_PARTIAL {
        @Override
        RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optRotarySize(2)
                    .optLayout(PairLayout.CONCATENATED)
                    .build();
        }
    },
    ROTARY_DYNAMIC {
        @Override
        RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optScaling(RotaryScaling.dynamicNtk(2, 4))
                    .build();
        }
    },
    ALIBI {
        @Override
        RelativeEncoding encoding(int heads) {
            return AlibiBiasBlock.builder().setHeadCount(heads).build();
        }
    },
    T5 {
        @Override
        RelativeEncoding encoding(int heads) {
            return RelativePositionBiasBlock.builder()
                    .setHeadCount(heads)
                    .optBuckets(8)
                    .optMaxDistance(6)
                    .build();
        }
    },
    SHAW {
        @Override
        RelativeEncoding encoding(int heads) {
            return ShawRelativePositionBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optMaxDistance(2)
                    .build();
        }
    },
    SHAW_FAR {
        @Override
        RelativeEncoding encoding(int heads) {
            return ShawRelativePositionBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optMaxDistance(40)
                    .build();
        }
    },
    TRANSFORMER_XL {
        @Override
        RelativeEncoding encoding(int heads) {
            return TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(heads * HEAD_SIZE)
                    .setHeadCount(heads)
                    .build();
        }
    };

    static final int HEAD_SIZE = 4;

    /** A new encoding, null for none. */
    abstract RelativeEncoding encoding(int heads);

    /** A builder of an attention with this encoding. */
    MultiHeadAttentionBlock.Builder attention(int heads) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(heads * HEAD_SIZE)
                .setHeadCount(heads);
        RelativeEncoding encoding = encoding(heads);
        return encoding == null ? builder : builder.optRelativeEncoding(encoding);
    }
}
