package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.bias;
import static io.github.djlpositional.peers.Attentions.output;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.relative.WindowVectorsBlock;
import java.io.IOException;
import java.util.Map;

/** Biases and vectors of the cells of windows. */
class WindowPeersTest extends EncodingPeersTest {

    WindowPeersTest() throws IOException, MalformedModelException {
        super(
                "windows",
                "Windows",
                Map.ofEntries(
                        entry("Swin's bias", peers -> bias(peers, biases(peers))),
                        entry("MaxViT of TensorFlow", peers -> bias(peers, biases(peers))),
                        entry("LeViT", peers -> bias(peers, biases(peers))),
                        entry("BEiT", peers -> bias(peers, biases(peers))),
                        entry("Swin's attention", peers -> output(peers, biases(peers))),
                        entry("BEiT's attention", peers -> output(peers, biases(peers))),
                        entry("BEiT in another window", WindowPeersTest::resampledBiases),
                        entry("Swin in another window", WindowPeersTest::resampledBiases),
                        entry("a window's bias in another window", WindowPeersTest::resampledBiases),
                        entry("Swin V2", peers -> output(peers, network(peers))),
                        entry("network of Swin V2", peers -> bias(peers, network(peers))),
                        entry("SAM", peers -> output(peers, vectors(peers))),
                        entry("ViTDet", peers -> output(peers, vectors(peers))),
                        entry("MViTv2", peers -> output(peers, vectors(peers))),
                        entry("BoTNet", peers -> output(peers, vectors(peers))),
                        entry("ViTDet in another window", WindowPeersTest::resampledVectors)));
    }

    private static WindowBiasBlock biases(Peers peers) {
        return biases(peers, peers.peer().integers("window_size"));
    }

    private static WindowBiasBlock biases(Peers peers, int... window) {
        return WindowBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setWindow(window[0], window[1])
                .optClassToken(peers.peer().is("class_token"))
                .build();
    }

    /** The bias of another window than that of the parameters. */
    private static NDArray resampledBiases(Peers peers) throws IOException, MalformedModelException {
        NDArray cells = peers.manager().zeros(new Shape(1, peers.peer().integer("keys"), 4));
        WindowBiasBlock trained = biases(peers, peers.peer().integers("trained"));
        peers.initialize(trained, cells.getShape());
        WindowBiasBlock block = biases(peers);
        block.initialize(peers.manager(), DataType.FLOAT32, cells.getShape());
        block.resample(trained, GridResampling.valueOf(peers.peer().text("method")));
        return peers.forward(block, cells);
    }

    private static WindowNetworkBiasBlock network(Peers peers) {
        int[] window = peers.peer().integers("window_size");
        WindowNetworkBiasBlock.Builder builder = WindowNetworkBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setWindow(window[0], window[1])
                .optHiddenSize(peers.peer().integer("hidden"));
        if (peers.peer().has("trained")) {
            int[] trained = peers.peer().integers("trained");
            builder.optTrainedWindow(trained[0], trained[1]);
        }
        return builder.build();
    }

    private static WindowVectorsBlock vectors(Peers peers) {
        return vectors(peers, peers.peer().integers("window_size"));
    }

    private static WindowVectorsBlock vectors(Peers peers, int... window) {
        return WindowVectorsBlock.builder()
                .setHeadSize(peers.peer().integer("head_size"))
                .setWindow(window[0], window[1])
                .build();
    }

    private static NDArray resampledVectors(Peers peers) throws IOException, MalformedModelException {
        NDArray queries = peers.array("q");
        WindowVectorsBlock trained = vectors(peers, peers.peer().integers("trained"));
        peers.initialize(trained, queries.getShape());
        WindowVectorsBlock block = vectors(peers);
        block.initialize(peers.manager(), DataType.FLOAT32, queries.getShape());
        block.resample(trained);
        return peers.forward(block, queries);
    }
}
