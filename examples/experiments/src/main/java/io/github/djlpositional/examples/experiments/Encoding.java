package io.github.djlpositional.examples.experiments;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The kinds of positional encoding, and how each is built: what is added to the input, or takes part in the attention.
 *
 * <p>In a larger picture than the trained ones, the coordinates either continue (8, 9, …), or are scaled to those of
 * the trained pictures (0, 2/3, 4/3, …).
 */
@SuppressWarnings("ImmutableEnumChecker") // its functions have no state, and Set.of is immutable
public enum Encoding {
    /** No positions: an encoder treats its input as a bag of words or pixels. */
    NONE("none", at -> null, at -> null, Task.values()),
    /** The sinusoids of <em>Attention Is All You Need</em>, added to the input. */
    SINUSOIDAL("sinusoidal", Encoding::sinusoids, at -> null, Task.SENTENCES, Task.TEXT),
    /** The same with the token vectors that the library starts with, N(0, 1); the others start with smaller ones. */
    SINUSOIDAL_UNIT("sinusoidal, N(0, 1)", Encoding::sinusoids, at -> null, Task.SENTENCES),
    /** The same with token vectors that start with N(0, 1 / D) and are multiplied by √D, as in the paper. */
    SINUSOIDAL_SCALED("sinusoidal, scaled", Encoding::sinusoids, at -> null, Task.SENTENCES),
    /** A learned vector for each position, added to the input. */
    LEARNED("learned", at -> table(at).optMaxSequenceLength(at.longest).build(), at -> null, Task.SENTENCES, Task.TEXT),
    ROTARY("rotary", "rotary", at -> Map.of("maxSequenceLength", at.longest)),
    /** The model of {@link #ROTARY} with interpolated positions. */
    ROTARY_LINEAR("rotary, linear", at -> null, at -> rotary(at, RotaryScaling.linear(at.factor()))),
    /** The model of {@link #ROTARY} with another base. */
    ROTARY_NTK("rotary, NTK-aware", at -> null, at -> rotary(at, RotaryScaling.ntkAware(at.factor()))),
    /** The model of {@link #ROTARY} with low frequencies interpolated. */
    ROTARY_YARN("rotary, YaRN", at -> null, at -> rotary(at, RotaryScaling.yarn(at.factor(), at.trained))),
    /** The model of {@link #ROTARY}, whose tokens see no more tokens than in training. */
    ROTARY_WINDOW("rotary, window", at -> null, at -> rotary(at, RotaryScaling.none())),
    ALIBI("ALiBi", "ALiBi", at -> Map.of()),
    /** A bias for each bucket of distances; of text as in T5's decoder, with no bucket that is not trained. */
    T5("T5", "T5", at -> at.causal ? Map.of("bidirectional", false, "maxDistance", at.trained) : Map.of()),
    KERPLE("KERPLE", "KERPLE", at -> Map.of()),
    KERPLE_POWER("KERPLE, power", "KERPLE", at -> Map.of("form", "POWER")),
    SANDWICH("Sandwich", "Sandwich", at -> Map.of()),
    GAUSSIAN("Gaussian", "Gaussian", at -> Map.of()),
    DISTANCE_NETWORK("distance network", "distance network", at -> Map.of("hiddenSize", 32, "logarithmic", true)),
    /** A network of the relative distance; its threshold is a quarter of the trained length, as in the paper. */
    FIRE("FIRE", "FIRE", at -> Map.of("threshold", at.trained / 4.0)),
    SHAW("Shaw", "Shaw", at -> Map.of()),
    TRANSFORMER_XL("Transformer-XL", "Transformer-XL", at -> Map.of()),
    /** DeBERTa's; the library's defaults are for 512 tokens. */
    DISENTANGLED("DeBERTa", "disentangled", at -> Map.of("buckets", at.trained, "maxDistance", 4 * at.trained)),
    /** A learned vector for each pixel, added to it; in larger pictures, interpolated. */
    LEARNED_GRID(
            "learned grid", at -> table(at).optGrid(0, at.trained, at.trained).build(), at -> null, Task.PICTURES),
    /** Sinusoids of the row and of the column, added to the pixel; scaled. */
    FIXED_SCALED("fixed grid, scaled", at -> grid(at, 1.0 / at.factor()), at -> null, Task.PICTURES),
    FIXED_CONTINUED("fixed grid, continued", at -> grid(at, 1), at -> null, Task.PICTURES),
    /** Queries and keys rotated by row and by column, as in EVA-02; scaled. */
    ROTARY_SCALED(
            "rotary, scaled", at -> null, at -> RotaryPresets.eva(at.headSize()).build(), Task.PICTURES),
    ROTARY_CONTINUED("rotary, continued", at -> null, ROTARY_SCALED.relative, Task.PICTURES),
    /** A learned bias for each difference of rows and columns, as in Swin; in larger pictures, interpolated. */
    WINDOW_BIAS("window bias", at -> null, Encoding::window, Task.PICTURES);

