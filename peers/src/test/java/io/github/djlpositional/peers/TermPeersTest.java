package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.output;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import java.io.IOException;
import java.util.Map;

/** Terms of the scores that depend on queries and keys. */
class TermPeersTest extends EncodingPeersTest {

    TermPeersTest() throws IOException, MalformedModelException {
        super(
                "terms",
                "Terms of queries and keys",
                Map.ofEntries(
                        entry("Wav2Vec2-BERT", peers -> output(peers, shaw(peers))),
                        entry("SeamlessM4T v2", peers -> output(peers, shaw(peers))),
                        entry("VITS", peers -> output(peers, shaw(peers))),
                        entry("SpeechT5", peers -> output(peers, shaw(peers))),
                        entry("Wav2Vec2-Conformer", peers -> output(peers, conformer(peers))),
                        entry("SeamlessM4T", peers -> output(peers, conformer(peers))),
                        entry("FastSpeech2-Conformer", peers -> output(peers, conformer(peers))),
                        entry("Parakeet", peers -> output(peers, conformer(peers))),
                        entry("Nemotron ASR", peers -> output(peers, conformer(peers))),
                        entry("XLNet", peers -> output(peers, transformerXl(peers))),
                        entry("Wav2Vec2-Conformer with rotation", TermPeersTest::rotatedInput),
                        entry("DeBERTa", peers -> output(peers, deberta(peers))),
                        entry("DeBERTa V2", peers -> output(peers, deberta(peers))),
                        entry("DeBERTa V2 without buckets", peers -> output(peers, deberta(peers))),
                        entry("DeBERTa V2 with one term", peers -> output(peers, deberta(peers))),
                        entry("DeBERTa V2's buckets", TermPeersTest::debertaBuckets)));
    }

    private static ShawRelativePositionBlock shaw(Peers peers) {
        PeerCase peer = peers.peer();
        ShawRelativePositionBlock.Builder builder = ShawRelativePositionBlock.builder()
                .setHeadSize(peer.integer("head_size"))
                .optMaxDistance(peer.integer("distance"))
                .optValues(peer.is("values"))
                .optClipped(!peer.has("clipped") || peer.is("clipped"));
        return (peer.has("after") ? builder.optMaxDistanceAfter(peer.integer("after")) : builder).build();
    }

    private static TransformerXlPositionBlock conformer(Peers peers) {
        return TransformerXlPositionBlock.conformer(size(peers), peers.peer().integer("heads"))
                .build();
    }

    private static TransformerXlPositionBlock transformerXl(Peers peers) {
        return TransformerXlPositionBlock.builder()
                .setEmbeddingSize(size(peers))
                .setHeadCount(peers.peer().integer("heads"))
                .build();
    }

    private static int size(Peers peers) {
        return peers.peer().integer("heads") * peers.peer().integer("head_size");
    }

    /** Rotates the input of queries and keys, before their projections. */
    private static NDArray rotatedInput(Peers peers) throws IOException, MalformedModelException {
        int heads = peers.peer().integer("heads");
        int headSize = peers.peer().integer("head_size");
        NDArray x = peers.array("x");
        NDArray split = x.reshape(x.getShape().get(0), -1, heads, headSize);
        RotaryEmbeddingBlock rotation = RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize)
                .optLayout(PairLayout.CONCATENATED)
                .optSequenceAxis(1)
                .build();
        rotation.initialize(peers.manager(), DataType.FLOAT32, split.getShape());
        NDArray rotated = rotation.forward(new ParameterStore(peers.manager(), false), new NDList(split), false)
                .head()
                .reshape(x.getShape());
        return peers.forward(Attentions.builder(peers).build(), rotated, rotated, x);
    }

    private static DisentangledPositionBlock deberta(Peers peers) {
        return deberta(peers, peers.peer().integer("heads"), size(peers));
    }

    private static DisentangledPositionBlock deberta(Peers peers, int heads, int size) {
        return DisentangledPositionBlock.builder()
                .setEmbeddingSize(size)
                .setHeadCount(heads)
                .optBuckets(peers.peer().integer("buckets"))
                .optMaxDistance(peers.peer().integer("maximum"))
                .optLogarithmic(peers.peer().is("logarithmic"))
                .optContentToPosition(peers.peer().is("c2p"))
                .optPositionToContent(peers.peer().is("p2c"))
                .build();
    }

    /** The term of one query for all keys. */
    private static NDArray debertaBuckets(Peers peers) throws IOException, MalformedModelException {
        int start = peers.peer().integer("start");
        return peers.forward(
                deberta(peers, 1, 1),
                new NDList(peers.array("q"), peers.array("k")),
                new PairList<>(Map.of(PositionalEncodingBlock.START_POSITION, start)));
    }
}
