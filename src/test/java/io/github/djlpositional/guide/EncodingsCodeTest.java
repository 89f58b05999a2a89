package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.AxialPositionalEncodingBlock;
import io.github.djlpositional.FourierFeaturesBlock;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.DistanceNetworkBiasBlock;
import io.github.djlpositional.relative.KerpleBiasBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.SandwichBiasBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.Windows;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The code of docs/encodings.md and docs/choosing.md. */
class EncodingsCodeTest extends OnEachEngine {

    @Test
    void theTableOfABlock() {
        // tag::encodings[]
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optMaxSequenceLength(100)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 8));
        NDArray table = block.getEncodings(); // (1, 100, 8), of the block: do not close or change it
        NDArray rows = block.encode(manager.create(new int[] {0, 7, 99})); // (3, 8), of the caller
        // end::encodings[]
        assertThat(table.getShape()).isEqualTo(new Shape(1, 100, 8));
        assertThat(rows.get(1).toFloatArray())
                .containsExactly(table.get(0).get(7).toFloatArray());
    }

    /** At the old size, the table is used as it is. */
    @Test
    void picturesOfOtherSizes() {
        ParameterStore store = new ParameterStore(manager, false);
        // tag::gridSizes[]
        LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optGrid(1, 4, 4) // a class token and 4 × 4 patches
                .build();
        positions.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        PairList<String, Object> params = new PairList<>();
        params.add(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(6, 5)); // rows and columns
        NDArray x = manager.zeros(new Shape(2, 1 + 6 * 5, 8));
        NDArray y = positions.forward(store, new NDList(x), false, params).singletonOrThrow();
        // end::gridSizes[]
        NDArray table = positions.getTable().getArray();
        assertThat(y.get("1, 0").toFloatArray()).containsExactly(table.get(0).toFloatArray());
        double[] cells = GridResampling.BICUBIC_ANTIALIASED.resample(
                doubles(table.get("1:")), new int[] {4, 4}, new int[] {6, 5});
        requireClose(y.get("0, 1:"), cells, 1e-6);
    }

    @Test
    void coordinates() {
        NDArray seconds = manager.create(new double[] {1_763_000_000, 1_763_000_030.5, 1_763_003_600});
        ParameterStore store = new ParameterStore(manager, false);
        // tag::coordinates[]
        FourierFeaturesBlock features = FourierFeaturesBlock.builder()
                .setFeatures(FourierFeatures.time2Vec(64, 1)) // 64 features, seed 1
                .optLearned(true)
                .build();
        features.initialize(manager, DataType.FLOAT32, new Shape(-1, 1));
        // seconds since 1970 (T), FLOAT64; subtract before rounding to FLOAT32
        NDArray hours = seconds.sub(seconds.get("0")).div(3600).toType(DataType.FLOAT32, false);
        NDArray vectors = features.forward(store, new NDList(hours.expandDims(1)), false)
                .singletonOrThrow(); // (T, 64): add them to the tokens
        // end::coordinates[]
        assertThat(hours.toFloatArray()).containsExactly(0, 30.5f / 3600, 1);
        assertThat(vectors.getShape()).isEqualTo(new Shape(3, 64));
        // the first of Time2Vec is linear, the others are sines; numbers of a normal distribution are below 4
        FourierFeatures time2Vec = FourierFeatures.time2Vec(64, 1);
        for (int feature = 0; feature < 64; feature++) {
            double angle = time2Vec.get(0, feature) * 30.5 / 3600 + time2Vec.get(1, feature);
            assertThat((double) vectors.getFloat(1, feature))
                    .isCloseTo(feature == 0 ? angle : Math.sin(angle), within(8 * 0x1p-23));
        }
    }

    /** The weights are those of {@code reference_values.py}, i · 37 mod 101 - 50 in units of 1/64. */
    @Test
    void timesteps() {
        // tag::timesteps[]
        PositionalEncodingBlock sinusoids = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8) // 320 in Stable Diffusion
                .optEncoding(SinusoidalEncoding.diffusion(8, 0, 1, true))
                .build();
        Linear hidden = Linear.builder().setUnits(6).build(); // 1280; linear_1 of diffusers
        Linear output = Linear.builder().setUnits(6).build(); // 1280; linear_2
        SequentialBlock network = new SequentialBlock() // (B, 8) to (B, 6)
                .add(hidden)
                .add(Activation.swishBlock(1)) // silu
                .add(output);
        network.initialize(manager, DataType.FLOAT32, new Shape(1, 8));
        // end::timesteps[]
        for (Linear linear : List.of(hidden, output)) {
            NDArray weight = linear.getParameters().get("weight").getArray();
            double[] values = IntStream.range(0, (int) weight.size())
                    .mapToDouble(i -> (i * 37 % 101 - 50) / 64.0)
                    .toArray();
            NDArray numbers = manager.create(values, weight.getShape()).toType(DataType.FLOAT32, false);
            numbers.copyTo(weight);
            numbers.get(":, 0").copyTo(linear.getParameters().get("bias").getArray());
        }
        // tag::timesteps[]
        NDArray times = manager.create(new float[] {0, 1, 37.5f, 999}); // (B)
        NDArray vectors = network.forward(
                        new ParameterStore(manager, false), new NDList(sinusoids.encode(times)), false)
                .singletonOrThrow(); // (B, 6)
        // end::timesteps[]
        double[] expected = Goldens.rows("timesteps.csv").stream()
                .flatMapToDouble(row -> Stream.of(row[1].split(" ", -1)).mapToDouble(Double::parseDouble))
                .toArray();
        // weights below 0.8 and sums of up to 8 terms below 6.4 · 0.8 + 0.8 < 6 in each of two layers, which multiply
        // the first error by at most 1.1 · 4.8
        requireClose(vectors, expected, (9 * 6 * 6 + 9 * 29) * 0x1p-24);
    }

    /** TermPeersTest and BiasPeersTest compare them with the packages. */
    @Test
    void published() {
        // tag::published[]
        // Wav2Vec2-Conformer, FastSpeech2-Conformer, SeamlessM4T, Parakeet and other FastConformers
        RelativeEncoding conformer =
                TransformerXlPositionBlock.conformer(512, 8).build();
        // Wav2Vec2-BERT; SeamlessM4T v2
        RelativeEncoding wav2Vec2Bert = ShawRelativePositionBlock.builder()
                .setHeadSize(64)
                .optMaxDistance(64) // left_max_position_embeddings
                .optMaxDistanceAfter(8) // right_max_position_embeddings
                .optValues(false)
                .build();
        // VITS
        RelativeEncoding vits = ShawRelativePositionBlock.builder()
                .setHeadSize(96)
                .optMaxDistance(4) // window_size
                .optClipped(false)
                .build();
        // BERT and others with relative_key_query; without optKeyProducts, relative_key
        RelativeEncoding bert = ShawRelativePositionBlock.builder()
                .setHeadSize(64)
                .optMaxDistance(511) // max_position_embeddings - 1
                .optValues(false)
                .optKeyProducts(true)
                .build();
        // WavLM, a block for each layer
        RelativeEncoding wavLm = RelativePositionBiasBlock.builder()
                .setHeadCount(12)
                .optBuckets(320)
                .optMaxDistance(800)
                .optGateInputSize(768) // gru_rel_pos_linear is gateWeight and gateBias, gru_rel_pos_const is gateScale
                .build();
        // DeBERTa, and V2 with position_buckets -1
        RelativeEncoding deberta = DisentangledPositionBlock.builder()
                .setEmbeddingSize(768)
                .setHeadCount(12)
                .optBuckets(512) // max_relative_positions
                .optLogarithmic(false)
                .build();
        // end::published[]
        requireParameters(conformer, 512, 8, "projection", 512, 512);
        requireParameters(wav2Vec2Bert, 1024, 16, "keys", 73, 64);
        requireParameters(vits, 192, 2, "values", 9, 96);
        requireParameters(bert, 768, 12, "keys", 1023, 64);
        requireParameters(wavLm, 768, 12, "biases", 320, 12);
        requireParameters(deberta, 768, 12, "vectors", 1024, 768);
    }

    /** The shape of a parameter that the model has. */
    private void requireParameters(RelativeEncoding encoding, int size, int heads, String name, long... shape) {
        Shape input = new Shape(1, 3, size);
        Block attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(heads)
                .optRelativeEncoding(encoding)
                .build();
        attention.initialize(manager, DataType.FLOAT32, input);
        Shape output = Forward.infer(manager, attention, manager.ones(input)).getShape();
        assertThat(output).isEqualTo(input);
        assertThat(encoding.getParameters().get(name).getArray().getShape()).isEqualTo(new Shape(shape));
    }

    /** TermPeersTest compares it with transformers. */
    @Test
    void rotatedInput() {
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = manager.randomUniform(-1, 1, new Shape(2, 5, 16));
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(2)
                .build();
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        // tag::rotatedInput[]
        RotaryEmbeddingBlock rotation = RotaryEmbeddingBlock.builder()
                .setHeadSize(8)
                .optLayout(PairLayout.CONCATENATED)
                .optSequenceAxis(1)
                .build();
        rotation.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 2, 8)); // (B, T, N, H)
        NDArray heads = x.reshape(2, -1, 2, 8);
        NDArray rotated =
                rotation.forward(store, new NDList(heads), false).head().reshape(x.getShape());
        // the attention has no encoding: keys, queries, values
        NDArray y =
                attention.forward(store, new NDList(rotated, rotated, x), false).head(); // (B, T, D)
        // end::rotatedInput[]
        assertThat(y.getShape()).isEqualTo(x.getShape());
        NDArray unrotated = Forward.infer(manager, attention, x);
        // the position 0 is not rotated
        assertThat(rotated.get(":, 0").toFloatArray()).isEqualTo(x.get(":, 0").toFloatArray());
        assertThat(y.toFloatArray()).isNotEqualTo(unrotated.toFloatArray());
    }

    /** The numbers of {@code BeitRelativePositionBias} in transformers 5.23 for the first patch. */
    @Test
    void resampled() {
        WindowBiasBlock trained = WindowBiasBlock.builder()
                .setHeadCount(1)
                .setWindow(2, 2)
                .optClassToken(true)
                .build();
        trained.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        manager.create(new float[] {0, 1, 4, 2, 2, 4, 1, 0, 1, 4, 2, 2})
                .reshape(12, 1)
                .copyTo(trained.getBiases().getArray());
        int headCount = 1;
        // tag::resampled[]
        WindowBiasBlock larger = WindowBiasBlock.builder()
                .setHeadCount(headCount)
                .setWindow(3, 3)
                .optClassToken(true)
                .build();
        larger.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        larger.resample(trained, GridResampling.BILINEAR); // BEiT in transformers; timm: GEOMETRIC
        // end::resampled[]
        NDArray biases = Forward.infer(manager, larger, manager.zeros(new Shape(1, 10, 4)));
        double[] ofTheFirstPatch = {2, 2, 2, 2, 1.4, 1.04, 0.8, 1, 0.4, 0};
        requireClose(biases.get("0, 0, 1"), ofTheFirstPatch, 5e-7);
    }

    /** The attention of windows that were moved is that of the cells in them; the last ones see two parts. */
    @Test
    void windows() {
        NDArray videos = manager.randomNormal(new Shape(2, 4, 4, 6, 8)); // (B, frames, rows, columns, D)
        ParameterStore store = new ParameterStore(manager, false);
        // tag::windows[]
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(WindowBiasBlock.builder()
                        .setHeadCount(2)
                        .setWindow(2, 2, 3) // frames, rows, columns
                        .build())
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(-1, 12, 8));
        Shape window = new Shape(2, 2, 3);
        NDArray moved = Windows.roll(Windows.roll(Windows.roll(videos, 1, 1), 1, 2), 1, 3);
        NDArray cells = Windows.split(moved, window); // (windows, 12, 8)
        NDArray mask = Windows.mask(moved, new Shape(1, 1, 1), window); // (windows, 12, 12)
        NDArray y = attention.forward(store, new NDList(cells, mask), false).head();
        NDArray merged = Windows.merge(y, videos.getShape(), window); // the cells of moved
        // end::windows[]
        NDArray first = videos.get("1, 1:3, 1:3, 1:4").reshape(1, 12, 8);
        NDArray expected = attention.forward(store, new NDList(first), false).head();
        requireClose(merged.get("1, 0:2, 0:2, 0:3").flatten(), doubles(expected), 1e-5);
        // the cells of this window that were not moved see one another only
        NDArray alone = videos.get("1, 3:4, 3:4, 4:6").reshape(1, 2, 8);
        NDArray ofCells = Forward.inferAt(manager, manager.create(new int[] {0, 1}), attention, alone);
        requireClose(merged.get("1, 2, 2, 3:5").flatten(), doubles(ofCells), 1e-5);
    }

    @Test
    void axial() {
        ParameterStore store = new ParameterStore(manager, false);
        NDArray rows = manager.arange(30f).reshape(30, 1).repeat(1, 64);
        NDArray columns = manager.arange(20f).mul(100).reshape(20, 1).repeat(1, 64);
        NDArray x = manager.zeros(new Shape(2, 24, 64));
        NDArray visible = manager.zeros(new Shape(1, 2, 64));
        NDArray coordinates = manager.create(new long[] {29, 3, 7, 19}).reshape(2, 1, 2);
        // tag::axial[]
        AxialPositionalEncodingBlock positions = AxialPositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .setAxes(30, 20) // the rows and columns of the largest picture
                .optInitialEncodings(rows, columns) // (30, 64) and (20, 64), for example of a trained model
                .build();
        positions.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 64));
        PairList<String, Object> params = new PairList<>();
        params.add(AxialPositionalEncodingBlock.GRID_SIZES, new Shape(4, 6)); // x: (B, 4 · 6, 64)
        NDArray picture = positions.forward(store, new NDList(x), false, params).singletonOrThrow();

        // patches of several pictures with the row and the column of each, (2, B, T)
        NDArray patches = positions
                .forward(store, new NDList(visible, coordinates), false)
                .singletonOrThrow();
        // end::axial[]
        assertThat(picture.get("1, :, 0").toFloatArray()).startsWith(0, 100, 200, 300, 400, 500, 1, 101);
        assertThat(patches.get("0, :, 0").toFloatArray()).containsExactly(729, 1903);
    }

    private static RelativePositionBiasBlock.Builder bias() {
        return RelativePositionBiasBlock.builder().setHeadCount(4);
    }

    @Test
    void pages() {
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = manager.ones(new Shape(1, 3, 64));
        NDArray boxes = manager.create(new long[] {10, 20, 110, 60, 120, 20, 300, 60, 10, 70, 1000, 900})
                .reshape(1, 3, 4);
        NDArray index = manager.create(new long[] {0, 1, 2}).reshape(1, 1, 3);
        // tag::pages[]
        NDArray sides = boxes.transpose(2, 0, 1); // (B, T, 4) to (4, B, T): left, top, right, bottom
        NDArray sizes = sides.get("2:").sub(sides.get(":2")); // width, height
        AxialPositionalEncodingBlock places = AxialPositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .setAxes(1024, 1024, 1024, 1024, 1024, 1024)
                .optTables(0, 1, 0, 1, 2, 3) // x, y, x, y, width, height
                .build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .optRelativeEncoding(
                        bias().optAxis(0).build(), // RelativePositionBiasBlock.builder().setHeadCount(4)
                        bias().optAxis(1).optBuckets(64).optMaxDistance(256).build(),
                        bias().optAxis(2).optBuckets(64).optMaxDistance(256).build())
                .build();
        places.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 64));
        attention.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 64));

        NDArray tokens =
                places.forward(store, new NDList(x, sides.concat(sizes)), false).singletonOrThrow();
        PairList<String, Object> params = new PairList<>();
        // index, left and bottom, (3, B, T)
        params.add(
                PositionalEncodingBlock.POSITIONS,
                NDArrays.concat(new NDList(index, sides.get("0:1"), sides.get("3:4"))));
        NDArray y = attention.forward(store, new NDList(tokens), false, params).singletonOrThrow();
        // end::pages[]
        NDArray[] tables = places.getTables().stream().map(Parameter::getArray).toArray(NDArray[]::new);
        NDArray last = tables[0]
                .get(10)
                .add(tables[1].get(70))
                .add(tables[0].get(1000))
                .add(tables[1].get(900))
                .add(tables[2].get(990))
                .add(tables[3].get(830));
        requireClose(
                tokens.get(0, 2), last.add(1).toType(DataType.FLOAT64, false).toDoubleArray(), 1e-6);
        assertThat(y.getShape()).isEqualTo(x.getShape());
    }

    /** The blocks of the table in docs/choosing.md, for an embedding size of 512. */
    static Stream<Block> choices() {
        // tag::rotary[]
        RelativeEncoding rotary = RotaryEmbeddingBlock.builder().setHeadSize(64).build();
        // end::rotary[]
        // tag::largerBase[]
        RelativeEncoding largerBase =
                RotaryEmbeddingBlock.builder().setHeadSize(64).optBase(500_000).build();
        // end::largerBase[]
        // tag::network[]
        RelativeEncoding network = DistanceNetworkBiasBlock.builder()
                .setHeadCount(8)
                .setHiddenSize(32)
                .build();
        // end::network[]
        // tag::sandwich[]
        RelativeEncoding sandwich = SandwichBiasBlock.builder().setHeadCount(8).build();
        // end::sandwich[]
        // tag::kerple[]
        RelativeEncoding kerple = KerpleBiasBlock.builder().setHeadCount(8).build();
        // end::kerple[]
        // tag::yarn[]
        RelativeEncoding yarn = RotaryEmbeddingBlock.builder()
                .setHeadSize(64)
                .optScaling(RotaryScaling.yarn(4, 2048))
                .build();
        // end::yarn[]
        // tag::grid[]
        Block grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(512))
                .build();
        // end::grid[]
        // tag::sinusoids[]
        Block sinusoids =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        // end::sinusoids[]
        // tag::learned[]
        Block learned = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(512)
                .optMaxSequenceLength(256)
                .build();
        // end::learned[]
        // tag::features[]
        Block features = FourierFeaturesBlock.builder()
                .setFeatures(FourierFeatures.time2Vec(512, 1))
                .optLearned(true)
                .build();
        // end::features[]
        return Stream.of(rotary, largerBase, network, sandwich, kerple, yarn, grid, sinusoids, learned, features);
    }

    @Test
    void axialRotary() {
        // tag::axialRotary[]
        RelativeEncoding axial = RotaryPresets.axial(64, 10_000, 2).build();
        // end::axialRotary[]
        Block attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optRelativeEncoding(axial)
                .build();
        NDArray x = manager.ones(new Shape(1, 6, 512)); // 2 rows of 3 patches
        NDArray positions = manager.create(RotaryPresets.positions(2, 3)).expandDims(1);
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        assertThat(Forward.inferAt(manager, positions, attention, x).getShape()).isEqualTo(x.getShape());
    }

    @ParameterizedTest
    @MethodSource
    void choices(Block block) {
        Shape input = block instanceof GridPositionalEncodingBlock
                ? new Shape(1, 2, 3, 512)
                : block instanceof FourierFeaturesBlock ? new Shape(1, 3, 1) : new Shape(1, 3, 512);
        Block user = block instanceof RelativeEncoding encoding
                ? MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(512)
                        .setHeadCount(8)
                        .optRelativeEncoding(encoding)
                        .build()
                : block;
        user.initialize(manager, DataType.FLOAT32, input);
        Shape output = Forward.infer(manager, user, manager.ones(input)).getShape();
        assertThat(output).isEqualTo(input.slice(0, input.dimension() - 1).add(512));
    }
}