    private final String title;
    private final Function<Sizes, Block> absolute;
    private final Function<Sizes, RelativeEncoding> relative;
    private final Set<Task> tasks;

    /**
     * The sizes of an encoder.
     *
     * @param size D
     * @param heads the number of heads
     * @param trained the number of tokens in the longest training example, or the side of a training picture
     * @param longest the same of the inputs
     * @param causal whether a token sees only the tokens before it
     */
    record Sizes(int size, int heads, int trained, int longest, boolean causal) {

        int headSize() {
            return size / heads;
        }

        double factor() {
            return (double) longest / trained;
        }
    }

    Encoding(String title, Function<Sizes, Block> absolute, Function<Sizes, RelativeEncoding> relative, Task... tasks) {
        this.title = title;
        this.absolute = absolute;
        this.relative = relative;
        this.tasks = Set.of(tasks);
    }

    /** One of the library's encodings of distances; the options are those that are not the defaults. */
    Encoding(String title, String library, Function<Sizes, Map<String, ?>> options) {
        this(
                title,
                at -> null,
                at -> RelativeEncoding.named(library, at.heads, at.headSize(), options.apply(at)),
                Task.SENTENCES,
                Task.TEXT);
    }

    private static Block sinusoids(Sizes at) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(at.size)
                .optMaxSequenceLength(at.longest)
                .build();
    }

    private static RelativeEncoding rotary(Sizes at, RotaryScaling scaling) {
        return RotaryEmbeddingBlock.builder()
                .setHeadSize(at.headSize())
                .optScaling(scaling)
                .build();
    }

    private static LearnedPositionalEncodingBlock.Builder table(Sizes at) {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(at.size);
    }

    private static Block grid(Sizes at, double scale) {
        SinusoidalEncoding axis = SinusoidalEncoding.vaswani(at.size / 2);
        return GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.builder()
                        .setAxes(2)
                        .add(0, axis)
                        .add(1, axis)
                        .optScale(scale)
                        .build())
                .optGrid(0, at.longest, at.longest)
                .build();
    }

    private static RelativeEncoding window(Sizes at) {
        return WindowBiasBlock.builder()
                .setHeadCount(at.heads)
                .setWindow(at.longest, at.longest)
                .build();
    }

    /** Returns the name in words, for example {@code Transformer-XL}. */
    public String title() {
        return title;
    }

    Set<Task> tasks() {
        return tasks;
    }

    /** Creates the block that adds positions to the input; the identity for relative encodings. */
    Block absolute(Sizes at) {
        Block block = absolute.apply(at);
        return block == null ? Blocks.identityBlock() : block;
    }

    /** Creates the block from token ids to vectors with positions. */
    InputEmbeddingBlock input(InputEmbeddingBlock.Builder builder, Sizes at) {
        InputEmbeddingBlock input = builder.setEmbeddingSize(at.size)
                .optScaleEmbedding(this == SINUSOIDAL_SCALED)
                .optPositionalEncoding(absolute(at))
                .build();
        if (this != SINUSOIDAL_UNIT && this != SINUSOIDAL_SCALED) {
            // in small models the positions matter more than the tokens, so tokens start smaller, with N(0, 2 / D)
            input.setInitializer(new NormalInitializer((float) Math.sqrt(2.0 / at.size)), Parameter.Type.WEIGHT);
        }
        return input;
    }

    /** Begins a layer whose attention has the positions of relative encodings. */
    TransformerLayerBlock.Builder layer(Sizes at) {
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(at.size)
                .setHeadCount(at.heads)
                .optCausal(at.causal);
        if (this == ROTARY_WINDOW) {
            attention.optWindow(at.trained);
        }
        RelativeEncoding positions = relative.apply(at);
        if (positions != null) {
            attention.optRelativeEncoding(positions);
        }
        return TransformerLayerBlock.builder().setAttention(attention.build());
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
