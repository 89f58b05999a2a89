package io.github.djlpositional.examples.notebooks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.Drawing;
import java.util.Arrays;

/** From token ids to vectors with positions: the shapes, step by step. */
final class GettingStarted {

    private GettingStarted() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Getting started");
        try (NDManager manager = NDManager.newBaseManager()) {
            notebook.text("""
                    A vocabulary of 1000 tokens, embeddings of 512 dimensions. The input embedding looks tokens up and adds
                    the sines and cosines of their positions.""");
            InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                    .setVocabularySize(1000)
                    .setEmbeddingSize(512)
                    .build();
            input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
            NDArray ids = manager.randomInteger(0, 1000, new Shape(2, 10), DataType.INT64);
            notebook.result("ids.getShape()", ids.getShape());
            notebook.result("input.forward(…).getShape()", forward(input, ids).getShape());

            notebook.text("""
                    The encodings without the input, for sequences of up to 100 steps and 64 dimensions. For a sequence of 50
                    steps the shape is (1, 50, 64): the encodings are the same for all sequences of a batch.""");
            PositionalEncodingBlock positions = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(64)
                    .optMaxSequenceLength(100)
                    .optAddToInput(false)
                    .build();
            NDArray encodings = forward(positions, manager.zeros(new Shape(8, 50, 64)));
            notebook.result("positions.forward(…).getShape()", encodings.getShape());
            notebook.result(
                    "position 1, first four",
                    Arrays.toString(encodings.get("0, 1, :4").toFloatArray()));
            float[] values = encodings.toFloatArray();
            notebook.picture(
                    "getting-started",
                    "The encodings of 50 positions in 64 dimensions",
                    Drawing.map(
                            "50 positions, 64 dimensions",
                            "dimension",
                            "position",
                            50,
                            64,
                            (position, dimension) -> values[position * 64 + dimension]));

            notebook.text("""
                    One layer for the encoder's and the decoder's embeddings: up to 500 steps, 512 dimensions, 10,000 tokens.
                    If a block is used twice, both uses share its weights and its table.""");
            InputEmbeddingBlock shared = InputEmbeddingBlock.builder()
                    .setVocabularySize(10_000)
                    .setEmbeddingSize(512)
                    .optMaxSequenceLength(500)
                    .build();
            shared.initialize(manager, DataType.FLOAT32, new Shape(-1, -1));
            NDArray source = manager.randomInteger(0, 10_000, new Shape(4, 120), DataType.INT64);
            NDArray target = manager.randomInteger(0, 10_000, new Shape(4, 90), DataType.INT64);
            notebook.result(
                    "shared.forward(source).getShape()", forward(shared, source).getShape());
            notebook.result(
                    "shared.forward(target).getShape()", forward(shared, target).getShape());
            notebook.result(
                    "shared.getParameters().size()", shared.getParameters().size());
        }
    }

    private static NDArray forward(Block block, NDArray input) {
        return block.forward(new ParameterStore(input.getManager(), false), new NDList(input), false)
                .singletonOrThrow();
    }
}
