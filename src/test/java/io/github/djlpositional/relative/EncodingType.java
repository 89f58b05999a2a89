package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.NaiveAttention.dot;
import static io.github.djlpositional.attention.NaiveAttention.plus;

import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention.Pair;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.conformance.TestBlocks;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Every relative encoding in the configurations that are tested, with heads of size 4: a name, the encoding, and the
 * score of a query and a key as its source defines it. Tests set its parameters to any numbers from -1 to 1, so a
 * parameter that has to be positive must be stored as its logarithm.
 */
@SuppressWarnings("ImmutableEnumChecker") // the functions have no state
public enum EncodingType implements TestBlocks {
    NONE(null, null, Pair::product),
    // pairs (0, 1) and (2, 3), frequencies 1 and 10000^(-1/2)
    ROTARY(
            "rotary",
            (heads, rows) -> rotary().build(),
            at -> at.scaled(dot(interleaved(at.q(), at.i(), 10_000), interleaved(at.k(), at.j(), 10_000)))),
    // one pair (0, 1) of frequency 1; dimensions 2 and 3 stay
    ROTARY_HALVES_PARTIAL(
            "rotary",
            (heads, rows) ->
                    rotary().optRotarySize(2).optLayout(PairLayout.CONCATENATED).build(),
            at -> at.scaled(dot(rotated(at.q(), 0, 1, at.i()), rotated(at.k(), 0, 1, at.j())))),
    ROTARY_DYNAMIC(
            "rotary",
            (heads, rows) ->
                    rotary().optScaling(RotaryScaling.dynamicNtk(2, 4, 10)).build(),
            at -> {
                // factor 2, original length 4, to serve 10: base · (2 · 10 / 4 - 1)^(4 / 2)
                double base = 10_000 * Math.pow(2.0 * 10 / 4 - 1, 2);
                return at.scaled(dot(interleaved(at.q(), at.i(), base), interleaved(at.k(), at.j(), base)));
            }),
    ROTARY_XPOS(
            "rotary", (heads, rows) -> rotary().optRotaryStart(2).optXpos(1024).build(), at -> {
                // one pair (2, 3), scaled by 0.4 / 1.4 to the power of the distance over 1024
                double kept = at.q()[0] * at.k()[0] + at.q()[1] * at.k()[1];
                double turned = dot(rotated(at.q(), 2, 3, at.i()), rotated(at.k(), 2, 3, at.j())) - kept;
                return at.scaled(kept + turned * Math.pow(0.4 / 1.4, (at.i() - at.j()) / 1024.0));
            }),
    // pairs (0, 1) and (2, 3), with a frequency of each dimension
    ROTARY_BY_DIMENSION(
            "rotary",
            (heads, rows) -> rotary().optRotarySize(4)
                    .optFrequencies(Frequencies.of(byDimension()))
                    .build(),
            at -> at.scaled(dot(byDimension(at.q(), at.i()), byDimension(at.k(), at.j())))),
    LEARNED_ROTARY(
            "learned rotary",
            (heads, rows) -> learnedRotary(heads).build(),
            at -> at.scaled(
                    dot(learnedRotation(at.q(), at, at.i(), 1, false), learnedRotation(at.k(), at, at.j(), 1, false)))),
    ROPE_MIXED(
            "RoPE-Mixed",
            (heads, rows) -> learnedRotary(heads)
                    .optAxes(2)
                    .optLayout(PairLayout.CONCATENATED)
                    .build(),
            at -> at.scaled(
                    dot(learnedRotation(at.q(), at, at.i(), 2, true), learnedRotation(at.k(), at, at.j(), 2, true)))),
    // of two heads, the published slopes are 2^-4 and 2^-8
    ALIBI(
            "ALiBi",
            (heads, rows) -> alibi(heads).build(),
            at -> at.product() - Math.pow(2, -4.0 * (at.head() + 1)) * at.distance()),
    ALIBI_LEARNED(
            "ALiBi",
            (heads, rows) -> alibi(heads)
                    .optSlopes(AlibiSlopes.custom(0.125, 0.015625))
                    .optLearned(true)
                    .optScaled(true)
                    .build(),
            at -> at.product() - at.scaled(Math.exp(at.number("logSlopes")) * at.distance())),
    ALIBI_ROUNDED_BY_KEY(
            "ALiBi",
            (heads, rows) -> alibi(heads).optRoundedByKey(true).build(),
            at -> at.product() + rounded(Math.pow(2, -4.0 * (at.head() + 1)) * rounded(at.j()))),
    T5(
            "T5",
            (heads, rows) -> RelativePositionBiasBlock.builder()
                    .setHeadCount(heads)
                    .optBuckets(8)
                    .optMaxDistance(6)
                    .build(),
            at -> at.product() + at.parameter("biases")[bucket(at.j() - at.i())][at.head()]),
    T5_GATED(
            "T5",
            (heads, rows) -> RelativePositionBiasBlock.builder()
                    .setHeadCount(heads)
                    .optBuckets(8)
                    .optMaxDistance(6)
                    .optGateInputSize(4 * heads)
                    .build(),
            at -> {
                double[] token = Arrays.copyOfRange(at.tokens().query(), 4 * at.head(), 4 * at.head() + 4);
                double r = sigmoid(gateSum(at, 0, token));
                double u = sigmoid(gateSum(at, 4, token));
                double gate = r * (u * at.number("gateScale") - 1) + 2;
                return at.product() + gate * at.parameter("biases")[bucket(at.j() - at.i())][at.head()];
            }),
    // positions on one axis are those of every axis
    T5_ON_AN_AXIS(
            "T5",
            (heads, rows) -> RelativePositionBiasBlock.builder()
                    .setHeadCount(heads)
                    .optBuckets(8)
                    .optMaxDistance(6)
                    .optAxis(1)
                    .optTruncated(true)
                    .optScaled(true)
                    .build(),
            at -> at.product() + at.scaled(at.parameter("biases")[bucket(at.j() - at.i())][at.head()])),
    KERPLE(
            "KERPLE",
            (heads, rows) -> KerpleBiasBlock.builder().setHeadCount(heads).build(),
            at -> at.product() - Math.exp(at.number("logB")) * Math.log1p(Math.exp(at.number("logA")) * at.distance())),
    KERPLE_POWER(
            "KERPLE",
            (heads, rows) -> KerpleBiasBlock.builder()
                    .setHeadCount(heads)
                    .optForm(KerpleBiasBlock.Form.POWER)
                    .build(),
            at -> at.product()
                    - Math.exp(at.number("logA")) * Math.pow(at.distance(), 2 / (1 + Math.exp(-at.number("logitP"))))),
    SANDWICH(
            "Sandwich",
            (heads, rows) -> SandwichBiasBlock.builder()
                    .setHeadCount(heads)
                    .optEncoding(SinusoidalEncoding.vaswani(6, 100))
                    .build(),
            at -> {
                // frequencies 1, 100^(-1/3) and 100^(-2/3); head h of two is divided by 8 h / 2
                double cosines = IntStream.range(0, 3)
                        .mapToDouble(pair -> Math.cos(at.distance() / Math.pow(100, pair / 3.0)))
                        .sum();
                return at.product() + cosines / (4.0 * (at.head() + 1));
            }),
    GAUSSIAN(
            "Gaussian",
            (heads, rows) -> GaussianBiasBlock.builder()
                    .setHeadCount(heads)
                    .optSigma(2.5)
                    .build(),
            at -> at.product() - Math.pow(at.distance() / Math.exp(at.number("logSigma")), 2) / 2),
    FIRE(
            "FIRE",
            (heads, rows) -> FireBiasBlock.builder()
                    .setHeadCount(heads)
                    .optHiddenSize(5)
                    .optThreshold(3.3)
                    .build(),
            at -> {
                double c = at.parameter("c")[0][0];
                double longest = Math.max(at.i(), Math.abs(3.3 * at.parameter("multiplier")[0][0]));
                double share = Math.log(Math.abs(c * at.distance()) + 1) / (Math.log(Math.abs(c * longest) + 1) + 1e-6);
                return at.product() + at.network(x -> Math.max(0, x), share);
            }),
    DISTANCE_NETWORK(
            "distance network",
            (heads, rows) -> DistanceNetworkBiasBlock.builder()
                    .setHeadCount(heads)
                    .setHiddenSize(3)
                    .optHiddenLayers(1)
                    .optLogarithmic(true)
                    .optNormalized(true)
                    .build(),
            at -> {
                double logarithm = Math.signum(at.i() - at.j()) * Math.log(at.distance() + 1);
                return at.product() + at.network(x -> x / (1 + Math.exp(-x)), logarithm);
            }),
    WINDOW(
            "Swin",
            (heads, rows) -> WindowBiasBlock.builder()
                    .setHeadCount(heads)
                    .setWindow(rows, 3)
                    .optClassToken(true)
                    .build(),
            at -> {
                // position 0 is a class token; the other positions are the cells
                double[][] biases = at.parameter("biases");
                int cells = biases.length - 3;
                int row = at.i() == 0
                        ? (at.j() == 0 ? cells + 2 : cells)
                        : at.j() == 0
                                ? cells + 1
                                : ((at.i() - 1) / 3 - (at.j() - 1) / 3 + cells / 10) * 5
                                        + (at.i() - 1) % 3
                                        - (at.j() - 1) % 3
                                        + 2;
                return at.product() + biases[row][at.head()];
            }),
    WINDOW_NETWORK(
            "Swin V2",
            (heads, rows) -> WindowNetworkBiasBlock.builder()
                    .setHeadCount(heads)
                    .setWindow(rows, 3)
                    .optHiddenSize(5)
                    .optTrainedWindow(5, 4)
                    .build(),
            at -> {
                double y = logarithmic((at.i() / 3 - at.j() / 3) * 8 / 4.0);
                double x = logarithmic((at.i() % 3 - at.j() % 3) * 8 / 3.0);
                return at.product() + 16 / (1 + Math.exp(-at.network(z -> Math.max(0, z), y, x)));
            }),
    // position 0 is a class token; the other positions are the cells of frames of 2 by 3
    WINDOW_NETWORK_OF_FRAMES(
            "Swin V2",
            (heads, rows) -> WindowNetworkBiasBlock.builder()
                    .setHeadCount(heads)
                    .setWindow(rows, 2, 3)
                    .optHiddenSize(5)
                    .optHiddenLayers(2)
                    .optNormalized(true)
                    .optForm(WindowNetworkBiasBlock.Form.LINEAR)
                    .optClassToken(true)
                    .build(),
            at -> {
                int[] d = ofFrames(at);
                return at.product() + (isOfClassToken(at) ? 0 : at.network(x -> Math.max(0, x), d[0], d[1], d[2]));
            }),
    WINDOW_VECTORS(
            "MViTv2",
            (heads, rows) -> WindowVectorsBlock.builder()
                    .setHeadSize(4)
                    .setWindow(rows, 2, 3)
                    .optClassToken(true)
                    .build(),
            at -> {
                int[] d = ofFrames(at);
                return isOfClassToken(at)
                        ? at.product()
                        : at.product()
                                + dot(at.q(), at.parameter("frames")[d[0] + at.parameter("frames").length / 2])
                                + dot(at.q(), at.parameter("rows")[d[1] + 1])
                                + dot(at.q(), at.parameter("columns")[d[2] + 2]);
            }),
    SHAW("Shaw", (heads, rows) -> shaw(2), at -> shawScore(at, 2), at -> at.parameter("values")[clipped(at, 2)]),
    SHAW_FAR("Shaw", (heads, rows) -> shaw(40), at -> shawScore(at, 40), at -> at.parameter("values")[clipped(at, 40)]),
    // keys up to 2 before the query, and up to 1 after it
    SHAW_WITH_KEY_PRODUCTS(
            "Shaw",
            (heads, rows) -> shaw().optMaxDistance(2)
                    .optMaxDistanceAfter(1)
                    .optKeyProducts(true)
                    .build(),
            at -> {
                double[] vector = at.parameter("keys")[Math.max(-2, Math.min(1, at.j() - at.i())) + 2];
                return at.scaled(dot(at.q(), at.k()) + dot(at.q(), vector) + dot(at.k(), vector));
            },
            at -> at.parameter("values")[Math.max(-2, Math.min(1, at.j() - at.i())) + 2]),
    SHAW_UNCLIPPED(
            "Shaw",
            (heads, rows) -> shaw().optMaxDistance(2).optClipped(false).build(),
            at -> at.scaled(dot(at.q(), plus(at.k(), vectorOrZero(at, "keys")))),
            at -> vectorOrZero(at, "values")),
    // scale 1 / sqrt(3 · 4)
    DISENTANGLED(
            "disentangled",
            (heads, rows) -> DisentangledPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .optBuckets(6)
                    .optMaxDistance(12)
                    .build(),
            at -> {
                double[] position = at.parameter("vectors")[disentangledRow(at.i() - at.j())];
                double toPosition = dot(at.q(), at.projected("keyWeight", "keyBias", position));
                double toContent = dot(at.k(), at.projected("queryWeight", "queryBias", position));
                return (dot(at.q(), at.k()) + toPosition + toContent) / Math.sqrt(12);
            }),
    DISENTANGLED_WITHOUT_LOGARITHMS(
            "disentangled",
            (heads, rows) -> DisentangledPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .optBuckets(3)
                    .optLogarithmic(false)
                    .build(),
            at -> {
                double distance = Math.max(-3, Math.min(2, at.i() - at.j()));
                double[] position = at.parameter("vectors")[(int) distance + 3];
                double toPosition = dot(at.q(), at.projected("keyWeight", "keyBias", position));
                double toContent = dot(at.k(), at.projected("queryWeight", "queryBias", position));
                return (dot(at.q(), at.k()) + toPosition + toContent) / Math.sqrt(12);
            }),
    DISENTANGLED_WITH_A_NORM(
            "disentangled",
            (heads, rows) -> DisentangledPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .optBuckets(6)
                    .optMaxDistance(12)
                    .optVectorNormEpsilon(0.5)
                    .build(),
            at -> {
                double[] row = at.parameter("vectors")[disentangledRow(at.i() - at.j())];
                double mean = DoubleStream.of(row).average().orElseThrow();
                double variance = DoubleStream.of(row)
                        .map(value -> (value - mean) * (value - mean))
                        .average()
                        .orElseThrow();
                double[] position = new double[row.length];
                Arrays.setAll(
                        position,
                        n -> (row[n] - mean) / Math.sqrt(variance + 0.5) * at.parameter("vectorScale")[0][n]
                                + at.parameter("vectorOffset")[0][n]);
                double toPosition = dot(at.q(), at.projected("keyWeight", "keyBias", position));
                double toContent = dot(at.k(), at.projected("queryWeight", "queryBias", position));
                return (dot(at.q(), at.k()) + toPosition + toContent) / Math.sqrt(12);
            }),
    // scale 1 / sqrt(2 · 4)
    DISENTANGLED_OF_QUERIES(
            "disentangled",
            (heads, rows) -> DisentangledPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .optBuckets(6)
                    .optMaxDistance(12)
                    .optPositionToContent(false)
                    .build(),
            at -> {
                double[] position = at.parameter("vectors")[disentangledRow(at.i() - at.j())];
                double toPosition = dot(at.q(), at.projected("keyWeight", "keyBias", position));
                return (dot(at.q(), at.k()) + toPosition) / Math.sqrt(8);
            }),
    DISENTANGLED_OF_KEYS(
            "disentangled",
            (heads, rows) -> DisentangledPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .optBuckets(6)
                    .optMaxDistance(12)
                    .optContentToPosition(false)
                    .build(),
            at -> {
                double[] position = at.parameter("vectors")[disentangledRow(at.i() - at.j())];
                double toContent = dot(at.k(), at.projected("queryWeight", "queryBias", position));
                return (dot(at.q(), at.k()) + toContent) / Math.sqrt(8);
            }),
    TRANSFORMER_XL(
            "Transformer-XL",
            (heads, rows) -> TransformerXlPositionBlock.builder()
                    .setEmbeddingSize(4 * heads)
                    .setHeadCount(heads)
                    .build(),
            at -> {
                double[] content = at.parameter("contentBias")[at.head()];
                double[] position = at.parameter("positionBias")[at.head()];
                double[] projected = at.projected("projection", null, sinusoid(at.i() - at.j()));
                return at.scaled(dot(plus(at.q(), content), at.k()) + dot(plus(at.q(), position), projected));
            }),
    FORGETTING(
            "FoX",
            (heads, rows) -> ForgettingBiasBlock.builder()
                    .setHeadCount(heads)
                    .setEmbeddingSize(4 * heads)
                    .build(),
            at -> at.product() + forgotten(at)),
    PROJECTED_DISTANCE(
            "Inkling",
            (heads, rows) -> ProjectedDistanceBiasBlock.builder()
                    .setHeadCount(heads)
                    .setEmbeddingSize(4 * heads)
                    .optCurves(3)
                    .optMaxDistance(5)
                    .build(),
            at -> {
                int distance = at.i() - at.j();
                double bias = 0;
                for (int r = 0; r < 3 && distance >= 0 && distance < 5; r++) {
                    int row = 3 * at.head() + r;
                    double weight =
                            dot(at.parameter("weight")[row], at.tokens().query()) + at.parameter("bias")[0][row];
                    bias += weight * at.parameter("curves")[r][distance];
                }
                return at.product() + bias;
            });

