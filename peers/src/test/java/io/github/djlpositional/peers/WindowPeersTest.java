package io.github.djlpositional.peers;

import static io.github.djlpositional.peers.Attentions.bias;
import static io.github.djlpositional.peers.Attentions.output;
import static java.util.Map.entry;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock.Form;
import io.github.djlpositional.relative.WindowVectorsBlock;
import io.github.djlpositional.transformer.Windows;
import java.io.IOException;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Biases and vectors of the cells of windows. */
class WindowPeersTest extends EncodingPeersTest {

    WindowPeersTest() throws IOException, MalformedModelException {
        super(
                "windows",
                "Windows",
                Map.ofEntries(
                        entry("Swin's bias", peers -> bias(peers, biases(peers))),
                        entry("shifted windows of videos", WindowPeersTest::shifted),
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
                        entry("Swin V2 CR", peers -> output(peers, network(peers))),
                        entry("network of Swin V2 CR", peers -> bias(peers, network(peers))),
                        entry("CrossFormer", peers -> bias(peers, network(peers))),
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
                .setWindow(window)
                .optClassToken(isWithClassToken(peers))
                .build();
    }

    /** An attention in the windows of a grid, whose first cells are moved behind the others. */
    private static NDArray shifted(Peers peers) throws IOException, MalformedModelException {
        NDArray x = peers.array("x"); // (B, cells, D)
        Shape window = shape(peers, "window_size");
        Shape moved = shape(peers, "moved");
        Shape grids = new Shape(x.getShape().get(0))
                .addAll(shape(peers, "grid"))
                .add(x.getShape().get(2));
        NDArray grid = x.reshape(grids);
        for (int axis = 0; axis < 3; axis++) {
            grid = Windows.roll(grid, moved.get(axis), axis + 1);
        }
        NDList inputs = new NDList(Windows.split(grid, window));
        if (LongStream.of(moved.getShape()).sum() > 0) {
            inputs.add(Windows.mask(grid, moved, window));
        }
        NDArray y = peers.forward(Attentions.builder(peers, biases(peers)).build(), inputs, new PairList<>());
        NDArray merged = Windows.merge(y, grids, window);
        for (int axis = 0; axis < 3; axis++) {
            merged = Windows.roll(merged, grids.get(axis + 1) - moved.get(axis), axis + 1);
        }
        return merged.reshape(x.getShape());
    }

    private static Shape shape(Peers peers, String argument) {
        return new Shape(
                IntStream.of(peers.peer().integers(argument)).asLongStream().toArray());
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
                .setWindow(window)
                .optHiddenSize(peers.peer().integer("hidden"))
                .optHiddenLayers(peers.peer().has("layers") ? peers.peer().integer("layers") : 1)
                .optNormalized(peers.peer().has("normalized") && peers.peer().is("normalized"))
                .optForm(Form.valueOf(peers.peer().has("form") ? peers.peer().text("form") : "SWIN"))
                .optClassToken(isWithClassToken(peers));
        if (peers.peer().has("trained")) {
            int[] trained = peers.peer().integers("trained");
            builder.optTrainedWindow(trained);
        }
        return builder.build();
    }

    private static WindowVectorsBlock vectors(Peers peers) {
        return vectors(peers, peers.peer().integers("window_size"));
    }

    private static WindowVectorsBlock vectors(Peers peers, int... window) {
        return WindowVectorsBlock.builder()
                .setHeadSize(peers.peer().integer("head_size"))
                .setWindow(window)
                .optClassToken(isWithClassToken(peers))
                .build();
    }

    private static boolean isWithClassToken(Peers peers) {
        return peers.peer().has("class_token") && peers.peer().is("class_token");
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
