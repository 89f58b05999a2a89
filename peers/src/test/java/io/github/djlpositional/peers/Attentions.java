package io.github.djlpositional.peers;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock.OutputGate;
import io.github.djlpositional.attention.RelativeEncoding;
import java.io.IOException;
import java.util.Map;

/** The cases of attentions and of biases, as {@code multi_head.py} writes them. */
final class Attentions {

    private Attentions() {}

    /** The bias of queries for all keys. */
    static NDArray bias(Peers peers, Block block) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        return peers.forward(
                block,
                new NDList(
                        peers.manager().zeros(new Shape(1, peer.integer("queries"), 4)),
                        peers.manager().zeros(new Shape(1, peer.integer("keys"), 4))),
                new PairList<>(Map.of(PositionalEncodingBlock.START_POSITION, peer.integer("start"))));
    }

    /** The output of an attention with the options of the case. */
    static NDArray output(Peers peers, RelativeEncoding... encodings) throws IOException, MalformedModelException {
        return output(peers, builder(peers, encodings));
    }

    /** The output of an attention, in steps, with a mask of keys and at positions if the case has them. */
    static NDArray output(Peers peers, MultiHeadAttentionBlock.Builder builder)
            throws IOException, MalformedModelException {
        MultiHeadAttentionBlock attention = builder.build();
        NDList inputs = masked(peers, peers.array("x"));
        NDArray positions = peers.peer().hasArray("positions") ? peers.array("positions") : null;
        if (!peers.peer().has("steps")) {
            return peers.forward(attention, inputs, at(positions, new PairList<>()));
        }
        peers.initialize(attention, inputs.head().getShape());
        NDList outputs = new NDList();
        try (KeyValueCache cache = new KeyValueCache(peers.manager())) {
            for (int step : peers.peer().integers("steps")) {
                NDIndex tokens = new NDIndex(":, {}:{}", cache.getLength(), cache.getLength() + step);
                NDList of =
                        new NDList(inputs.stream().map(each -> each.get(tokens)).toList());
                NDArray here = positions == null ? null : positions.get(tokens);
                outputs.add(peers.forward(attention, of, at(here, cache.nextStep())));
            }
        }
        return outputs.stream().reduce((before, step) -> before.concat(step, 1)).orElseThrow();
    }

    /**
     * The output of a cross-attention at the positions of the case, in steps after the first without those of the
     * memory.
     */
    static NDArray ofMemory(Peers peers, MultiHeadAttentionBlock.Builder builder)
            throws IOException, MalformedModelException {
        MultiHeadAttentionBlock attention = builder.build();
        NDArray x = peers.array("x");
        NDArray memory = peers.array("keys");
        NDArray positions = peers.array("positions");
        NDArray ofMemory = peers.array("memory_positions");
        boolean areSteps = peers.peer().has("steps");
        int[] steps = areSteps ? peers.peer().integers("steps") : new int[] {(int) x.size(1)};
        NDList outputs = new NDList();
        try (KeyValueCache cache = new KeyValueCache(peers.manager())) {
            int first = 0;
            for (int step : steps) {
                NDIndex tokens = new NDIndex(":, {}:{}", first, first + step);
                NDList inputs = masked(peers, memory, x.get(tokens), memory);
                PairList<String, Object> params = areSteps ? cache.nextStep() : new PairList<>();
                at(positions.get(tokens), params);
                if (first == 0) {
                    params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, ofMemory);
                }
                outputs.add(peers.forward(attention, inputs, params));
                first += step;
            }
        }
        return outputs.stream().reduce((before, step) -> before.concat(step, 1)).orElseThrow();
    }

    private static PairList<String, Object> at(NDArray positions, PairList<String, Object> params) {
        if (positions != null) {
            params.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        return params;
    }

    /** Arrays, and the mask of the case if it has one. */
    static NDList masked(Peers peers, NDArray... arrays) throws IOException, MalformedModelException {
        NDList inputs = new NDList(arrays);
        if (peers.peer().hasArray("mask")) {
            NDArray mask = peers.array("mask");
            // integers stand for booleans, which a mask of each head must have
            boolean areBooleans =
                    mask.getDataType() == DataType.INT64 && mask.getShape().dimension() == 4;
            inputs.add(areBooleans ? mask.toType(DataType.BOOLEAN, false) : mask);
        }
        return inputs;
    }

    /** Sets norms of queries and keys. */
    static MultiHeadAttentionBlock.Builder withNorms(
            Peers peers, boolean areOfAllHeads, MultiHeadAttentionBlock.Builder builder) {
        PeerCase peer = peers.peer();
        int queries = areOfAllHeads ? peer.integer("heads") : 1;
        int keys = areOfAllHeads ? peer.integer("key_heads") : 1;
        return builder.optNormOfAllHeads(areOfAllHeads)
                .optQueryNorm(norm(peer, queries))
                .optKeyNorm(norm(peer, keys));
    }

    private static RmsNormBlock norm(PeerCase peer, int heads) {
        return RmsNormBlock.builder()
                .setEmbeddingSize(heads * peer.integer("head_size"))
                .optEpsilon((float) peer.number("epsilon"))
                .build();
    }

    /** An attention with the options of the case. */
    static MultiHeadAttentionBlock.Builder builder(Peers peers, RelativeEncoding... encodings)
            throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize((int) peers.array("x").getShape().get(2))
                .setHeadCount(peer.integer("heads"))
                .optHeadSize(peer.integer("head_size"))
                .optValueHeadSize(peer.integer("value_head_size"))
                .optKeyValueHeadCount(peer.integer("key_heads"))
                .optRelativeEncoding(encodings)
                .optCausal(peer.is("causal"))
                .optSinks(peer.is("sinks"))
                .optCosine(peer.is("cosine"));
        if (peer.has("gate")) {
            builder.optOutputGate(OutputGate.valueOf(peer.text("gate"))).optOutputGateByHead(peer.is("gate_by_head"));
        }
        if (peer.has("scale")) {
            builder.optScale(peer.number("scale"));
        }
        if (peer.has("window")) {
            builder.optWindow(peer.integer("window"));
        }
        if (peer.has("chunk")) {
            builder.optChunkSize(peer.integer("chunk"));
        }
        if (peer.has("cap")) {
            builder.optScoreCap(peer.number("cap"));
        }
        return builder;
    }
}