    public static final int HEAD_SIZE = 4;

    /** The rows of windows of three columns: more cells than inputs have tokens. */
    private static final int WINDOW_ROWS = 110;

    /** Creates an encoding for heads of size 4. */
    @FunctionalInterface
    private interface Creator {
        RelativeEncoding create(int heads, int windowRows);
    }

    private final String name;
    private final Creator creator;
    private final ToDoubleFunction<Pair> score;
    private final Function<Pair, double[]> addedValue;

    EncodingType(String name, Creator creator, ToDoubleFunction<Pair> score) {
        this(name, creator, score, at -> new double[HEAD_SIZE]);
    }

    EncodingType(String name, Creator creator, ToDoubleFunction<Pair> score, Function<Pair, double[]> addedValue) {
        this.name = name;
        this.creator = creator;
        this.score = score;
        this.addedValue = addedValue;
    }

    private static RotaryEmbeddingBlock.Builder rotary() {
        return RotaryEmbeddingBlock.builder().setHeadSize(HEAD_SIZE);
    }

    private static LearnedRotaryEmbeddingBlock.Builder learnedRotary(int heads) {
        return LearnedRotaryEmbeddingBlock.builder().setHeadCount(heads).setHeadSize(HEAD_SIZE);
    }

    private static AlibiBiasBlock.Builder alibi(int heads) {
        return AlibiBiasBlock.builder().setHeadCount(heads);
    }

