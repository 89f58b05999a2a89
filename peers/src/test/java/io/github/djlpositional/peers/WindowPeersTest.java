package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.bias;
import static io.github.djlpositional.peers.Attentions.output;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
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
                        entry("Swin", peers -> bias(peers, biases(peers, "window_size"))),
                        entry("Swin's attention", peers -> output(peers, biases(peers, "window_size"))),
                        entry("timm Swin's attention", peers -> output(peers, biases(peers, "window_size"))),
                        entry("KerasHub Swin's attention", peers -> output(peers, biases(peers, "window_size"))),
                        entry("timm biases", peers -> bias(peers, biases(peers, "window_size"))),
                        entry("timm MaxViT of TensorFlow", peers -> bias(peers, biases(peers, "window_size"))),
                        entry("timm LeViT", peers -> bias(peers, biases(peers, "window_size"))),
                        entry("BEiT", peers -> bias(peers, biases(peers, "window_size"))),
                        entry("timm BEiT's attention", peers -> output(peers, biases(peers, "window_size"))),
                        entry("BEiT in another window", WindowPeersTest::resampledBiases),
                        entry("timm Swin in another window", WindowPeersTest::resampledBiases),
                        entry("Swin V2", peers -> output(peers, network(peers))),
                        entry("timm Swin V2", peers -> output(peers, network(peers))),
                        entry("timm network of Swin V2", peers -> bias(peers, network(peers))),
                        entry("SAM", peers -> output(peers, vectors(peers, "window_size"))),
                        entry("ViTDet", peers -> output(peers, vectors(peers, "window_size"))),
                        entry("KerasHub ViTDet", peers -> output(peers, vectors(peers, "window_size"))),
                        entry("timm MViTv2", peers -> output(peers, vectors(peers, "window_size"))),
                        entry("timm BoTNet", peers -> output(peers, vectors(peers, "window_size"))),
                        entry("ViTDet in another window", WindowPeersTest::resampledVectors)));
    }

    private static WindowBiasBlock biases(Peers peers, String window) {
        int[] sizes = sizes(peers, window);
        return WindowBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setWindow(sizes[0], sizes[1])
                .optClassToken(peers.peer().is("class_token"))
                .build();
    }

    private static WindowNetworkBiasBlock network(Peers peers) {
        int[] window = sizes(peers, "window_size");
        WindowNetworkBiasBlock.Builder builder = WindowNetworkBiasBlock.builder()
                .setHeadCount(peers.peer().integer("heads"))
                .setWindow(window[0], window[1])
                .optHiddenSize(peers.peer().integer("hidden"));
        if (peers.peer().has("trained")) {
            int[] trained = sizes(peers, "trained");
            builder.optTrainedWindow(trained[0], trained[1]);
        }
        return builder.build();
    }

    private static WindowVectorsBlock vectors(Peers peers, String window) {
        int[] sizes = sizes(peers, window);
        return WindowVectorsBlock.builder()
                .setHeadSize(peers.peer().integer("head_size"))
                .setWindow(sizes[0], sizes[1])
                .build();
    }

    private static int[] sizes(Peers peers, String name) {
        double[] sizes = peers.peer().numbers(name);
        return new int[] {(int) sizes[0], (int) sizes[1]};
    }

    private static NDArray resampledBiases(Peers peers) throws IOException, MalformedModelException {
        NDArray cells = peers.manager().zeros(new Shape(1, peers.peer().integer("keys"), 4));
        WindowBiasBlock trained = biases(peers, "trained");
        peers.initialize(trained, new Shape(1, 1, 4));
        WindowBiasBlock block = biases(peers, "window_size");
        block.initialize(peers.manager(), DataType.FLOAT32, cells.getShape());
        block.resample(trained, GridResampling.valueOf(peers.peer().text("method")));
        return forward(peers, block, cells);
    }

    private static NDArray resampledVectors(Peers peers) throws IOException, MalformedModelException {
        NDArray queries = peers.array("q");
        WindowVectorsBlock trained = vectors(peers, "trained");
        peers.initialize(trained, queries.getShape());
        WindowVectorsBlock block = vectors(peers, "window_size");
        block.initialize(peers.manager(), DataType.FLOAT32, queries.getShape());
        block.resample(trained);
        return forward(peers, block, queries);
    }

    private static NDArray forward(Peers peers, Block block, NDArray input) {
        return block.forward(new ParameterStore(peers.manager(), false), new NDList(input), false)
                .head();
    }
}
