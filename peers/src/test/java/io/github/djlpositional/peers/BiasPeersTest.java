package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.bias;
import static io.github.djlpositional.peers.Attentions.output;
import static io.github.djlpositional.peers.Attentions.withNorms;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DistanceNetworkBiasBlock;
import io.github.djlpositional.relative.ForgettingBiasBlock;
import io.github.djlpositional.relative.ProjectedDistanceBiasBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import java.io.IOException;
import java.util.Map;
import java.util.stream.IntStream;

/** Biases that depend on the distance of query and key. */
class BiasPeersTest extends EncodingPeersTest {

    BiasPeersTest() throws IOException, MalformedModelException {
        super(
                "biases",
                "Biases of distances",
                Map.ofEntries(
                        entry("ALiBi", peers -> bias(peers, alibi(peers).build())),
                        entry("ALiBi with slopes", BiasPeersTest::alibiWithSlopes),
                        entry(
                                "trained ALiBi",
                                peers -> bias(
                                        peers, alibi(peers).optLearned(true).build())),
                        entry("ALiBi at positions", BiasPeersTest::alibiAtPositions),
                        entry(
                                "attention with ALiBi",
                                peers -> output(peers, alibi(peers).build())),
                        entry("BLOOM", peers -> output(peers, alibi(peers).build())),
                        entry("MPT", peers -> output(peers, mpt(peers))),
                        entry("MPT's slopes", peers -> bias(peers, mpt(peers))),
                        entry(
                                "Falcon",
                                peers -> output(
                                        peers, alibi(peers).optScaled(true).build())),
                        entry("T5's bias", peers -> bias(peers, t5(peers))),
                        entry("T5's buckets", peers -> bias(peers, t5(peers))),
                        entry("attention with T5", peers -> output(peers, t5(peers))),
                        entry("WavLM", peers -> output(peers, t5(peers))),
                        entry("T5 on an axis", BiasPeersTest::t5OnAnAxis),
                        entry("attention with T5 on axes", BiasPeersTest::attentionOnAxes),
                        entry("distance network", peers -> bias(peers, network(peers))),
                        entry("attention with a distance network", peers -> output(peers, network(peers))),
                        entry("FoX", peers -> peers.encode(forgetting(peers))),
                        entry("attention with FoX", peers -> output(peers, forgetting(peers))),
                        entry("Inkling's bias", peers -> peers.encode(projected(peers))),
                        entry("attention as in Inkling", peers -> output(peers, projected(peers))),
                        entry(
                                "Inkling",
                                peers -> output(
                                        peers, withNorms(peers, false, Attentions.builder(peers, projected(peers)))))));
    }

    private static AlibiBiasBlock.Builder alibi(Peers peers) {
        return AlibiBiasBlock.builder().setHeadCount(peers.peer().integer("heads"));
    }

    private static NDArray alibiWithSlopes(Peers peers) throws IOException, MalformedModelException {
        double[] slopes = peers.peer().numbers("slopes");
        return bias(
                peers,
                AlibiBiasBlock.builder()
                        .setHeadCount(slopes.length)
                        .optSlopes(AlibiSlopes.custom(slopes))
                        .build());
    }

    private static NDArray alibiAtPositions(Peers peers) throws IOException, MalformedModelException {
        NDArray positions = peers.array("positions");
        return peers.forward(
                alibi(peers).build(),
                new NDList(peers.manager().zeros(positions.getShape().add(4))),
                new PairList<>(Map.of(PositionalEncodingBlock.POSITIONS, positions)));
    }

    private static AlibiBiasBlock mpt(Peers peers) {
        int maximum = peers.peer().integer("maximum");
        return alibi(peers)
                .optSlopes(AlibiSlopes.of(peers.peer().integer("heads"), maximum))
                .build();
    }

    private static RelativePositionBiasBlock t5(Peers peers) {
        PeerCase peer = peers.peer();
        RelativePositionBiasBlock.Builder builder = RelativePositionBiasBlock.builder()
                .setHeadCount(peer.integer("heads"))
                .optBidirectional(peer.is("bidirectional"))
                .optBuckets(peer.integer("buckets"))
                .optMaxDistance(peer.integer("maximum"));
        return (peer.has("gated") ? builder.optGateInputSize(peer.integer("gated")) : builder).build();
    }

    private static NDArray t5OnAnAxis(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        NDArray positions = peers.array("positions");
        return peers.forward(
                RelativePositionBiasBlock.builder()
                        .setHeadCount(peer.integer("heads"))
                        .optBidirectional(peer.is("bidirectional"))
                        .optBuckets(peer.integer("buckets"))
                        .optMaxDistance(peer.integer("maximum"))
                        .optAxis(peer.integer("axis"))
                        .optTruncated(peer.has("truncated"))
                        .build(),
                new NDList(peers.manager().zeros(positions.getShape().slice(1).add(4))),
                new PairList<>(Map.of(PositionalEncodingBlock.POSITIONS, positions)));
    }

    /** The biases of the index, the left and the lower border of each token are added. */
    private static NDArray attentionOnAxes(Peers peers) throws IOException, MalformedModelException {
        RelativePositionBiasBlock[] biases = IntStream.range(0, 3)
                .mapToObj(axis -> RelativePositionBiasBlock.builder()
                        .setHeadCount(peers.peer().integer("heads"))
                        .optBuckets(axis == 0 ? 32 : 64)
                        .optMaxDistance(axis == 0 ? 128 : 256)
                        .optAxis(axis)
                        .optScaled(peers.peer().is("scaled"))
                        .build())
                .toArray(RelativePositionBiasBlock[]::new);
        MultiHeadAttentionBlock attention = Attentions.builder(peers, biases).build();
        NDArray x = peers.array("x");
        attention.initialize(peers.manager(), DataType.FLOAT32, x.getShape());
        for (int axis = 0; axis < 3; axis++) {
            peers.array("table" + axis).copyTo(biases[axis].getBiases().getArray());
        }
        Map<String, NDArray> weights = peers.peer().parameters(peers.manager());
        for (Pair<String, Parameter> pair : attention.getParameters()) {
            NDArray value = weights.get(Peers.name(pair.getKey()));
            if (value != null) {
                value.copyTo(pair.getValue().getArray());
            }
        }
        return peers.forward(
                attention,
                Attentions.masked(peers, x),
                new PairList<>(Map.of(PositionalEncodingBlock.POSITIONS, peers.array("positions"))));
    }

    private static DistanceNetworkBiasBlock network(Peers peers) {
        return DistanceNetworkBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setHiddenSize(peers.peer().integer("hidden"))
                .optHiddenLayers(peers.peer().integer("layers"))
                .optLogarithmic(peers.peer().is("logarithmic"))
                .optNormalized(peers.peer().is("normalized"))
                .build();
    }

    private static ForgettingBiasBlock forgetting(Peers peers) throws IOException, MalformedModelException {
        return ForgettingBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setEmbeddingSize(size(peers))
                .build();
    }

    private static ProjectedDistanceBiasBlock projected(Peers peers) throws IOException, MalformedModelException {
        return ProjectedDistanceBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setEmbeddingSize(size(peers))
                .optCurves(peers.peer().integer("curves"))
                .optMaxDistance(peers.peer().integer("maximum"))
                .build();
    }

    private static int size(Peers peers) throws IOException, MalformedModelException {
        return (int) peers.array("x").getShape().get(2);
    }
}
