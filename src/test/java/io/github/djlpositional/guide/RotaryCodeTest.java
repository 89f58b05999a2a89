package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.CoordinateAugmentation;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.MropePositions;
import io.github.djlpositional.relative.MropePositions.Grid;
import io.github.djlpositional.relative.MropePositions.Prompts;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.Weights;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The code of docs/rotary.md. */
class RotaryCodeTest extends OnEachEngine {

    @Test
    void patchesOfAPicture() {
        NDArray x = manager.randomNormal(new Shape(1, 5 + 4 * 6, 128));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        // tag::picture[]
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(128)
                .setHeadCount(2)
                .optRelativeEncoding(RotaryPresets.dinov3(64).build())
                .build();
        attention.initialize(manager, DataType.FLOAT32, x.getShape()); // x: (B, 5 + 4 · 6, 128)

        // a class token and 4 registers, which are not rotated, then 4 rows of 6 patches
        NDArray positions =
                manager.create(RotaryPresets.dinov3Positions(5, 4, 6)).expandDims(1); // (2, 1, T)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        NDArray result =
                attention.forward(parameterStore, new NDList(x), false, params).singletonOrThrow();
        // end::picture[]
        assertThat(result.getShape()).isEqualTo(x.getShape());
        // tag::augmentation[]
        CoordinateAugmentation augmentation = new CoordinateAugmentation(0, 1, 2); // shift, jitter, rescale
        NDArray changed = augmentation.apply(positions, 5); // except the first 5 tokens
        // end::augmentation[]
        assertThat(changed.get(":, :, :5")).isEqualTo(positions.get(":, :, :5"));
        double factor = changed.getDouble(0, 0, 5) / positions.getDouble(0, 0, 5);
        assertThat(factor).isBetween(0.5, 2.0);
        assertThat(changed.sub(positions.mul(factor)).abs().max().getDouble()).isLessThan(1e-6);
        NDArray mirrored =
                manager.create(RotaryPresets.dinov3Positions(5, 6, 4)).expandDims(1);
        NDArray other = Forward.inferAt(manager, mirrored, attention, x);
        assertThat(result.sub(other).abs().max().getFloat()).isGreaterThan(1e-4f);
    }

