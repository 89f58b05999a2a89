package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.output;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import io.github.djlpositional.math.QueryScale;
import java.io.IOException;
import java.util.Map;

/** The options of an attention without an encoding; most are arguments of the cases. */
class AttentionPeersTest extends EncodingPeersTest {

    AttentionPeersTest() throws IOException, MalformedModelException {
        super(
                "attention",
                "Attention",
                Map.ofEntries(
                        entry("torch", Attentions::output),
                        entry("x-transformers heads of keys", Attentions::output),
                        entry("x-transformers cap", Attentions::output),
                        entry("x-transformers sinks", Attentions::output),
                        entry("x-transformers cosine", Attentions::output),
                        entry("x-transformers window", Attentions::output),
                        entry("Gemma 2", Attentions::output),
                        entry("GPT-OSS", Attentions::output),
                        entry(
                                "Llama 4",
                                peers -> output(
                                        peers,
                                        Attentions.builder(peers)
                                                .optQueryScale(new QueryScale.FloorLogarithm(
                                                        peers.peer().number("coefficient"),
                                                        peers.peer().number("length")))))));
    }
}