    private static ShawRelativePositionBlock.Builder shaw() {
        return ShawRelativePositionBlock.builder().setHeadSize(HEAD_SIZE);
    }

    private static ShawRelativePositionBlock shaw(int maxDistance) {
        return shaw().optMaxDistance(maxDistance).build();
    }

    private RelativeEncoding encoding(int heads, int windowRows) {
        return creator == null ? null : creator.create(heads, windowRows);
    }

    /** Whether the encoding depends on the difference of two positions only, not on the positions themselves. */
    public boolean isOfDistances() {
        return !EnumSet.of(FIRE, WINDOW, WINDOW_NETWORK, WINDOW_NETWORK_OF_FRAMES, WINDOW_VECTORS, ROTARY_BY_DIMENSION)
                .contains(this);
    }

    /** Whether the formula is defined for real positions; FORGETTING and NONE have no positions. */
    public boolean takesRealPositions() {
        return !Set.of("Swin", "Swin V2", "MViTv2", "Shaw", "disentangled", "Transformer-XL", "Inkling")
                .contains("" + name);
    }

    /** The names of encodings of real positions, in the order of a dictionary. */
    static Set<String> namesWithRealPositions() {
        return Stream.of(values())
                .filter(type -> type.takesRealPositions() && type != NONE && type != FORGETTING)
                .map(type -> type.name)
                .collect(Collectors.toCollection(() -> new TreeSet<>(String.CASE_INSENSITIVE_ORDER)));
    }