    /** A checkpoint of three layers, whose numbers are 0, 1, …. */
    @Test
    void learnedFrequencies(@TempDir Path folder) throws Exception {
        String header = "{\"rope.freqs\":{\"dtype\":\"F32\",\"shape\":[2,3,2,8],\"data_offsets\":[0,384]}}";
        ByteBuffer bytes = ByteBuffer.wrap(Weights.safetensors(header, 384)).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 96; i++) {
            bytes.putFloat(bytes.capacity() - 384 + 4 * i, i);
        }
        Path path = Files.write(folder.resolve("model.safetensors"), bytes.array());
        NDArray x = manager.randomNormal(new Shape(1, 1 + 4 * 6, 32));
        int layer = 1;
        LearnedRotaryEmbeddingBlock rotary = LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(2)
                .setHeadSize(16)
                .optAxes(2)
                .build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(32)
                .setHeadCount(2)
                .optRelativeEncoding(rotary)
                .build();
        attention.initialize(manager, DataType.FLOAT32, x.getShape());
        // tag::mixed[]
        try (NDArray frequencies = WeightFile.open(path).read(manager, "rope.freqs")) { // (2, depth, N, H / 2)
            frequencies.get(":, {}", layer).copyTo(rotary.getFrequencies().getArray());
        }
        // end::mixed[]
        NDArray positions =
                manager.create(RotaryPresets.mixedPositions(1, 4, 6)).expandDims(1); // (2, 1, T)
        assertThat(rotary.getFrequencies().getArray().get(1, 1, 2).getFloat()).isEqualTo(48 + 16 + 8 + 2);
        assertThat(Forward.inferAt(manager, positions, attention, x).getShape()).isEqualTo(x.getShape());
    }

    /** One image in each of two sequences; the second has padding on the left. */
    @Test
    void textsWithImages() {
        long[] first = tokens(9, 1, 151_655, 6, 9, 3);
        long[] second = tokens(0, 1, 151_655, 8, 9, 1);
        NDArray ids = manager.create(new long[][] {first, second});
        NDArray mask = ids.neq(0).toType(DataType.INT64, false);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 10, 32);
        ParameterStore parameterStore = new ParameterStore(manager, false);
        MultiHeadAttentionBlock decoder = filled(
                manager,
                MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(32)
                        .setHeadCount(2)
                        .optCausal(true)
                        .optRelativeEncoding(
                                RotaryPresets.qwen2Vl(16, 10_000, 2, 3, 3).build())
                        .build(),
                DataType.FLOAT64,
                x.getShape());
        NDList vectors = new NDList(x);
        UnaryOperator<NDArray> vectorOfNextToken = y -> {
            vectors.add(y.get(":, -1:").tanh());
            return vectors.get(vectors.size() - 1);
        };
        // tag::mrope[]
        MropePositions mrope = MropePositions.builder()
                .setImageToken(151_655)
                .optVideoToken(151_656)
                .optTokensPerSecond(2) // Qwen2.5-VL only
                .build();
        List<Grid> images = List.of(Grid.of(1, 4, 6), Grid.of(1, 8, 4)); // in patches, of all sequences
        Prompts prompts = mrope.of(ids, mask, images, List.of()); // (B, T), with padding on any side
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            NDList inputs = new NDList(x, mask); // (B, T, D), then (B, 1, D)
            for (int step = 0; step < 5; step++) {
                int count = (int) inputs.head().getShape().get(1);
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, prompts.positions(manager, cache.getLength(), count));
                NDArray y =
                        decoder.forward(parameterStore, inputs, false, params).head();
                inputs = new NDList(vectorOfNextToken.apply(y));
            }
        }
        // end::mrope[]
        NDArray all = NDArrays.concat(vectors, 1); // (B, T + 5, D)
        NDArray visible = NDArrays.concat(new NDList(mask, manager.ones(new Shape(2, 5), DataType.INT64)), 1);
        PairList<String, Object> params = new PairList<>();
        // the largest coordinates are 6 and 4
        NDArray next = manager.create(new int[][] {{7, 8, 9, 10, 11}, {5, 6, 7, 8, 9}});
        NDArray steps = next.expandDims(0).repeat(0, 3);
        params.add(PositionalEncodingBlock.POSITIONS, prompts.positions(manager).concat(steps, 2));
        NDArray whole = Forward.infer(manager, decoder, params, all, visible).tanh();
        // FLOAT64: 2^-53 of sums of at most 100 products of numbers below 100
        requireClose(all.get(":, 10:"), doubles(whole.get(":, 9:-1")), 1e-12);
    }

    private static long[] tokens(long... idsAndCounts) {
        return IntStream.range(0, idsAndCounts.length / 2)
                .boxed()
                .flatMapToLong(
                        i -> LongStream.generate(() -> idsAndCounts[2 * i]).limit(idsAndCounts[2 * i + 1]))
                .toArray();
    }

    /** A row of the table is one call, for heads of the size that it names. */
    @Test
    void diffusionTransformersAreOneCall() throws IOException {
        List<Map<String, String>> rows = Tables.rows("docs/rotary.md", "model", "encoding", "H");
        assertThat(rows).hasSizeGreaterThan(10);
        for (Map<String, String> row : rows) {
            String call = row.get("encoding").replace("_", "");
            assertThat(call).matches("`sideBySide\\(\\d+(, \\d+)+\\)`");
            int[] numbers = Pattern.compile("\\d+")
                    .matcher(call)
                    .results()
                    .mapToInt(number -> Integer.parseInt(number.group()))
                    .toArray();
            int[] sizes = Arrays.copyOfRange(numbers, 1, numbers.length);
            RotaryEmbeddingBlock rotary =
                    RotaryPresets.sideBySide(numbers[0], sizes).build();
            assertThat(rotary.getHeadSize()).as("%s", row).isEqualTo(Integer.parseInt(row.get("H")));
            assertThat(rotary.getAxes().axisCount()).isEqualTo(sizes.length);
        }
    }

    /** Heads of 128, with `rope_scale` (2, 1, 1): `CosmosRotaryPosEmbed` of diffusers. */
    @Test
    void basesOfAxes() {
        // tag::cosmos[]
        double timeBase = 10_000 * Math.pow(2, 44 / 42.0); // scale 2; the others have 1
        RotaryEmbeddingBlock.Builder cosmos = RotaryPresets.sideBySide(
                        new double[] {timeBase, 10_000, 10_000}, 44, 42, 42)
                .optLayout(PairLayout.CONCATENATED);
        // end::cosmos[]
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 1, 1, 128);
        NDArray time = manager.create(new double[] {3, 0, 0}).reshape(3, 1, 1);
        double[] numbers = x.toDoubleArray();
        double angle = 3 / Math.pow(timeBase, 2 / 44.0);
        double expected = numbers[1] * Math.cos(angle) - numbers[65] * Math.sin(angle);
        NDArray y = Forward.infer(manager, cosmos.build(), x, time);
        assertThat(y.getDouble(0, 0, 0, 1)).isCloseTo(expected, within(1e-12));
        assertThat(doubles(y.get("..., 22:64"))).isEqualTo(doubles(x.get("..., 22:64")));
    }

    @Test
    void positionsFromTheMiddle() {
        // tag::qwenImage[]
        RotaryEmbeddingBlock rotary = RotaryPresets.qwenImage().build();
        // 20 tokens of text, then 6 rows of 8 tokens of an image
        double[][] coordinates = RotaryPresets.qwenImagePositions(20, Grid.of(1, 6, 8));
        NDArray positions =
                manager.create(coordinates).toType(DataType.INT32, false).expandDims(1); // (3, 1, T)
        // end::qwenImage[]
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 2, 68, 128);
        NDArray real = manager.create(coordinates).expandDims(1);
        assertThat(positions.get("1, 0, 20").getInt()).isEqualTo(-3);
        requireClose(
                Forward.infer(manager, rotary, x, positions), doubles(Forward.infer(manager, rotary, x, real)), 1e-6);
    }

    @Test
    void anglesByDimension() {
        // tag::byDimension[]
        RotaryEmbeddingBlock hunyuan = RotaryEmbeddingBlock.builder()
                .setHeadSize(128)
                .optLayout(PairLayout.CONCATENATED)
                .optAxes(RotaryAxes.sections(32, 32, 32, 32)) // 128 axes: of the dimensions
                .build();
        Frequencies half = Frequencies.geometric(32, 10_000, 32);
        RotaryEmbeddingBlock neighbors = RotaryEmbeddingBlock.builder()
                .setHeadSize(64)
                .optRotarySize(64)
                .optFrequencies(Frequencies.joined(half, half)) // 64 frequencies: of the dimensions
                .build();
        // end::byDimension[]
        assertThat(hunyuan.getArguments())
                .isEqualTo(RotaryPresets.hunyuanVl(128, 10_000, 16, 16, 16, 16)
                        .build()
                        .getArguments());
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 1, 1, 64);
        double[] numbers = x.toDoubleArray();
        // dimension 35 has the frequency of 3, and is in a pair with dimension 34
        double angle = 2 * Math.pow(10_000, -3 / 32.0);
        NDArray y = Forward.inferFrom(manager, 2, neighbors, x);
        assertThat(y.getDouble(0, 0, 0, 35))
                .isCloseTo(numbers[35] * Math.cos(angle) + numbers[34] * Math.sin(angle), within(1e-12));
    }

    @Test
    void textAfterAVideoIsRotatedByItsPosition() {
        NDArray queries = manager.randomNormal(new Shape(1, 2, 17, 128));
        NDArray keys = manager.randomNormal(new Shape(1, 2, 17, 128));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        RotaryEmbeddingBlock rotary =
                RotaryPresets.qwen2Vl(128, 1_000_000, 16, 24, 24).build();
        NDArray ids = manager.create(new long[][] {tokens(6, 12, 9, 5)});
        NDArray positions = MropePositions.builder()
                .setImageToken(5)
                .optVideoToken(6)
                .optAfterLargest(true)
                .build()
                .of(ids, null, List.of(), List.of(Grid.of(3, 4, 4)))
                .positions(manager); // (3, 1, T)
        NDList rotated = rotary.forward(parameterStore, new NDList(queries, keys, positions), false);
        // the last token of the text has position 7 on each axis
        RotaryEmbeddingBlock plain = RotaryEmbeddingBlock.builder()
                .setHeadSize(128)
                .optBase(1_000_000)
                .optLayout(PairLayout.CONCATENATED)
                .build();
        NDArray last = Forward.inferFrom(manager, 7, plain, keys.get(":, :, 16:"));
        requireClose(rotated.get(1).get(":, :, 16:"), doubles(last), 8 * 0x1p-23); // two products of numbers below 4
    }

    @Test
    void scalings() {
        // tag::scalings[]
        RotaryEmbeddingBlock.Builder rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(128)
                .optLayout(PairLayout.CONCATENATED) // most checkpoints
                .optBase(500_000)
                .optScaling(RotaryScaling.yarn(4, 8192)) // four times the trained length
                .optMaxSequenceLength(4 * 8192);
        // end::scalings[]
        RotaryEmbeddingBlock partly = RotaryEmbeddingBlock.builder()
                .setHeadSize(512)
                .optLayout(PairLayout.CONCATENATED)
                .optFrequencies(Frequencies.proportional(512, 0.25, 1_000_000, 1)) // a quarter of the pairs turns
                .build();
        NDArray x = manager.randomNormal(new Shape(1, 1, 3, 512));
        NDArray rotated = Forward.infer(manager, partly, x);
        // of 256 pairs, the first 64 turn: dimensions 64 to 255 and 320 to 511 do not
        assertThat(rotated.get(":, :, :, 64:256")).isEqualTo(x.get(":, :, :, 64:256"));
        assertThat(rotated.get(":, :, :, :64")).isNotEqualTo(x.get(":, :, :, :64"));
        assertThat(rotary.build().getScaling()).isEqualTo(RotaryScaling.yarn(4, 8192));
    }

    @Test
    void yarnOfAConfiguration() throws Exception {
        // tag::gptOss[]
        RotaryScaling gptOss = new RotaryScaling.Yarn(32, 4096, 32, 1, false, null);
        // end::gptOss[]
        HuggingFaceConfig config =
                HuggingFaceConfig.read(Path.of("src/test/resources/configurations/gpt-oss-20b.json"));
        assertThat(config.rotary().build().getScaling()).isEqualTo(gptOss);
    }

    @Test
    void headsAfterTokens() {
        NDArray queries = manager.randomNormal(new Shape(2, 5, 3, 64));
        NDArray keys = manager.randomNormal(new Shape(2, 5, 3, 64));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        // tag::heads[]
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(64)
                .optSequenceAxis(1)
                .build();
        NDList rotated = rotary.forward(parameterStore, new NDList(queries, keys), false); // (B, T, N, H)
        // end::heads[]
        NDArray swapped = Forward.infer(
                manager, RotaryEmbeddingBlock.builder().setHeadSize(64).build(), keys.swapAxes(1, 2));
        // FLOAT32: a pair of numbers below 8 is rotated with a few roundings of 2^-24
        requireClose(rotated.get(1), doubles(swapped.swapAxes(1, 2)), 1e-5);
    }
}
