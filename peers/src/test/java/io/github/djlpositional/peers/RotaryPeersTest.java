package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Rotary encodings on one axis: layouts, scalings, XPos, learned frequencies. */
class RotaryPeersTest extends EncodingPeersTest {

    RotaryPeersTest() throws IOException, MalformedModelException {
        super(
                "rotary",
                "Rotary",
                Map.ofEntries(
                        entry("rotation", scaled(peer -> RotaryScaling.none())),
                        entry("linear", scaled(peer -> RotaryScaling.linear(peer.number("factor")))),
                        entry("ntkAware", scaled(peer -> RotaryScaling.ntkAware(peer.number("factor")))),
                        entry(
                                "dynamicNtk",
                                scaled(peer -> RotaryScaling.dynamicNtk(
                                        peer.number("factor"),
                                        peer.integer("original"),
                                        peer.integer("length_served")))),
                        entry(
                                "yarn",
                                scaled(peer -> new RotaryScaling.Yarn(
                                        peer.number("factor"),
                                        peer.integer("original"),
                                        peer.number("fast"),
                                        peer.number("slow"),
                                        peer.is("truncate"),
                                        attention(peer)))),
                        entry(
                                "llama3",
                                scaled(peer -> RotaryScaling.llama3(
                                        peer.number("factor"),
                                        peer.number("low"),
                                        peer.number("high"),
                                        peer.integer("original")))),
                        entry(
                                "longRope",
                                scaled(peer -> new RotaryScaling.LongRope(
                                        factors(peer, "short"),
                                        factors(peer, "long"),
                                        peer.integer("original"),
                                        peer.integer("maximum"),
                                        attention(peer),
                                        attention(peer),
                                        peer.integer("length_served")))),
                        entry(
                                "proportional",
                                peers -> peers.encode(options(peers)
                                        .optFrequencies(Frequencies.proportional(
                                                64,
                                                peers.peer().number("share"),
                                                1_000_000,
                                                peers.peer().number("factor")))
                                        .build())),
                        entry(
                                "frequencies",
                                peers -> peers.encode(options(peers)
                                        .optFrequencies(Frequencies.of(
                                                peers.array("frequencies").toDoubleArray()))
                                        .build())),
                        entry("products with XPos", RotaryPeersTest::productsWithXpos),
                        entry(
                                "learned",
                                peers -> peers.encode(LearnedRotaryEmbeddingBlock.builder()
                                        .setHeadCount(peers.peer().integer("heads"))
                                        .setHeadSize(8)
                                        .build()))));
    }

    private static Double attention(PeerCase peer) {
        return peer.has("attention") ? peer.number("attention") : null;
    }

    private static List<Double> factors(PeerCase peer, String name) {
        return Arrays.stream(peer.numbers(name)).boxed().toList();
    }

    private static Library scaled(Function<PeerCase, RotaryScaling> scaling) {
        return peers -> peers.encode(
                options(peers).optScaling(scaling.apply(peers.peer())).build());
    }

    /** A builder with the case's options, where it has any. */
    private static RotaryEmbeddingBlock.Builder options(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        String x = peer.hasArray("x") ? "x" : "queries";
        RotaryEmbeddingBlock.Builder builder = RotaryEmbeddingBlock.builder()
                .setHeadSize(Math.toIntExact(peers.array(x).getShape().get(3)))
                .optLayout(peer.has("halves") ? PairLayout.CONCATENATED : PairLayout.INTERLEAVED);
        if (peer.has("sequence_axis")) {
            builder.optSequenceAxis(peer.integer("sequence_axis"));
        }
        if (peer.has("first")) {
            builder.optRotaryStart(peer.integer("first"));
        }
        if (peer.has("size")) {
            builder.optRotarySize(peer.integer("size"));
        }
        if (peer.has("base")) {
            builder.optBase(peer.number("base"));
        }
        return builder;
    }

    /** The packages center positions, which does not change products of queries and keys. */
    private static NDArray productsWithXpos(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        RotaryEmbeddingBlock block = options(peers)
                .optXpos(peer.number("scale_base"))
                .optMaxSequenceLength(64)
                .optScaling(RotaryScaling.linear(peer.number("factor")))
                .build();
        NDList inputs = new NDList(peers.array("queries"), peers.array("keys"));
        peers.initialize(block, inputs.getShapes());
        NDList rotated = block.forward(new ParameterStore(peers.manager(), false), inputs, false);
        return rotated.get(0).matMul(rotated.get(1).transpose(0, 1, 3, 2));
    }
}
