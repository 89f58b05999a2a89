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
 * The positions or the mask that an attention is measured with: none, each relative encoding of the library, padding of
 * the last quarter of the keys, causal, or a causal window of a quarter of the keys. {@code peers.py} has some of them.
 *
 * @param text the name in a table
 * @param encoding the library's name of the relative encoding; null for none
 */
record AttentionKind(String text, String encoding) {

    static final int HEADS = 8;

    static final AttentionKind PADDING = new AttentionKind("padding", null);
    private static final AttentionKind CAUSAL = new AttentionKind("causal", null);
    private static final AttentionKind WINDOW = new AttentionKind("window", null);
    private static final AttentionKind KERPLE_POWER = new AttentionKind("kerple-power", "KERPLE");

    static final List<AttentionKind> ALL = Stream.of(
                    Stream.of(new AttentionKind("none", null)),
                    RelativeEncoding.names().stream().map(AttentionKind::ofEncoding),
                    Stream.of(KERPLE_POWER, PADDING, CAUSAL, WINDOW))
            .flatMap(kinds -> kinds)
            .toList();

    /** Those that DJL's own block can have, as a mask that is added to the scores. */
    private static final Set<String> MASKS = Set.of("alibi", "t5", "kerple", "padding", "causal", "window");

    /** Those that Python's module has beside masks. */
    private static final Set<String> IN_PYTHON = Set.of("none", "rotary", "shaw", "transformer-xl");

    /** Those whose tokens are the cells of one window. */
    private static final Set<String> OF_CELLS = Set.of("swin", "swin-v2", "mvitv2");

    private static AttentionKind ofEncoding(String name) {
        return new AttentionKind(name.toLowerCase(Locale.ROOT).replace(' ', '-'), name);
    }

    /** The kind of a text such as {@code 8x256x512:transformer-xl}. */
    static AttentionKind of(String shape) {
        String text = shape.substring(shape.indexOf(':') + 1);
        return ALL.stream().filter(kind -> kind.text.equals(text)).findFirst().orElseThrow();
    }

    boolean isMask() {
        return MASKS.contains(text);
    }

    boolean isInPython() {
        return isMask() || IN_PYTHON.contains(text);
    }

    static int windowOf(long length) {
        return Math.toIntExact(Math.max(1, length / 4));
    }

    /** The smallest divisor of the number of cells that is at least its root. */
    private static int widthOf(long length) {
        return IntStream.rangeClosed((int) Math.ceil(Math.sqrt((double) length)), Math.toIntExact(length))
                .filter(width -> length % width == 0)
                .findFirst()
                .orElseThrow();
    }

    /** The height of a window for all cells; a decoder's step has one more than its cache. */
    private static int heightOf(long length, boolean causal) {
        return Math.toIntExact(length / widthOf(length)) + (causal ? 1 : 0);
    }

    /** The number of keys that are no padding. */
    static long tokensOf(long length) {
        return length - length / 4;
    }

    /** This library's attention of this kind. */
    MultiHeadAttentionBlock.Builder attention(int size, long length, boolean causal) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(HEADS)
                .optCausal(causal || equals(CAUSAL) || equals(WINDOW));
        if (encoding != null) {
            builder.optRelativeEncoding(
                    RelativeEncoding.named(encoding, HEADS, size / HEADS, options(size, length, causal)));
        }
        return equals(WINDOW) ? builder.optWindow(windowOf(length)) : builder;
    }

    /** The options that are not the defaults. */
    private Map<String, ?> options(int size, long length, boolean causal) {
        if (OF_CELLS.contains(text)) {
            return Map.of("window", List.of(heightOf(length, causal), widthOf(length)), "partial", causal);
        }
        return switch (text) {
            // a decoder's step has one more position than its cache
            case "rotary" -> Map.of("layout", PairLayout.CONCATENATED, "maxSequenceLength", length + 1);
            case "t5" -> Map.of("bidirectional", !causal);
            case "kerple-power" -> Map.of("form", "POWER");
            // as x-transformers
            case "distance-network" -> Map.of("hiddenSize", size / 4);
            default -> Map.of();
        };
    }
}