    /** Creates an encoding; null for none. */
    public RelativeEncoding encoding(int heads) {
        return encoding(heads, WINDOW_ROWS);
    }

    /** Returns a builder of an attention with this encoding. */
    public MultiHeadAttentionBlock.Builder attention(int heads) {
        return attention(heads, WINDOW_ROWS);
    }

    /** The same with windows of more rows. */
    MultiHeadAttentionBlock.Builder attention(int heads, int windowRows) {
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(heads * HEAD_SIZE)
                .setHeadCount(heads);
        RelativeEncoding relative = encoding(heads, windowRows);
        return relative == null ? builder : builder.optRelativeEncoding(relative);
    }

    /** The encoding of two heads, with a small window. */
    @Override
    public RelativeEncoding block() {
        return encoding(2, 2);
    }

    /** The input of the attention, or queries. */
    @Override
    public Shape input() {
        boolean isOfInput = this == FORGETTING || this == PROJECTED_DISTANCE || this == T5_GATED;
        return isOfInput ? new Shape(2, 3, 2 * HEAD_SIZE) : new Shape(1, 2, 3, HEAD_SIZE);
    }

    /** The score of a query and a key, before any mask. */
    public double score(Pair at) {
        return score.applyAsDouble(at);
    }

    /** What is added to the value of a key for a query, (H). */
    public double[] addedValue(Pair at) {
        return addedValue.apply(at);
    }

