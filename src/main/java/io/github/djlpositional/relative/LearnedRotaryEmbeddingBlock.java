package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.Rotation;
import io.github.djlpositional.attention.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.Rows;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A rotary embedding with learned frequencies, which differ by head; with two axes, RoPE-Mixed of Heo, Park, Han and
 * Yun, <em>Rotary Position Embedding for Vision Transformer</em> (2024), section 3.2; with three, the encoding of
 * videos of Mochi. At the position p, pair k of head n is rotated by
 *
 * <pre>
 * Σₐ p[a] · frequencies[a, n, k]
 * </pre>
 *
 * <p>The parameter {@code frequencies}, (axes, N, H / 2), has radians per position. On two axes, its initial values are
 * those of {@code init_random_2d_freqs} of timm, with a random direction for each head: a pair of base<sup>-4i/H</sup>
 * · (cos φ, sin φ), and a pair perpendicular to it. On one axis they are RoFormer's base<sup>-2k/H</sup>, and on three
 * 0, as in the code of Mochi in diffusers. Angles are computed in FLOAT64, cosines and sines are rounded once. There is
 * no maximum position.
 *
 * <p>Its own forward takes {@code [x]} or {@code [x, positions]}: x is (B, N, T, H), and positions are (T), (B, T), or
 * with several axes also (axes, B, T) or (axes, 1, T), of any integer or floating-point type; (T) and (B, T) apply to
 * every axis. The output is x, rotated. A token with the coordinates 0, such as a class token, is not rotated.
 *
 * @see <a href="https://arxiv.org/abs/2403.13298">Rotary Position Embedding for Vision Transformer</a>
 */
public final class LearnedRotaryEmbeddingBlock extends OptionsBlock implements RelativeEncoding {

    record Options(
            @Range(min = 1) int headCount,
            @Range(min = 2) int headSize,
            @Default("1") @Range(min = 1, max = 3) int axes,
            @NotSaved @Range(above = 0) Double base,
            @Default("INTERLEAVED") PairLayout layout) {

        Options {
            if (axes == 3) {
                Check.that(
                        base == null,
                        "base " + base
                                + " with axes 3: expected none, since the initial frequencies are 0; leave it out");
            } else {
                base = Objects.requireNonNullElse(base, axes == 1 ? 10_000.0 : 10.0);
            }
            int unit = axes == 2 ? 4 : 2;
            Check.that(
                    headSize % unit == 0,
                    "headSize " + headSize + " with axes " + axes + ": expected a multiple of " + unit
                            + "; set another head size or another number of axes");
        }
    }

    private final Options options;
    private final Rotation rotation;
    private final Parameter frequencies;

    private LearnedRotaryEmbeddingBlock(Options options) {
        super(options);
        this.options = options;
        rotation = new Rotation(0, options.headSize, options.layout, this::rows);
        frequencies = addParameter(
                "frequencies",
                new Shape(options.axes, options.headCount, options.headSize / 2),
                this::initialFrequencies);
    }

