package io.github.djlpositional.examples.notebooks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.Arrays;

/** From token ids to vectors that know their position: the shapes, step by step. */
public final class GettingStarted {

    private GettingStarted() {}

    /**
     * Runs the notebook.
     *
     * @param args {@code --out FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(GettingStarted::write, GettingStarted.class, args);
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Getting started");
        try (NDManager manager = NDManager.newBaseManager()) {
            ParameterStore store = new ParameterStore(manager, false);

            notebook.text("""
                    A vocabulary of 1000 tokens, embeddings of 512 dimensions. The input embedding looks tokens up and adds
                    the sines and cosines of their positions.""");
            InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                    .setVocabularySize(1000)
                    .setEmbeddingSize(512)
                    .build();
            input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
            NDArray ids = manager.randomInteger(0, 1000, new Shape(2, 10), DataType.INT64);
            NDArray vectors = input.forward(store, new NDList(ids), false).singletonOrThrow();
            notebook.result("ids.getShape()", ids.getShape());
            notebook.result("input.forward(…).getShape()", vectors.getShape());

            notebook.text("""
                    The encoding alone, for sequences of up to 100 steps and 64 dimensions: of a sequence of 50 steps it is
                    (1, 50, 64), the same for every sequence of a batch.""");
            PositionalEncodingBlock alone = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(64)
                    .optMaxSequenceLength(100)
                    .optAddToInput(false)
                    .build();
            NDArray sequence = manager.zeros(new Shape(8, 50, 64));
            NDArray encodings =
                    alone.forward(store, new NDList(sequence), false).singletonOrThrow();
            notebook.result("alone.forward(…).getShape()", encodings.getShape());
            notebook.result(
                    "position 1, first four",
                    Arrays.toString(encodings.get("0, 1, :4").toFloatArray()));
            float[] values = encodings.toFloatArray();
            notebook.picture(
                    "getting-started",
                    "The encoding of 50 positions in 64 dimensions",
                    Drawing.map(
                            "50 positions, 64 dimensions",
                            "dimension",
                            "position",
                            Drawing.numbers(64),
                            Drawing.numbers(50),
                            1,
                            (dimension, position) -> values[position * 64 + dimension]));

            notebook.text("""
                    One layer for the encoder's and the decoder's embeddings: up to 500 steps, 512 dimensions, 10,000
                    tokens. The same block twice shares its weights and its table.""");
            InputEmbeddingBlock shared = InputEmbeddingBlock.builder()
                    .setVocabularySize(10_000)
                    .setEmbeddingSize(512)
                    .optMaxSequenceLength(500)
                    .build();
            shared.initialize(manager, DataType.FLOAT32, new Shape(-1, -1));
            NDArray source = manager.randomInteger(0, 10_000, new Shape(4, 120), DataType.INT64);
            NDArray target = manager.randomInteger(0, 10_000, new Shape(4, 90), DataType.INT64);
            notebook.result(
                    "shared.forward(source).getShape()",
                    shared.forward(store, new NDList(source), false).head().getShape());
            notebook.result(
                    "shared.forward(target).getShape()",
                    shared.forward(store, new NDList(target), false).head().getShape());
            notebook.result(
                    "shared.getParameters().size()", shared.getParameters().size());
        }
    }
}
