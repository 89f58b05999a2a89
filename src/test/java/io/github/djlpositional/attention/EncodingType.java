package io.github.djlpositional.attention;

import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.EnumSet;
import java.util.function.IntFunction;

/**
 * Every relative encoding in the configurations that are tested, for heads of size 4. Tests set its parameters to any
 * numbers from -1 to 1, so a parameter that has to be positive must be stored as its logarithm.
 */
@SuppressWarnings("ImmutableEnumChecker") // the functions have no state
public enum EncodingType {
    NONE(heads -> null),
    ROTARY(heads -> rotary().build()),
    ROTARY_HALVES_PARTIAL(heads ->
            rotary().optRotarySize(2).optLayout(PairLayout.CONCATENATED).build()),
    ROTARY_DYNAMIC(heads -> rotary().optScaling(RotaryScaling.dynamicNtk(2, 4)).build()),
    ROTARY_XPOS(heads -> rotary().optRotaryStart(2).optXpos(1024).build()),
    ALIBI(heads -> AlibiBiasBlock.builder().setHeadCount(heads).build()),
    ALIBI_LEARNED(heads -> AlibiBiasBlock.builder()
            .setHeadCount(heads)
            .optSlopes(AlibiSlopes.geometric(heads, 6))
            .optLearned(true)
            .optScaled(true)
            .build()),
    T5(heads -> RelativePositionBiasBlock.builder()
            .setHeadCount(heads)
            .optBuckets(8)
            .optMaxDistance(6)
            .build()),
    KERPLE(heads -> KerpleBiasBlock.builder().setHeadCount(heads).build()),
    KERPLE_POWER(heads -> KerpleBiasBlock.builder()
            .setHeadCount(heads)
            .optForm(KerpleBiasBlock.Form.POWER)
            .build()),
    SANDWICH(heads -> SandwichBiasBlock.builder()
            .setHeadCount(heads)
            .optEncoding(SinusoidalEncoding.vaswani(6, 100))
            .build()),
    FIRE(heads -> FireBiasBlock.builder()
            .setHeadCount(heads)
            .optHiddenSize(5)
            .optThreshold(3.3)
            .build()),
    DISTANCE_NETWORK(heads -> DistanceNetworkBiasBlock.builder()
            .setHeadCount(heads)
            .setHiddenSize(3)
            .optLogarithmic(true)
            .optNormalized(true)
            .build()),
    /** A class token and the first of more than 4096 cells: the tests have inputs of any length. */
    WINDOW(heads -> window(heads).optClassToken(true).build()),
    WINDOW_NETWORK(heads -> WindowNetworkBiasBlock.builder()
            .setHeadCount(heads)
            .setWindow(1366, 3)
            .optHiddenSize(5)
            .optTrainedWindow(5, 4)
            .build()),
    WINDOW_VECTORS(heads -> WindowVectorsBlock.builder()
            .setHeadSize(EncodingType.HEAD_SIZE)
            .setWindow(1366, 3)
            .build()),
    SHAW(heads -> shaw(2)),
    SHAW_FAR(heads -> shaw(40)),
    DISENTANGLED(heads -> DisentangledPositionBlock.builder()
            .setEmbeddingSize(heads * EncodingType.HEAD_SIZE)
            .setHeadCount(heads)
            .optBuckets(6)
            .optMaxDistance(12)
            .build()),
    TRANSFORMER_XL(heads -> TransformerXlPositionBlock.builder()
            .setEmbeddingSize(heads * EncodingType.HEAD_SIZE)
            .setHeadCount(heads)
            .build());

    static final int HEAD_SIZE = 4;

    private final IntFunction<RelativeEncoding> encoding;

    EncodingType(IntFunction<RelativeEncoding> encoding) {
        this.encoding = encoding;
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(HEAD_SIZE);
    }

    private static WindowBiasBlock.Builder window(int heads) {
        return WindowBiasBlock.builder().setHeadCount(heads).setWindow(1366, 3);
    }

    private static RelativeEncoding shaw(int maxDistance) {
        return ShawRelativePositionBlock.builder()
                .setHeadSize(HEAD_SIZE)
                .optMaxDistance(maxDistance)
                .build();
    }

    /** Whether the encoding depends on the difference of two positions only, not on the positions themselves. */
    boolean isOfDistances() {
        return !EnumSet.of(FIRE, WINDOW, WINDOW_NETWORK, WINDOW_VECTORS).contains(this);
    }

    /** Creates an encoding; null for none. */
    public RelativeEncoding encoding(int heads) {
        return encoding.apply(heads);
    }

    /** Returns a builder of an attention with this encoding. */
    public MultiHeadAttentionBlock.Builder attention(int heads) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(heads * HEAD_SIZE)
                .setHeadCount(heads);
        RelativeEncoding relative = encoding(heads);
        return relative == null ? builder : builder.optRelativeEncoding(relative);
    }
}
