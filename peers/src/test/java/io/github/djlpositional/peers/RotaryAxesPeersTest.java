package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.CoordinateAugmentation;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.MropePositions;
import io.github.djlpositional.relative.MropePositions.Grid;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Rotary encodings on several axes: images, videos, and multimodal texts. */
class RotaryAxesPeersTest extends EncodingPeersTest {

    /** The encoding of a case for a head size. */
    private interface Preset {
        RotaryEmbeddingBlock.Builder of(PeerCase peer, int headSize);
    }

    RotaryAxesPeersTest() throws IOException, MalformedModelException {
        super(
                "axes",
                "Rotary on several axes",
                Map.ofEntries(
                        entry(
                                "qwen2Vl",
                                rotated((peer, size) ->
                                        RotaryPresets.qwen2Vl(size, peer.number("base"), peer.integers("sections")))),
                        entry(
                                "qwen3Vl",
                                rotated((peer, size) ->
                                        RotaryPresets.qwen3Vl(size, peer.number("base"), peer.integers("sections")))),
                        entry(
                                "ernie45Vl",
                                rotated((peer, size) -> RotaryPresets.ernie45Vl(
                                        size, peer.number("base"), peer.integers("sections")[0]))),
                        entry("genLip", rotated((peer, size) -> RotaryPresets.genLip(size, peer.integers("sections")))),
                        entry("positions of texts with images", RotaryAxesPeersTest::mropePositions),
                        entry("flux", rotated((peer, size) -> RotaryPresets.flux())),
                        entry("side by side", rotated(RotaryAxesPeersTest::sideBySide)),
                        entry("wan", onGrid((peer, size) -> RotaryPresets.wan(size))),
                        entry(
                                "flux2",
                                at(
                                        peer -> RotaryPresets.flux2Positions(peer.integer("text"), images(peer)),
                                        (peer, size) -> RotaryPresets.flux2())),
                        entry(
                                "qwenImage",
                                at(
                                        peer -> RotaryPresets.qwenImagePositions(peer.integer("text"), images(peer)),
                                        (peer, size) -> RotaryPresets.qwenImage())),
                        entry("vjepa2", onGrid((peer, size) -> RotaryPresets.vjepa2(size))),
                        entry("hunyuanVl", rotated(RotaryAxesPeersTest::hunyuanVl)),
                        entry("cogVideoX", onGrid((peer, size) -> RotaryPresets.cogVideoX(size))),
                        entry("qwenVision", onGrid((peer, size) -> RotaryPresets.qwenVision(size))),
                        entry(
                                "axial",
                                onGrid((peer, size) ->
                                        RotaryPresets.axial(size, peer.number("base"), peer.integers("grid").length))),
                        entry("pixtral", onGrid((peer, size) -> RotaryPresets.pixtral(size))),
                        entry(
                                "gemma4Vision",
                                onGrid((peer, size) -> RotaryPresets.gemma4Vision(size, peer.number("base")))),
                        entry("eva", onGrid((peer, size) -> RotaryPresets.eva(size))),
                        entry(
                                "eva, trained on 16 x 16 patches",
                                at(
                                        peer -> RotaryPresets.evaPositions(0, 16, grid(peer)[0], grid(peer)[1]),
                                        (peer, size) -> RotaryPresets.eva(size).optLayout(layout(peer)))),
                        entry(
                                "dinov3",
                                at(
                                        peer -> RotaryPresets.dinov3Positions(
                                                peer.integer("prefix"), grid(peer)[0], grid(peer)[1]),
                                        (peer, size) ->
                                                RotaryPresets.dinov3(size).optLayout(layout(peer)))),
                        entry("dinov3 in training", RotaryAxesPeersTest::dinov3InTraining),
                        entry(
                                "llama4Vision",
                                at(
                                        peer -> RotaryPresets.llama4VisionPositions(grid(peer)[0], grid(peer)[1]),
                                        (peer, size) -> RotaryPresets.llama4Vision(size))),
                        entry("frequencies by axis", RotaryAxesPeersTest::frequencies),
                        entry("learned", peers -> learned(peers, 2)),
                        entry("learned of videos", peers -> learned(peers, 3)),
                        entry("learned of videos, frequencies of all heads", peers -> learned(peers, 3))));
    }

    private static int[] grid(PeerCase peer) {
        return peer.integers("grid");
    }

    private static PairLayout layout(PeerCase peer) {
        return peer.is("halves") ? PairLayout.CONCATENATED : PairLayout.INTERLEAVED;
    }

