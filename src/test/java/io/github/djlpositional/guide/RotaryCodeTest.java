package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.Weights;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.IntStream;
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

    /** Positions (3, T) of text, then a video of frames, rows and columns, then text. */
    static int[][] positions(int textBefore, int[] video, int textAfter) {
        double[][] cells = RotaryPresets.positions(video);
        int next = textBefore + Arrays.stream(video).max().orElseThrow();
        int[][] positions = new int[3][];
        for (int axis = 0; axis < 3; axis++) {
            IntStream before = IntStream.range(0, textBefore);
            IntStream inVideo = Arrays.stream(cells[axis]).mapToInt(cell -> textBefore + (int) cell);
            IntStream after = IntStream.range(next, next + textAfter);
            positions[axis] =
                    IntStream.concat(IntStream.concat(before, inVideo), after).toArray();
        }
        return positions;
    }

    /** The example in the documentation of transformers' {@code Qwen2VLModel.get_rope_index}. */
    @Test
    void positionsOfAVideoAreThoseOfQwen2Vl() {
        assertThat(positions(0, new int[] {3, 2, 2}, 5)).isDeepEqualTo(new int[][] {
            {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7},
            {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7},
            {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}
        });
        assertThat(positions(2, new int[] {1, 1, 2}, 1)[2]).containsExactly(0, 1, 2, 3, 4);
    }

    @Test
    void videoInAnAttention() {
        NDArray queries = manager.randomNormal(new Shape(1, 2, 17, 128));
        NDArray keys = manager.randomNormal(new Shape(1, 2, 17, 128));
        ParameterStore parameterStore = new ParameterStore(manager, false);
        RotaryEmbeddingBlock rotary =
                RotaryPresets.qwen2Vl(128, 1_000_000, 16, 24, 24).build();
        NDArray positions = manager.create(positions(0, new int[] {3, 2, 2}, 5)).expandDims(1); // (3, 1, T)
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