    /** The sum of the logarithms of the gates of the visible keys after the first of two tokens up to the other. */
    private static double forgotten(Pair at) {
        double[][] keys = at.tokens().keys();
        int first = Math.min(at.tokens().i(), at.tokens().j());
        int last = Math.min(Math.max(at.tokens().i(), at.tokens().j()), keys.length - 1);
        return IntStream.rangeClosed(first + 1, last)
                .filter(l -> !at.tokens().isHidden().test(l))
                .mapToDouble(l -> dot(at.parameter("weight")[at.head()], keys[l]) + at.number("bias"))
                .map(logit -> -Math.log1p(Math.exp(-logit)))
                .sum();
    }

    private static boolean isOfClassToken(Pair at) {
        return at.i() == 0 || at.j() == 0;
    }

    /** The differences of frames of 2 by 3 cells, of rows and of columns, for cells after a class token. */
    private static int[] ofFrames(Pair at) {
        int i = at.i() - 1;
        int j = at.j() - 1;
        return new int[] {i / 6 - j / 6, i / 3 % 2 - j / 3 % 2, i % 3 - j % 3};
    }

    private static double shawScore(Pair at, int maxDistance) {
        return at.scaled(dot(at.q(), plus(at.k(), at.parameter("keys")[clipped(at, maxDistance)])));
    }