    private static int headSize(Peers peers) throws IOException, MalformedModelException {
        return Math.toIntExact(peers.array("x").getShape().get(3));
    }

    /** At the positions of the case. */
    private static Library rotated(Preset preset) {
        return peers -> peers.encode(preset.of(peers.peer(), headSize(peers)).build());
    }

    /** At the cells of the case's grid. */
    private static Library onGrid(Preset preset) {
        return at(peer -> RotaryPresets.positions(grid(peer)), preset);
    }

    /** At positions (axes, T) of the library. */
    private static Library at(Function<PeerCase, double[][]> positions, Preset preset) {
        return peers -> peers.forward(
                preset.of(peers.peer(), headSize(peers)).build(),
                peers.array("x"),
                peers.manager().create(positions.apply(peers.peer())).expandDims(1));
    }

    /** With the random numbers that the package drew. */
    private static NDArray dinov3InTraining(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        int prefix = peer.integer("prefix");
        NDArray positions = peers.manager()
                .create(RotaryPresets.dinov3Positions(prefix, grid(peer)[0], grid(peer)[1]))
                .expandDims(1);
        CoordinateAugmentation augmentation =
                new CoordinateAugmentation(peer.number("shift"), peer.number("jitter"), peer.number("rescale"));
        return peers.forward(
                RotaryPresets.dinov3(headSize(peers)).optLayout(layout(peer)).build(),
                peers.array("x"),
                augmentation.apply(positions, prefix, peers.array("random")));
    }

    private static RotaryEmbeddingBlock.Builder sideBySide(PeerCase peer, int headSize) {
        return RotaryPresets.sideBySide(peer.numbers("bases"), peer.integers("sizes"))
                .optLayout(layout(peer));
    }

    private static RotaryEmbeddingBlock.Builder hunyuanVl(PeerCase peer, int headSize) {
        RotaryEmbeddingBlock.Builder builder =
                RotaryPresets.hunyuanVl(headSize, peer.number("base"), peer.integers("sections"));
        return peer.has("alpha") ? builder.optScaling(RotaryScaling.ntkAware(peer.number("alpha"))) : builder;
    }

    private static NDArray frequencies(Peers peers) throws IOException, MalformedModelException {
        return peers.encode(RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize(peers))
                .optRotarySize(headSize(peers))
                .optLayout(layout(peers.peer()))
                .optFrequencies(Frequencies.of(peers.array("frequencies").toDoubleArray()))
                .optAxes(RotaryAxes.of(peers.peer().integers("axes")))
                .build());
    }

    /** The positions of the prompts, of two tokens after them, and the offset of each sequence, (3, B, T + 2 + 1). */
    private static NDArray mropePositions(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        MropePositions.Builder builder =
                MropePositions.builder().setImageToken(5).optVideoToken(6).optMergeSize(peer.integer("merge"));
        if (peer.has("tokens_per_second")) {
            builder.optTokensPerSecond(peer.number("tokens_per_second"));
        }
        NDArray ids = peers.array("ids");
        List<Grid> images = grids(peer.integers("images"), null);
        List<Grid> videos = grids(peer.integers("videos"), peer.numbers("seconds"));
        if (peer.is("split")) {
            videos = videos.stream()
                    .flatMap(video ->
                            Collections.nCopies(video.frames(), Grid.of(1, video.rows(), video.columns())).stream())
                    .toList();
        }
        MropePositions.Prompts prompts =
                builder.build().of(ids, peer.is("padded") ? peers.array("mask") : null, images, videos);
        int length = Math.toIntExact(ids.getShape().get(1));
        NDArray offsets = peers.manager()
                .create(prompts.offsets())
                .toType(DataType.INT32, false)
                .reshape(1, -1, 1)
                .repeat(0, 3);
        return prompts.positions(peers.manager(), 0, length + 2).concat(offsets, 2);
    }

    /** Of the frames, rows and columns of each grid; the seconds are null for images. */
    private static List<Grid> grids(int[] sizes, double[] seconds) {
        return IntStream.range(0, sizes.length / 3)
                .mapToObj(i ->
                        new Grid(sizes[3 * i], sizes[3 * i + 1], sizes[3 * i + 2], seconds == null ? 1 : seconds[i]))
                .toList();
    }

    private static Grid[] images(PeerCase peer) {
        return grids(peer.integers("images"), null).toArray(Grid[]::new);
    }

    private static NDArray learned(Peers peers, int axes) throws IOException, MalformedModelException {
        return peers.encode(LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(2)
                .setHeadSize(headSize(peers))
                .optAxes(axes)
                .build());
    }
}
