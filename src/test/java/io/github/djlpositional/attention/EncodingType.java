package io.github.djlpositional.attention;

import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;

/**
 * Every relative encoding, as the tests use it: for heads of size 4. They set its parameters to any numbers from -1 to
 * 1, for all of which it must mean something: one that has to be positive is kept as its logarithm.
 */
public enum EncodingType {
    NONE {
        @Override
        public RelativeEncoding encoding(int heads) {
            return null;
        }
    },
    ROTARY {
        @Override
        public RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder().setHeadSize(HEAD_SIZE).build();
        }
    },
    ROTARY_HALVES_PARTIAL {
        @Override
        public RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optRotarySize(2)
                    .optLayout(PairLayout.CONCATENATED)
                    .build();
        }
    },
    ROTARY_DYNAMIC {
        @Override
        public RelativeEncoding encoding(int heads) {
            return RotaryEmbeddingBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optScaling(RotaryScaling.dynamicNtk(2, 4))
                    .build();
        }
    },
    ALIBI {
        @Override
        public RelativeEncoding encoding(int heads) {
            return AlibiBiasBlock.builder().setHeadCount(heads).build();
        }
    },
    T5 {
        @Override
        public RelativeEncoding encoding(int heads) {
            return RelativePositionBiasBlock.builder()
                    .setHeadCount(heads)
                    .optBuckets(8)
                    .optMaxDistance(6)
                    .build();
        }
    },
    KERPLE {
        @Override
        public RelativeEncoding encoding(int heads) {
            return KerpleBiasBlock.builder().setHeadCount(heads).build();
        }
    },
    SHAW {
        @Override
        public RelativeEncoding encoding(int heads) {
            return ShawRelativePositionBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optMaxDistance(2)
                    .build();
        }
    },
    SHAW_FAR {
        @Override
        public RelativeEncoding encoding(int heads) {
            return ShawRelativePositionBlock.builder()
                    .setHeadSize(HEAD_SIZE)
                    .optMaxDistance(40)
                    .build();
        }
    },
    TRANSFORMER_XL {
        @Override
        public RelativeEncoding encoding(int heads) {
            return TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(heads * HEAD_SIZE)
                    .setHeadCount(heads)
                    .build();
        }
    };

    static final int HEAD_SIZE = 4;

    /** A new encoding, null for none. */
    public abstract RelativeEncoding encoding(int heads);

    /** A builder of an attention with this encoding. */
    public MultiHeadAttentionBlock.Builder attention(int heads) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(heads * HEAD_SIZE)
                .setHeadCount(heads);
        RelativeEncoding encoding = encoding(heads);
        return encoding == null ? builder : builder.optRelativeEncoding(encoding);
    }
}
