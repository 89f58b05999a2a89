package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.Batchifier;
import ai.djl.util.Progress;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.Check;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Sequences of tokens with one class each, in batches of similar lengths. A batch is padded to its own longest
 * sequence, so that little of it is padding.
 *
 * <pre>{@code
 * TokenDataset dataset = TokenDataset.builder()
 *         .setTokens(ids)                 // long[][], each of its own length
 *         .setLabels(classes)             // int[]
 *         .setBatchSize(64)
 *         .build();
 * EasyTrain.fit(trainer, 10, dataset, null);
 * }</pre>
 *
 * <p>Each epoch has all sequences once, in a new random order. Groups of {@value #GROUP} batches are drawn at random;
 * the sequences of a group are sorted by length and divided into batches, and then all batches are shuffled, as in
 * fairseq and Hugging Face's trainer. The data of a batch is one array of ids, (B, T), INT32; the labels are (B),
 * INT32. An {@link io.github.djlpositional.InputEmbeddingBlock} with {@code optPaddingIndex} hides the padding.
 *
 * <p>An object may be used by one thread at a time.
 */
public final class TokenDataset implements Dataset {

    /** The number of batches that are sorted together: more makes less padding, and less random batches. */
    private static final int GROUP = 50;

    private final long[][] tokens;
    private final int[] labels;
    private final int batchSize;
    private final int paddingIndex;

    /** Null for the given order. */
    private final Random random;

    private TokenDataset(Builder builder) {
        tokens = Check.present("tokens", builder.tokens);
        labels = Check.present("labels", builder.labels);
        batchSize = Check.present("batchSize", builder.batchSize);
        paddingIndex = builder.paddingIndex;
        random = builder.shuffled ? new Random(builder.seed) : null;
        Check.that(
                tokens.length > 0 && tokens.length == labels.length,
                () -> labels.length + " labels for " + tokens.length
                        + " sequences: expected one for each of at least one sequence; pass arrays of one length");
        for (int i = 0; i < tokens.length; i++) {
            int index = i;
            Check.that(
                    tokens[i] != null && tokens[i].length > 0,
                    () -> "sequence " + index
                            + ", counted from 0, is empty: expected at least one token; leave it out");
            Check.that(
                    Arrays.stream(tokens[i]).allMatch(id -> id >= 0 && id <= Integer.MAX_VALUE),
                    () -> "sequence " + index + ", counted from 0, has the ids " + Arrays.toString(tokens[index])
                            + ": expected 0 to " + Integer.MAX_VALUE + "; pass ids of the vocabulary");
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the number of sequences} */
    public int size() {
        return tokens.length;
    }

    @Override
    public void prepare(Progress progress) {}

    /** {@inheritDoc} The batches belong to the caller, who closes each. */
    @Override
    public Iterable<Batch> getData(NDManager manager) {
        List<int[]> batches = batches();
        return () -> new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < batches.size();
            }

            @Override
            public Batch next() {
                Batch batch = batch(manager.newSubManager(), batches.get(next), next, batches.size());
                next++;
                return batch;
            }
        };
    }

    /** The indices of the sequences of each batch. */
    private List<int[]> batches() {
        List<Integer> order = new ArrayList<>(IntStream.range(0, size()).boxed().toList());
        List<int[]> batches = new ArrayList<>();
        if (random != null) {
            Collections.shuffle(order, random);
            int group = Math.toIntExact(Math.min(size(), (long) GROUP * batchSize));
            for (int from = 0; from < size(); from += group) {
                order.subList(from, Math.min(size(), from + group))
                        .sort(Comparator.comparingInt(index -> tokens[index].length));
            }
        }
        for (int from = 0; from < size(); from += batchSize) {
            batches.add(order.subList(from, Math.min(size(), from + batchSize)).stream()
                    .mapToInt(index -> index)
                    .toArray());
        }
        if (random != null) {
            Collections.shuffle(batches, random);
        }
        return batches;
    }

    private Batch batch(NDManager manager, int[] indices, int number, int count) {
        int longest =
                Arrays.stream(indices).map(index -> tokens[index].length).max().orElseThrow();
        Shape shape = new Shape(indices.length, longest);
        NDArray ids = HostData.integers(manager, manager.getDevice(), shape, i -> {
            long[] sequence = tokens[indices[i / longest]];
            return i % longest < sequence.length ? Math.toIntExact(sequence[i % longest]) : paddingIndex;
        });
        NDArray classes =
                HostData.integers(manager, manager.getDevice(), new Shape(indices.length), i -> labels[indices[i]]);
        return new Batch(
                manager,
                new NDList(ids),
                new NDList(classes),
                indices.length,
                Batchifier.STACK,
                Batchifier.STACK,
                number,
                count);
    }

    /** Builds a {@link TokenDataset}. */
    public static final class Builder {

        private long[][] tokens;
        private int[] labels;
        private Integer batchSize;
        private int paddingIndex;
        private boolean shuffled = true;
        private long seed = 1;

        private Builder() {}

        /** Sets the ids of the tokens of each sequence, at least one of both; they are not copied. */
        public Builder setTokens(long[]... tokens) {
            this.tokens = Check.notNull("tokens", tokens, "the ids of each sequence");
            return this;
        }

        /** Sets the class of each sequence, from 0. */
        public Builder setLabels(int... labels) {
            this.labels = Check.notNull("labels", labels, "one class for each sequence")
                    .clone();
            return this;
        }

        /** Sets the number of sequences in a batch, at least 1; the last one may have fewer. */
        public Builder setBatchSize(int batchSize) {
            Check.positive("batchSize", batchSize);
            this.batchSize = batchSize;
            return this;
        }

        /** Sets the id of the padding (default: 0). */
        public Builder optPaddingIndex(int paddingIndex) {
            this.paddingIndex = paddingIndex;
            return this;
        }

        /** Sets whether the order is random (default: true); for a validation, it need not be. */
        public Builder optShuffled(boolean shuffled) {
            this.shuffled = shuffled;
            return this;
        }

        /** Sets the seed of the order (default: 1). */
        public Builder optSeed(long seed) {
            this.seed = seed;
            return this;
        }

        /**
         * {@return the dataset}
         *
         * @throws IllegalArgumentException if tokens, labels or the batch size are missing or do not fit each other
         */
        public TokenDataset build() {
            return new TokenDataset(this);
        }
    }
}
