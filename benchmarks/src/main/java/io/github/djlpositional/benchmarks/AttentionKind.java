package io.github.djlpositional.benchmarks;

import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.PairLayout;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The positions or the mask of an attention: none, each relative encoding of the library, or a {@linkplain Masks mask}.
 *
 * @param text the name in a table
 * @param encoding the library's name of the relative encoding; null for none
 */
record AttentionKind(String text, String encoding) {

    static final int HEADS = 8;

    static final AttentionKind NONE = new AttentionKind("none", null);

    /** The last quarter of the keys is padding. */
    static final AttentionKind PADDING = new AttentionKind("padding", null);

    /** Four sequences are packed in a row: a token sees those of its own. */
    static final AttentionKind MASK = new AttentionKind("mask", null);

    static final AttentionKind CAUSAL = new AttentionKind("causal", null);

    /** Causal, with a window of a quarter of the keys. */
    static final AttentionKind WINDOW = new AttentionKind("window", null);

    static final List<AttentionKind> ALL = Stream.of(
                    Stream.of(NONE),
                    RelativeEncoding.names().stream().map(AttentionKind::ofEncoding),
                    Stream.of(new AttentionKind("kerple-power", "KERPLE"), PADDING, MASK, CAUSAL, WINDOW))
            .flatMap(kinds -> kinds)
            .toList();

    static final AttentionKind ROTARY = named("rotary");
    static final AttentionKind SHAW = named("shaw");
    static final AttentionKind DEBERTA = named("disentangled");

    /** Those that DJL's own block can have, as a mask that is added to the scores. */
    private static final Set<String> MASKS = Set.of("alibi", "t5", "kerple", "padding", "mask", "causal", "window");

    /** Those that Python's module has beside masks. */
    private static final Set<String> IN_PYTHON = Set.of("none", "rotary", "shaw", "transformer-xl");

    /** Those that take real positions, such as times. */
    private static final Set<String> AT_TIMES =
            Set.of("rotary", "alibi", "t5", "kerple", "sandwich", "gaussian", "distance-network", "fire");

    /** Those whose tokens are the cells of one window. */
    private static final Set<String> OF_CELLS = Set.of("swin", "swin-v2", "mvitv2");

    private static AttentionKind named(String text) {
        return ALL.stream().filter(kind -> kind.text.equals(text)).findFirst().orElseThrow();
    }

    private static AttentionKind ofEncoding(String name) {
        return new AttentionKind(name.toLowerCase(Locale.ROOT).replace(' ', '-'), name);
    }

    boolean isMask() {
        return MASKS.contains(text);
    }

    boolean isInPython() {
        return isMask() || IN_PYTHON.contains(text);
    }

    boolean takesTimes() {
        return AT_TIMES.contains(text);
    }

    /** The number of keys that a query of {@link #WINDOW} sees, and of the tokens of a sequence of {@link #MASK}. */
    static int quarter(long length) {
        return Math.toIntExact(Math.max(1, length / 4));
    }

    /** This library's attention of this kind; in a decoder's step, the length is that of the cache. */
    MultiHeadAttentionBlock.Builder attention(int size, long length, boolean isDecoder) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(HEADS)
                .optCausal(isDecoder || equals(CAUSAL) || equals(WINDOW));
        if (encoding != null) {
            builder.optRelativeEncoding(
                    RelativeEncoding.named(encoding, HEADS, size / HEADS, options(size, length, isDecoder)));
        }
        return equals(WINDOW) ? builder.optWindow(quarter(length)) : builder;
    }

    /** The options that are not the defaults. */
    private Map<String, ?> options(int size, long length, boolean isDecoder) {
        if (OF_CELLS.contains(text)) {
            int width = widthOf(length);
            int height = Math.toIntExact(length / width) + (isDecoder ? 1 : 0);
            return Map.of("window", List.of(height, width));
        }
        return switch (text) {
            // a decoder's step has one more position than its cache
            case "rotary" -> Map.of("layout", PairLayout.CONCATENATED, "maxSequenceLength", length + 1);
            case "t5" -> Map.of("bidirectional", !isDecoder);
            case "kerple-power" -> Map.of("form", "POWER");
            // as x-transformers
            case "distance-network" -> Map.of("hiddenSize", size / 4);
            default -> Map.of();
        };
    }

    /** The smallest divisor of the number of cells that is at least its root. */
    private static int widthOf(long length) {
        return IntStream.rangeClosed((int) Math.ceil(Math.sqrt((double) length)), Math.toIntExact(length))
                .filter(width -> length % width == 0)
                .findFirst()
                .orElseThrow();
    }
}
