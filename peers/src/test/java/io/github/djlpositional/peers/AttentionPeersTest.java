package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.masked;
import static io.github.djlpositional.peers.Attentions.output;
import static io.github.djlpositional.peers.Attentions.withNorms;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The options of an attention, without an encoding or with positions of the keys; most are arguments of the cases. */
class AttentionPeersTest extends EncodingPeersTest {

    AttentionPeersTest() throws IOException, MalformedModelException {
        super(
                "attention",
                "Attention",
                Map.ofEntries(
                        entry("MultiheadAttention", Attentions::output),
                        entry("MultiheadAttention with a mask of pairs", Attentions::output),
                        entry("MultiheadAttention of other keys", AttentionPeersTest::ofOtherKeys),
                        entry("rotary positions of other keys", AttentionPeersTest::rotaryAtPositions),
                        entry("ALiBi's positions of other keys", AttentionPeersTest::alibiAtPositions),
                        entry("T5's positions of other keys", AttentionPeersTest::t5AtPositions),
                        entry("LTX-2", AttentionPeersTest::ltx2),
                        entry("probabilities", AttentionPeersTest::probabilities),
                        entry("heads of keys", Attentions::output),
                        entry("values of another size", Attentions::output),
                        entry("output gate", Attentions::output),
                        entry("cap", Attentions::output),
                        entry("sinks", Attentions::output),
                        entry("cosine", Attentions::output),
                        entry("window", Attentions::output),
                        entry("packed documents", AttentionPeersTest::packed),
                        entry("packed documents with pictures", AttentionPeersTest::packed),
                        entry("Gemma 2", Attentions::output),
                        entry("GPT-OSS", Attentions::output),
                        entry("Qwen 3", peers -> output(peers, withNorms(peers, false, Attentions.builder(peers)))),
                        entry("OLMo 2", peers -> output(peers, withNorms(peers, true, Attentions.builder(peers)))),
                        entry("Qwen3-Next", AttentionPeersTest::configured),
                        entry("Qwen 3.5", AttentionPeersTest::configured),
                        entry("Trinity", AttentionPeersTest::configured),
                        entry("Laguna", AttentionPeersTest::configured),
                        entry("MiMo-V2-Flash", AttentionPeersTest::configured),
                        entry("Llama 4", AttentionPeersTest::llama4),
                        entry("Llama 4 with chunks", Attentions::output)));
    }

    /** The attention of a layer of a configuration. */
    private static NDArray configured(Peers peers) throws IOException, MalformedModelException {
        Map<?, ?> config = JsonUtils.GSON.fromJson(peers.peer().text("file"), Map.class);
        Map<String, Object> values = new HashMap<>();
        config.forEach((key, value) -> values.put(key.toString(), value));
        return output(peers, HuggingFaceConfig.of(values).attention(peers.peer().integer("layer")));
    }

    private static NDArray llama4(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        return output(
                peers,
                Attentions.builder(peers)
                        .optQueryScale(
                                new QueryScale.FloorLogarithm(peer.number("coefficient"), peer.number("length"))));
    }

    private static NDArray ofOtherKeys(Peers peers) throws IOException, MalformedModelException {
        NDList inputs = masked(peers, peers.array("keys"), peers.array("x"), peers.array("values"));
        return peers.forward(Attentions.builder(peers).build(), inputs, null);
    }

    private static NDArray rotaryAtPositions(Peers peers) throws IOException, MalformedModelException {
        int headSize = peers.peer().integer("head_size");
        return Attentions.ofMemory(
                peers,
                Attentions.builder(
                        peers,
                        RotaryEmbeddingBlock.builder().setHeadSize(headSize).build()));
    }

    private static NDArray alibiAtPositions(Peers peers) throws IOException, MalformedModelException {
        int heads = peers.peer().integer("heads");
        return Attentions.ofMemory(
                peers,
                Attentions.builder(
                        peers, AlibiBiasBlock.builder().setHeadCount(heads).build()));
    }

    private static NDArray t5AtPositions(Peers peers) throws IOException, MalformedModelException {
        int heads = peers.peer().integer("heads");
        return Attentions.ofMemory(
                peers,
                Attentions.builder(
                        peers,
                        RelativePositionBiasBlock.builder().setHeadCount(heads).build()));
    }

    /** Each head has frequencies of its own, which are constants. */
    private static NDArray ltx2(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        LearnedRotaryEmbeddingBlock rotary = LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(peer.integer("heads"))
                .setHeadSize(peer.integer("head_size"))
                .optLayout(peer.is("split") ? PairLayout.CONCATENATED : PairLayout.INTERLEAVED)
                .build();
        return Attentions.ofMemory(peers, withNorms(peers, true, Attentions.builder(peers, rotary)));
    }

    private static NDArray probabilities(Peers peers) throws IOException, MalformedModelException {
        NDList inputs = masked(peers, peers.array("x"));
        MultiHeadAttentionBlock attention = Attentions.builder(peers).build();
        peers.initialize(attention, inputs.getShapes());
        return attention.probabilities(new ParameterStore(peers.manager(), false), inputs);
    }

    private static NDArray packed(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        int size = peer.integer("head_size");
        RotaryEmbeddingBlock.Builder rotary = peer.has("sections")
                ? RotaryPresets.qwen2Vl(size, 10_000, peer.integers("sections"))
                : RotaryEmbeddingBlock.builder().setHeadSize(size).optLayout(PairLayout.CONCATENATED);
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.DOCUMENTS, Documents.ofPositions(peers.array("packed")));
        if (peer.hasArray("positions")) {
            params.add(PositionalEncodingBlock.POSITIONS, peers.array("positions"));
        }
        MultiHeadAttentionBlock attention =
                Attentions.builder(peers, rotary.build()).build();
        return peers.forward(attention, new NDList(peers.array("x")), params);
    }
}
