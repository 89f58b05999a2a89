package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Embedding;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.util.concurrent.Callable;

/** Encodings added to an input (B, T, D), by this library, as in the book, and by the engine's operations alone. */
final class Encodings {

    private static final int POSITIONS = 5000;
    private static final int STEPS = 4096;
    private static final int VOCABULARY = 32_000;

    static final Operation ADD = new Operation("ADD", "", setting -> {
        NDArray x = setting.x();
        Block block = initialized(setting);
        return () -> setting.forward(block, x);
    });

    static final Operation ADD_LIKE_BOOK = new Operation("ADD_LIKE_BOOK", "book", setting -> {
        NDArray x = setting.x();
        Block book = new BookEncoding(setting.manager(), setting.size(1), setting.size(2));
        return () -> setting.forward(book, x);
    });

    /** The limit: an addition of encodings that are there already. */
    static final Operation BARE_ADD = new Operation("BARE_ADD", "bare add", setting -> {
        NDArray x = setting.x();
        NDArray encodings = setting.numbers(new Shape(1, setting.size(1), setting.size(2)));
        return () -> x.add(encodings);
    });

    /** The same bytes read and written, and nothing else. */
    static final Operation COPY = new Operation("COPY", "copy", setting -> setting.x()::duplicate);

    static final Operation ADD_EXPLICIT =
            new Operation("ADD_EXPLICIT", "", setting -> addAt(setting, positions(setting)));

    /** Explicit positions (T) that all sequences share. */
    static final Operation ADD_SHARED = new Operation(
            "ADD_SHARED",
            "",
            setting -> addAt(setting, setting.manager().arange(0, setting.size(1), 1, DataType.INT64)));

    /** The limit of explicit positions. */
    static final Operation LOOK_UP_AND_ADD = new Operation("LOOK_UP_AND_ADD", "bare look-up and add", setting -> {
        NDArray x = setting.x();
        NDArray positions = positions(setting);
        NDArray table = setting.numbers(new Shape(POSITIONS, setting.size(2)));
        return () -> {
            try (NDList rows = Embedding.embedding(positions, table, SparseFormat.DENSE)) {
                return x.add(rows.head());
            }
        };
    });

    /** A decoder's step at the next position. */
    static final Operation STEP = new Operation("STEP", "", setting -> {
        NDArray x = setting.x();
        Block block = initialized(setting);
        int[] step = {0};
        return () -> {
            PairList<String, Object> params = new PairList<>(1);
            params.add(PositionalEncodingBlock.START_POSITION, step[0]);
            step[0] = (step[0] + 1) % STEPS;
            return block.forward(setting.store(), new NDList(x), false, params);
        };
    });

    /** The limit of steps. */
    static final Operation ADD_4096_ROWS =
            new Operation("ADD_4096_ROWS", "bare add of 4096 rows", setting -> addRows(setting, STEPS));

    /** The same with rows that fit a second-level cache. */
    static final Operation ADD_64_ROWS =
            new Operation("ADD_64_ROWS", "bare add of 64 rows", setting -> addRows(setting, 64));

    static final Operation EMBED = new Operation("EMBED", "", setting -> embed(setting, false));
    static final Operation EMBED_SCALED = new Operation("EMBED_SCALED", "", setting -> embed(setting, true));
    static final Operation EMBED_LIKE_BOOK =
            new Operation("EMBED_LIKE_BOOK", "book", setting -> embedLikeBook(setting, 1));
    static final Operation EMBED_SCALED_LIKE_BOOK = new Operation(
            "EMBED_SCALED_LIKE_BOOK", "book", setting -> embedLikeBook(setting, Math.sqrt(setting.size(2))));

    /** The limit of an embedding. */
    static final Operation LOOK_UP = new Operation("LOOK_UP", "bare look-up", setting -> {
        NDArray ids = tokens(setting);
        NDArray table = setting.numbers(new Shape(VOCABULARY, setting.size(2)));
        return () -> Embedding.embedding(ids, table, SparseFormat.DENSE);
    });