    private static int clipped(Pair at, int maxDistance) {
        return Math.max(-maxDistance, Math.min(maxDistance, at.j() - at.i())) + maxDistance;
    }

    /** The vector of a distance of at most 2, otherwise zeros. */
    private static double[] vectorOrZero(Pair at, String parameter) {
        int distance = at.j() - at.i();
        return Math.abs(distance) > 2 ? new double[HEAD_SIZE] : at.parameter(parameter)[distance + 2];
    }

    /** The sum of four outputs of the layer of WavLM's gates. */
    private static double gateSum(Pair at, int first, double... token) {
        return IntStream.range(first, first + 4)
                .mapToDouble(row -> dot(at.parameter("gateWeight")[row], token) + at.parameter("gateBias")[0][row])
                .sum();
    }

    private static double sigmoid(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    private static double[] interleaved(double[] x, int position, double base) {
        return rotated(rotated(x, 0, 1, position), 2, 3, position / Math.sqrt(base));
    }

    private static double[] rotated(double[] x, int first, int second, double angle) {
        double[] rotated = x.clone();
        rotated[first] = x[first] * Math.cos(angle) - x[second] * Math.sin(angle);
        rotated[second] = x[second] * Math.cos(angle) + x[first] * Math.sin(angle);
        return rotated;
    }

    private static double[] byDimension() {
        return new double[] {1, 0.5, 0.25, 2};
    }

    /** Each dimension turns by its own angle. */
    private static double[] byDimension(double[] x, int position) {
        double[] turned = new double[4];
        for (int i = 0; i < 4; i++) {
            double angle = position * byDimension()[i];
            int other = i % 2 == 0 ? i + 1 : i - 1;
            turned[i] = x[i] * Math.cos(angle) + (i % 2 == 0 ? -1 : 1) * x[other] * Math.sin(angle);
        }
        return turned;
    }

    /** The position on every axis times the frequencies of the axes, whose rows are the heads of each axis. */
    private static double[] learnedRotation(double[] x, Pair at, int position, int axes, boolean concatenated) {
        double[][] rows = at.parameter("frequencies");
        double[] rotated = x;
        for (int pair = 0; pair < 2; pair++) {
            double angle = 0;
            for (int axis = 0; axis < axes; axis++) {
                angle += position * rows[axis * rows.length / axes + at.head()][pair];
            }
            rotated = rotated(rotated, concatenated ? pair : 2 * pair, concatenated ? pair + 2 : 2 * pair + 1, angle);
        }
        return rotated;
    }

    /** T5's bucket with 8 buckets and a maximum distance of 6, both directions: 4 each, of which 2 are exact. */
    private static int bucket(int relative) {
        int distance = Math.abs(relative);
        int bucket = distance < 2 ? distance : Math.min(3, 2 + (int) (Math.log(distance / 2.0) / Math.log(3) * 2));
        return relative > 0 ? 4 + bucket : bucket;
    }

    /** The nearest number with 8 significant bits. */
    private static double rounded(double value) {
        double unit = Math.scalb(1.0, Math.getExponent(value) - 7);
        return value == 0 ? 0 : Math.rint(value / unit) * unit;
    }

    /**
     * DeBERTa V2's bucket with 6 buckets on each side and a maximum distance of 12: up to 3, each distance has its own.
     */
    private static int disentangledRow(int difference) {
        int distance = Math.abs(difference);
        int bucket = distance <= 3 ? distance : 3 + (int) Math.ceil(Math.log(distance / 3.0) / Math.log(11 / 3.0) * 2);
        return 6 + Math.max(-6, Math.min(5, difference < 0 ? -bucket : bucket));
    }

    /** Frequencies 10000^(-p/4): all sines, then all cosines. */
    private static double[] sinusoid(int distance) {
        return IntStream.range(0, 8)
                .mapToDouble(i -> {
                    double angle = distance / Math.pow(10_000, i % 4 / 4.0);
                    return i < 4 ? Math.sin(angle) : Math.cos(angle);
                })
                .toArray();
    }

    private static double logarithmic(double share) {
        return Math.signum(share) * Math.log(1 + Math.abs(share)) / Math.log(2) / 3;
    }
}
