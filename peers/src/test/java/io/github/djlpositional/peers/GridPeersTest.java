package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDList;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.Map;
import java.util.function.Function;

/** Sinusoids of the cells of images and volumes. */
class GridPeersTest extends EncodingPeersTest {

    GridPeersTest() throws IOException, MalformedModelException {
        super(
                "grids",
                "Grids",
                Map.ofEntries(
                        entry("multidim", grid(peer -> GridEncoding.multidim(peer.integer("axes"), size(peer)))),
                        entry("visionTransformer", grid(peer -> GridEncoding.visionTransformer(size(peer)))),
                        entry("detr", grid(peer -> GridEncoding.detr(size(peer), peer.number("offset")))),
                        entry("rows, then columns, interleaved", grid(GridPeersTest::interleaved)),
                        entry(
                                "rows, then columns, concatenated",
                                grid(peer -> images(0, 1, size(peer)).build())),
                        entry("timm", grid(GridPeersTest::timm)),
                        entry(
                                "PixArt",
                                grid(peer -> images(1, 0, size(peer))
                                        .optScale(peer.number("scale"))
                                        .optNormalized(0)
                                        .build())),
                        entry(
                                "Stable Diffusion 3",
                                grid(peer -> images(1, 0, size(peer))
                                        .optScale(peer.number("base"))
                                        .optNormalized(0)
                                        .optCenterCrop(peer.integer("maximum"))
                                        .build())),
                        entry("get_3d_sincos_pos_embed", grid(GridPeersTest::volumes))));
    }

    private static int size(PeerCase peer) {
        return peer.integer("size");
    }

    /** Two axes, each with all sines before all cosines. */
    private static GridEncoding.Builder images(int first, int second, int size) {
        SinusoidalEncoding half = SinusoidalEncoding.xTransformers(size / 2);
        return GridEncoding.builder().setAxes(2).add(first, half).add(second, half);
    }

    /** DETR's coordinates from 1, normalized if the case has a scale, with a base for each axis. */
    private static GridEncoding interleaved(PeerCase peer) {
        double[] bases = peer.numbers("bases");
        GridEncoding.Builder builder = GridEncoding.builder()
                .setAxes(2)
                .add(0, SinusoidalEncoding.vaswani(size(peer) / 2, bases[0]))
                .add(1, SinusoidalEncoding.vaswani(size(peer) / 2, bases[1]))
                .optOffset(1);
        if (peer.has("scale")) {
            builder.optScale(peer.number("scale")).optNormalized(1e-6);
        }
        return builder.build();
    }

    private static GridEncoding timm(PeerCase peer) {
        SinusoidalEncoding half = concatenated(size(peer) / 2, peer.number("base"), 1);
        int quarter = size(peer) / 4;
        int[] order = peer.integers("order");
        GridEncoding.Builder builder = GridEncoding.builder().setAxes(2);
        if (peer.is("interleaved")) {
            builder.add(order[0], half).add(order[1], half);
        } else {
            builder.add(order[0], half, 0, quarter)
                    .add(order[1], half, 0, quarter)
                    .add(order[0], half, quarter, quarter)
                    .add(order[1], half, quarter, quarter);
        }
        return builder.build();
    }

    /** Time, then columns, then rows, with the frequencies divided by their scales. */
    private static GridEncoding volumes(PeerCase peer) {
        SinusoidalEncoding space = concatenated(size(peer) * 3 / 8, 10_000, peer.number("scale"));
        return GridEncoding.builder()
                .setAxes(3)
                .add(0, concatenated(size(peer) / 4, 10_000, peer.number("time_scale")))
                .add(2, space)
                .add(1, space)
                .build();
    }

    private static SinusoidalEncoding concatenated(int size, double base, double scale) {
        return SinusoidalEncoding.builder()
                .setEmbeddingSize(size)
                .optFrequencies(
                        Frequencies.geometric(size / 2, base, size / 2.0).scaledBy(1 / scale))
                .optLayout(PairLayout.CONCATENATED)
                .build();
    }

    /** Added to the array x, with the mask if the case has any; x is a sequence if it has a prefix. */
    private static Library grid(Function<PeerCase, GridEncoding> encoding) {
        return peers -> {
            PeerCase peer = peers.peer();
            GridPositionalEncodingBlock.Builder builder = GridPositionalEncodingBlock.builder()
                    .setEncoding(encoding.apply(peer))
                    .optChannelsFirst(peer.has("channels_first"));
            if (peer.has("prefix")) {
                builder.optGrid(peer.integer("prefix"), peer.integers("grid"));
            }
            NDList inputs = new NDList(peers.array("x"));
            if (peer.hasArray("mask")) {
                inputs.add(peers.array("mask"));
            }
            return peers.forward(builder.build(), inputs, null);
        };
    }
}
