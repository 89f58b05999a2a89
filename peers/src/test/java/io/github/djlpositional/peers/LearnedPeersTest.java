package io.github.djlpositional.peers;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.AxialPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
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
                        "axes",
                        LearnedPeersTest::axes,
                        "axes of boxes",
                        LearnedPeersTest::axes,
                        "LayoutLM",
                        LearnedPeersTest::layoutLm,
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

    /** A table for each axis, at positions, from a position, or of a grid. */
    private static NDArray axes(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        AxialPositionalEncodingBlock.Builder builder = AxialPositionalEncodingBlock.builder()
                .setEmbeddingSize(peer.integer("size"))
                .setAxes(peer.integers("axes"))
                .optSequence(peer.has("sequence"));
        if (peer.has("tables")) {
            builder.optTables(peer.integers("tables"));
        }
        if (peer.has("concatenated")) {
            builder.optConcatenated(peer.integers("concatenated"));
        }
        if (peer.has("order")) {
            builder.optOrder(peer.integers("order"));
        }
        if (peer.has("prefix")) {
            builder.optPrefixTokens(peer.integer("prefix"));
        }
        if (peer.has("resampling")) {
            builder.optResampling(GridResampling.valueOf(peer.text("resampling")))
                    .optAspectRatioKept(peer.is("ratio_kept"));
        }
        Block block = builder.build();
        NDList inputs = new NDList(peers.array("x"));
        if (peer.hasArray("positions")) {
            inputs.add(peers.array("positions"));
        }
        PairList<String, Object> params = new PairList<>();
        if (peer.has("start") && peer.integer("start") > 0) {
            params.add(PositionalEncodingBlock.START_POSITION, peer.integer("start"));
        }
        if (peer.has("grid")) {
            long[] sizes = IntStream.of(peer.integers("grid")).asLongStream().toArray();
            params.add(AxialPositionalEncodingBlock.GRID_SIZES, new Shape(sizes));
        }
        return peers.forward(block, inputs, params);
    }

    /** Tokens with the index and the box of each, their types, and the norm. */
    private static NDArray layoutLm(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        int size = peer.integer("size");
        Block input = InputEmbeddingBlock.builder()
                .setVocabularySize(peer.integer("vocabulary"))
                .setEmbeddingSize(size)
                .optTokenTypes(2)
                .optPositionalEncoding(AxialPositionalEncodingBlock.builder()
                        .setEmbeddingSize(size)
                        .setAxes(peer.integers("axes"))
                        .optTables(0, 1, 2, 1, 2, 3, 4)
                        .build())
                .optNorm(LayerNormBlock.builder()
                        .setEmbeddingSize(size)
                        .optEpsilon(1e-12)
                        .build())
                .build();
        PairList<String, Object> params = new PairList<>();
        params.add(InputEmbeddingBlock.TOKEN_TYPES, peers.array("types"));
        return peers.forward(input, new NDList(peers.array("ids"), peers.array("positions")), params);
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
