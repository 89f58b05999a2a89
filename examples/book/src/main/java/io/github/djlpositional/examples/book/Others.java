// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.List;

/** No positions at all, packed sequences, contextual positions and forgetting attention. */
public final class Others {

    public static void main(String... args) throws Exception {
        // %% layers
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        Block one = attention(manager);
        Block two = attention(manager);
        NDArray x = manager.randomNormal(new Shape(1, 5, 16));
        NDArray swapped = x.get(":, {}", manager.create(new int[] {1, 0, 2, 3, 4}));
        // ...
        NDArray before = x.add(forward(one, x));
        NDArray after = swapped.add(forward(one, swapped));
        boolean isSame = isClose(before.get(":, 4"), after.get(":, 4"));
        boolean ofTwo =
                isClose(forward(two, before).get(":, 4"), forward(two, after).get(":, 4"));
        print("one layer: same %b; two layers: %b", isSame, ofTwo);
        // %% packed
        NDArray positions = manager.create(new int[][] {{0, 1, 2, 0, 1, 2, 3}}); // (B, T)
        NDArray mask = MultiHeadAttentionBlock.packedMask(positions); // (B, T, T)
        PairList<String, Object> params = new PairList<>();
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        Block rotary =
                attention(manager, RotaryEmbeddingBlock.builder().setHeadSize(8).build());
        NDArray both = manager.randomNormal(new Shape(1, 7, 16));
        NDArray packed = forward(rotary, params, both, mask);
        // ...
        NDArray unmasked = forward(rotary, params, both);
        for (String document : List.of(":, :3", ":, 3:")) {
            NDArray alone = forward(rotary, both.get(document));
            boolean[] isAlone = {isClose(packed.get(document), alone), isClose(unmasked.get(document), alone)};
            print("as by itself: %b; unmasked: %b", isAlone[0], isAlone[1]);
        }
        Plots.Cells cells = (t, s) -> s <= t && mask.getBoolean(0, t, s) ? 1 : 0;
        display(picture(heatMap("Visible keys", "key", "query", 0, 1, 7, 7, cells)));
        // %% cope
        NDArray isStop = manager.create(STOPS);
        NDArray gates = Activation.sigmoid(isStop.mul(12).sub(6)); // q · k is 6 for ., else -6
        NDArray sums = gates.cumSum(0);
        NDArray places = sums.get("8").sub(sums).add(gates); // the gates from key to query
        NDArray share = places.sub(places.floor());
        NDArray terms = manager.create(new float[] {2, 0, -1, -1}); // q · e, positions 0 to 3
        NDArray term = share.mul(terms.get(places.ceil().toType(DataType.INT64, false)))
                .add(share.neg().add(1).mul(terms.get(places.floor().toType(DataType.INT64, false))));
        // ...
        for (int s = 0; s < WORDS.size(); s++) {
            print("%-4s position %.3f, added %6.3f", WORDS.get(s), places.getFloat(s), term.getFloat(s));
        }
        manager.close();
    }

    private static final float[] STOPS = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    private static final List<String> WORDS = List.of("the", "cat", "sat", ".", "the", "dog", "ran", ".", "it");

    private static Block attention(NDManager manager, RelativeEncoding... encodings) {
        Block block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(16)
                .setHeadCount(2)
                .optCausal(true)
                .optRelativeEncoding(encodings)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 5, 16));
        return block;
    }

    private static NDArray forward(Block block, NDArray input) {
        return forward(block, new PairList<>(), input);
    }

    private static NDArray forward(Block block, PairList<String, Object> params, NDArray... inputs) {
        ParameterStore store = new ParameterStore(inputs[0].getManager(), false);
        return block.forward(store, new NDList(inputs), false, params).head();
    }

    private static boolean isClose(NDArray a, NDArray b) {
        return a.sub(b).abs().max().getFloat() < 1e-5;
    }
}
