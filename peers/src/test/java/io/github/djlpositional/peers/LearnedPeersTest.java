package io.github.djlpositional.peers;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.Map;
import java.util.stream.IntStream;

/** Learned tables, token embeddings with positions that skip padding, and resampled grids. */
class LearnedPeersTest extends EncodingPeersTest {

    LearnedPeersTest() throws IOException, MalformedModelException {
        super(
                "learned",
                "Learned",
                Map.of(
                        "table",
                        peers -> peers.encode(table(peers.peer())),
                        "learned, after tokens",
                        peers -> tokens(peers, table(peers.peer())),
                        "fairseq, after tokens",
                        peers -> tokens(peers, fairseq(peers.peer().integer("size"))),
                        "resampled in a forward",
                        LearnedPeersTest::resampledInForward,
                        "resampled when built",
                        LearnedPeersTest::resampledWhenBuilt,
                        "resampled sequence",
                        LearnedPeersTest::resampledSequence));
    }

    private static Block table(PeerCase peer) {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(peer.integer("size"))
                .optMaxSequenceLength(peer.integer("rows"))
                .build();
    }

    private static Block fairseq(int size) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optEncoding(SinusoidalEncoding.fairseq(size))
                .build();
    }

    private static NDArray tokens(Peers peers, Block positions) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        InputEmbeddingBlock.Builder builder = InputEmbeddingBlock.builder()
                .setVocabularySize(peer.integer("vocabulary"))
                .setEmbeddingSize(peer.integer("size"))
                .optScaleEmbedding(peer.has("scaled"))
                .optPositionalEncoding(positions);
        if (peer.has("padding")) {
            int padding = peer.integer("padding");
            builder.optPaddingIndex(padding).optPositionsFromPadding(padding + 1);
        }
        PairList<String, Object> params = new PairList<>();
        if (peer.hasArray("types")) {
            builder.optTokenTypes(2);
            params.add(InputEmbeddingBlock.TOKEN_TYPES, peers.array("types"));
        }
        return peers.forward(builder.build(), new NDList(peers.array("ids")), params);
    }

    /** A table of the old grid, for an input with the new one. */
    private static NDArray resampledInForward(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        int[] old = peer.integers("old");
        Block block = grid(peers, old).build();
        int cells = IntStream.of(old).reduce(1, (product, size) -> product * size);
        peers.initialize(block, new Shape(1, peer.integer("prefix") + cells, size(peers)));
        long[] sizes = IntStream.of(peer.integers("new")).asLongStream().toArray();
        return peers.forward(
                block,
                new NDList(peers.array("x")),
                new PairList<>(Map.of(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(sizes))));
    }

    /** A table of the new grid, with the encodings of the old one. */
    private static NDArray resampledWhenBuilt(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        return initialized(
                peers,
                grid(peers, peer.integers("new"))
                        .optInitialEncodings(peers.array("p.encodings"), peer.integers("old"))
                        .build());
    }

    private static LearnedPositionalEncodingBlock.Builder grid(Peers peers, int... sizes)
            throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(size(peers))
                .optGrid(peer.integer("prefix"), sizes)
                .optPrefixEncoded(peer.is("prefix_encoded"))
                .optResampling(GridResampling.valueOf(peer.text("method")));
    }

    private static NDArray resampledSequence(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        return initialized(
                peers,
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(size(peers))
                        .optMaxSequenceLength(peer.integer("length"))
                        .optInitialEncodings(peers.array("table"))
                        .optResampling(GridResampling.valueOf(peer.text("method")))
                        .build());
    }

    /** The output with the initial encodings. */
    private static NDArray initialized(Peers peers, Block block) throws IOException, MalformedModelException {
        NDArray x = peers.array("x");
        block.initialize(peers.manager(), DataType.FLOAT32, x.getShape());
        return peers.forward(block, x);
    }

    private static int size(Peers peers) throws IOException, MalformedModelException {
        return Math.toIntExact(peers.array("x").getShape().get(2));
    }
}
