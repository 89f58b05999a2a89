package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import java.io.IOException;
import java.util.Map;
import java.util.function.Function;

/** Sinusoids of sequences, and of real times. */
class SinusoidPeersTest extends EncodingPeersTest {

    SinusoidPeersTest() throws IOException, MalformedModelException {
        super(
                "sinusoids",
                "Sinusoids",
                Map.ofEntries(
                        entry("vaswani", sequence(peer -> SinusoidalEncoding.vaswani(size(peer), peer.number("base")))),
                        entry("roundedUp", sequence(peer -> SinusoidalEncoding.roundedUp(size(peer)))),
                        entry("fairseq", sequence(peer -> SinusoidalEncoding.fairseq(size(peer)))),
                        entry("xTransformers", sequence(peer -> SinusoidalEncoding.xTransformers(size(peer)))),
                        entry("tensor2tensor", sequence(peer -> {
                            double[] scales = peer.numbers("scales");
                            return SinusoidalEncoding.tensor2tensor(size(peer), scales[0], scales[1]);
                        })),
                        entry(
                                "timescales",
                                sequence(peer -> SinusoidalEncoding.builder()
                                        .setEmbeddingSize(size(peer))
                                        .optFrequencies(Frequencies.timescales(size(peer) / 2, 1, 10_000))
                                        .optLayout(PairLayout.CONCATENATED)
                                        .optCosineFirst(true)
                                        .optOddSize(OddSize.ZERO_PADDED)
                                        .build())),
                        entry("concatenated", sequence(SinusoidPeersTest::concatenated)),
                        entry("concatenated times", times(SinusoidPeersTest::concatenated)),
                        entry(
                                "diffusion",
                                times(peer -> SinusoidalEncoding.diffusion(
                                        size(peer),
                                        peer.number("shift"),
                                        peer.number("scale"),
                                        peer.is("cosine_first")))),
                        entry("diffusion, max_period", times(peer -> {
                            int pairs = size(peer) / 2;
                            return SinusoidalEncoding.builder()
                                    .setEmbeddingSize(size(peer))
                                    .optFrequencies(Frequencies.geometric(pairs, peer.number("base"), pairs - 1))
                                    .optLayout(PairLayout.CONCATENATED)
                                    .optOddSize(OddSize.ZERO_PADDED)
                                    .build();
                        }))));
    }

    private static int size(PeerCase peer) {
        return peer.integer("size");
    }

    private static SinusoidalEncoding concatenated(PeerCase peer) {
        return SinusoidalEncoding.builder()
                .setEmbeddingSize(size(peer))
                .optBase(peer.number("base"))
                .optLayout(PairLayout.CONCATENATED)
                .optCosineFirst(peer.is("cosine_first"))
                .build();
    }

    /** Added to the array x, with a learned scale if the case is scaled. */
    private static Library sequence(Function<PeerCase, SinusoidalEncoding> encoding) {
        return peers -> {
            PositionalEncodingBlock.Builder builder = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(size(peers.peer()))
                    .optEncoding(encoding.apply(peers.peer()));
            if (peers.peer().has("scaled")) {
                builder.optLearnedScale(1);
            }
            return peers.encode(builder.build());
        };
    }

    private static Library times(Function<PeerCase, SinusoidalEncoding> encoding) {
        return peers -> PositionalEncodingBlock.builder()
                .setEmbeddingSize(size(peers.peer()))
                .optEncoding(encoding.apply(peers.peer()))
                .build()
                .encode(peers.array("times"));
    }
}