    /** A table of positions (T, D), each value the nearest float. */
    static final Operation COMPUTE_TABLE = new Operation("COMPUTE_TABLE", "", setting -> () -> {
        Block block = block(setting.size(0), setting.size(1));
        block.initialize(setting.manager(), DataType.FLOAT32, new Shape(1, 1, setting.size(1)));
        block.clear();
        return new NDList();
    });

    /** The same as a user's loop computes it, in float. */
    static final Operation TABLE_LIKE_BOOK = new Operation("TABLE_LIKE_BOOK", "book", setting -> () -> {
        try (NDManager manager = setting.manager().newSubManager()) {
            new BookEncoding(manager, setting.size(0), setting.size(1));
            return new NDList();
        }
    });

    /** A block loaded and called for the first time. */
    static final Operation FIRST_FORWARD = new Operation("FIRST_FORWARD", "", setting -> {
        NDArray x = setting.x();
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        initialized(setting).saveParameters(new DataOutputStream(saved));
        return () -> {
            Block block = block(POSITIONS, setting.size(2));
            block.loadParameters(setting.manager(), new DataInputStream(new ByteArrayInputStream(saved.toByteArray())));
            NDList result = setting.forward(block, x);
            block.clear();
            return result;
        };
    });

    /** The book's way, which has nothing to load. */
    static final Operation FIRST_FORWARD_LIKE_BOOK = new Operation("FIRST_FORWARD_LIKE_BOOK", "book", setting -> {
        NDArray x = setting.x();
        return () -> {
            try (NDManager manager = setting.manager().newSubManager()) {
                return setting.forward(new BookEncoding(manager, POSITIONS, setting.size(2)), x);
            }
        };
    });

    private Encodings() {}

    private static PositionalEncodingBlock block(int positions, int size) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(positions)
                .build();
    }

    private static Block initialized(Setting setting) {
        int positions = Math.max(POSITIONS, setting.size(1));
        return setting.initialized(block(positions, setting.size(2)), setting.shape());
    }

    private static NDArray positions(Setting setting) {
        return setting.ids(setting.shape().slice(0, 2), POSITIONS);
    }

    private static Callable<NDResource> addAt(Setting setting, NDArray positions) {
        NDArray x = setting.x();
        Block block = initialized(setting);
        return () -> setting.forward(block, x, positions);
    }

    private static Callable<NDResource> addRows(Setting setting, int count) {
        NDArray x = setting.x();
        NDList rows = setting.numbers(new Shape(count, setting.size(2))).split(count, 0);
        int[] step = {0};
        return () -> {
            step[0] = (step[0] + 1) % count;
            return x.add(rows.get(step[0]));
        };
    }

    private static NDArray tokens(Setting setting) {
        return setting.ids(setting.shape().slice(0, 2), VOCABULARY);
    }

    private static Callable<NDResource> embed(Setting setting, boolean isScaled) {
        NDArray ids = tokens(setting);
        Block block = InputEmbeddingBlock.builder()
                .setVocabularySize(VOCABULARY)
                .setEmbeddingSize(setting.size(2))
                .optScaleEmbedding(isScaled)
                .build();
        block.setInitializer((manager, shape, type) -> setting.numbers(shape), Parameter.Type.WEIGHT);
        setting.initialized(block, ids.getShape());
        return () -> setting.forward(block, ids);
    }

    private static Callable<NDResource> embedLikeBook(Setting setting, double scale) {
        NDArray ids = tokens(setting);
        NDArray table = setting.numbers(new Shape(VOCABULARY, setting.size(2)));
        Block book = new BookEncoding(setting.manager(), setting.size(1), setting.size(2));
        return () -> {
            try (NDArray embedded =
                            Embedding.embedding(ids, table, SparseFormat.DENSE).head();
                    NDArray scaled = scale == 1 ? embedded : embedded.mul(scale)) {
                return setting.forward(book, scaled);
            }
        };
    }
}
