package io.github.djlpositional.peers;

import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import io.github.djlpositional.FourierFeaturesBlock;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;

/** Fourier features of points, boxes and noise levels. */
class CoordinatePeersTest extends EncodingPeersTest {

    CoordinatePeersTest() throws IOException, MalformedModelException {
        super(
                "coordinates",
                "Real coordinates",
                Map.ofEntries(
                        entry("of", peers -> encode(peers, ofMatrix(peers), false)),
                        entry("custom", peers -> encode(peers, custom(peers), false)),
                        entry("learned", peers -> encode(peers, FourierFeatures.gaussian(2, 8, 1, 0, true), true)),
                        entry("sinusoids", peers -> encode(peers, diffusion(peers.peer()), false)),
                        entry("powersOfTwo", peers -> encode(peers, powersOfTwo(peers.peer()), false))));
    }

    private static NDArray encode(Peers peers, FourierFeatures features, boolean areLearned)
            throws IOException, MalformedModelException {
        return peers.encode(FourierFeaturesBlock.builder()
                .setFeatures(features)
                .optLearned(areLearned)
                .build());
    }

    private static FourierFeatures ofMatrix(Peers peers) throws IOException, MalformedModelException {
        PeerCase peer = peers.peer();
        NDArray matrix = peers.array("matrix");
        int columns = Math.toIntExact(matrix.getShape().get(1));
        double[] numbers = matrix.toDoubleArray();
        double[][] rows = IntStream.range(0, numbers.length / columns)
                .mapToObj(row -> Arrays.copyOfRange(numbers, row * columns, (row + 1) * columns))
                .toArray(double[][]::new);
        FourierFeatures features = FourierFeatures.of(peer.is("cosine_first"), rows);
        return peer.is("logarithm") ? features.ofLogarithm() : features;
    }

    private static FourierFeatures custom(Peers peers) throws IOException, MalformedModelException {
        NDArray rows = peers.array("rows");
        return new FourierFeatures(
                Math.toIntExact(rows.getShape().get(0) - 1),
                peers.peer().integer("linear"),
                false,
                Arrays.stream(rows.toDoubleArray()).boxed().toList());
    }

    private static FourierFeatures diffusion(PeerCase peer) {
        return FourierFeatures.sinusoids(SinusoidalEncoding.diffusion(peer.integer("size"), 1, 1, true));
    }

    private static FourierFeatures powersOfTwo(PeerCase peer) {
        boolean timesPi = peer.is("times_pi");
        return FourierFeatures.powersOfTwo(3, peer.integer("frequencies"), timesPi, !timesPi);
    }
}