    private NDArray initialFrequencies(NDManager manager, Shape shape, DataType type) {
        if (options.axes == 3) {
            return manager.zeros(shape, type);
        }
        int count = options.headSize / (2 * options.axes);
        Frequencies sizes = Frequencies.geometric(count, options.base, count);
        Rows rows = Rows.of(count, (row, pair) -> sizes.get(pair));
        if (options.axes == 1) {
            return HostData.computed(manager, manager.getDevice(), shape, type, rows);
        }
        return Temporaries.result(() -> {
            Shape heads = new Shape(1, options.headCount, 1);
            NDArray random = manager.randomUniform(0, (float) (2 * Math.PI), heads);
            NDArray directions = Arithmetic.toType(random, DataType.FLOAT64);
            NDArray ofPairs =
                    HostData.computed(manager, manager.getDevice(), new Shape(1, 1, count), DataType.FLOAT64, rows);
            NDArray x = directions.cos().mul(ofPairs);
            NDArray y = directions.sin().mul(ofPairs);
            return Arithmetic.toType(x.concat(y.neg(), 2).concat(y.concat(x, 2)), type);
        });
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static LearnedRotaryEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** {@return the parameter (axes, N, H / 2), in radians per position} */
    public Parameter getFrequencies() {
        return frequencies;
    }

    @Override
    public void requireFits(int attentionHeads, int keyValueHeads, int attentionHeadSize, int embeddingSize) {
        Check.that(
                attentionHeads % options.headCount == 0 && options.headSize == attentionHeadSize,
                () -> "the attention has " + attentionHeads + " heads of size " + attentionHeadSize
                        + ": expected the sizes of its rotary embedding; build it with setHeadCount(" + attentionHeads
                        + ") and setHeadSize(" + attentionHeadSize + "); block: " + this);
        Check.that(
                keyValueHeads % options.headCount == 0,
                () -> "the attention has " + keyValueHeads + " heads of keys and its rotary embedding "
                        + options.headCount + ": expected a divisor of the heads of keys; build the rotary embedding"
                        + " with setHeadCount(" + keyValueHeads + ") or fewer, or the attention with"
                        + " optKeyValueHeadCount(" + attentionHeads + "); block: " + this);
    }

    @Override
    public List<Term> terms() {
        return List.of(rotation);
    }

    private NDArray rows(AttentionCall call, NDArray like, boolean areKeys) {
        return rows(areKeys ? call.keys() : call.queries(), like, call.parameterStore(), call.training());
    }

    /** The cosines and sines of tokens, (1 or B, N, n, H). */
    private NDArray rows(Positions tokens, NDArray like, ParameterStore parameterStore, boolean training) {
        NDArray explicit = tokens.array();
        RotaryEmbeddingBlock.requireAxes(explicit, options.axes == 1 ? 0 : options.axes, this);
        NDArray value = DataTypes.value(this, frequencies, parameterStore, like, training);
        DataTypes.requireSame(like, value, "frequencies");
        int n = tokens.count();
        NDArray positions = explicit == null
                ? Indices.range(like, tokens.first(), n, DataType.FLOAT64)
                : Arithmetic.toType(explicit, DataType.FLOAT64);
        NDArray p = positions.reshape(positions.getShape().dimension() == 3 ? options.axes : 1, -1, 1, n, 1);
        NDArray f = Arithmetic.toType(value.reshape(options.axes, 1, options.headCount, 1, -1), DataType.FLOAT64);
        int pairs = options.headSize / 2;
        int sections = switch (options.layout) {
            case INTERLEAVED -> pairs;
            case CONCATENATED -> 1;
            case CONCATENATED_HALVES -> 2;
        };
        NDArray angles = p.mul(f).sum(new int[] {0}).reshape(-1, options.headCount, n, sections, 1, pairs / sections);
        NDArray rows = angles.cos().concat(angles.sin(), 4).reshape(-1, options.headCount, n, options.headSize);
        return Arithmetic.toType(rows, like.getDataType());
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        ForwardParameters.requireNoMemory(
                params, "the forward of a rotary embedding", "pass the positions of each array that is rotated");
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        ScoreTermBlock.requireHeads(x.getShape(), "input", options.headCount, options.headSize);
        NDArray input = inputs.size() == 1 ? null : inputs.get(1);
        Positions positions = Positions.of(x, 2, input, params);
        mistakes.checkPositions(positions);
        if (x.size() == 0) {
            return new NDList(x.duplicate());
        }
        return new NDList(Temporaries.result(
                () -> rotation.apply(x, rows(positions.like(x), x, parameterStore, training), training)));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return new Shape[] {inputShapes[0]};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 2, "[x] or [x, positions]");
        // an attention may have more heads than its embedding
        ScoreTermBlock.requireHeads(inputShapes[0], "input", -1, options.headSize);
    }

    /** Builds a {@link LearnedRotaryEmbeddingBlock}. */
    public static final class Builder extends BlockBuilder<LearnedRotaryEmbeddingBlock, Builder> {

        private Builder() {
            super(Options.class, LearnedRotaryEmbeddingBlock::new);
        }

        /**
         * Sets the number of heads with frequencies of their own, at least 1: the attention's N, or a divisor of N for
         * groups of heads that share them. It also divides the number of key heads.
         */
        public Builder setHeadCount(int headCount) {
            return set("headCount", headCount);
        }

        /** Sets H, the size of a head: a multiple of 2, or of 4 on two axes. */
        public Builder setHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets the number of coordinates of a position: 1 for sequences, the default, 2 for pictures, or 3 for videos.
         */
        public Builder optAxes(int axes) {
            return set("axes", axes);
        }

        /**
         * Sets the base of the initial frequencies, positive (default: 10,000 on one axis, and 10 on two, the
         * {@code temperature} of timm); not for three axes.
         */
        public Builder optBase(double base) {
            return set("base", base);
        }

        /**
         * Sets where the two dimensions of a pair are (default: {@link PairLayout#INTERLEAVED}, as in timm's RoPE-Mixed
         * models).
         */
        public Builder optLayout(PairLayout layout) {
            return set("layout", layout);
        }
    }
}
