package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.AlibiBiasBlock;
import java.io.IOException;
import java.util.Map;

/** Encodings of the attention but rotations: biases and terms of scores. */
class RelativePeersTest extends EncodingPeersTest {

    RelativePeersTest() throws IOException, MalformedModelException {
        super(
                "relative",
                "Encodings of the attention",
                Map.ofEntries(entry(
                        "x-transformers ALiBi",
                        peers -> bias(
                                peers,
                                AlibiBiasBlock.builder()
                                        .setHeadCount(peers.peer().integer("heads"))
                                        .build()))));
    }

    /** The bias of the last queries for all keys. */
    private static NDArray bias(Peers peers, Block block) throws IOException, MalformedModelException {
        int keys = peers.peer().integer("keys");
        int queries = peers.peer().integer("queries");
        return peers.forward(
                block,
                new NDList(
                        peers.manager().zeros(new Shape(1, queries, 4)),
                        peers.manager().zeros(new Shape(1, keys, 4))),
                new PairList<>(Map.of(PositionalEncodingBlock.START_POSITION, keys - queries)));
    }
}
