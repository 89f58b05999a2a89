package io.github.djlpositional.transformer;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** 1000 sequences of 1 to 60 tokens; the first token of a sequence is its number + 1. */
class TokenDatasetTest extends OnEachEngine {

    private static final long[][] TOKENS = tokens();

    private static long[][] tokens() {
        Random random = new Random(3);
        return IntStream.range(0, 1000)
                .mapToObj(i -> LongStream.concat(
                                LongStream.of(i + 1),
                                LongStream.range(0, random.nextInt(60)).map(id -> id + 2000))
                        .toArray())
                .toArray(long[][]::new);
    }

    private static TokenDataset.Builder dataset() {
        return TokenDataset.builder()
                .setTokens(TOKENS)
                .setLabels(IntStream.range(0, 1000).toArray())
                .setBatchSize(32);
    }

    /** The ids of each batch of an epoch, row by row. */
    private List<int[][]> epoch(TokenDataset dataset) {
        List<int[][]> batches = new ArrayList<>();
        for (Batch batch : dataset.getData(manager)) {
            try (batch) {
                Shape shape = batch.getData().head().getShape();
                int[] all = batch.getData().head().toIntArray();
                int width = (int) shape.get(1);
                int[][] rows = IntStream.range(0, (int) shape.get(0))
                        .mapToObj(row -> Arrays.copyOfRange(all, row * width, (row + 1) * width))
                        .toArray(int[][]::new);
                assertThat(batch.getSize()).isEqualTo(rows.length);
                // the label is the number of the sequence
                assertThat(batch.getLabels().head().toIntArray())
                        .containsExactly(
                                Arrays.stream(rows).mapToInt(row -> row[0] - 1).toArray());
                batches.add(rows);
            }
        }
        return batches;
    }

    private static int[] padded(long[] tokens, int length, int padding) {
        return IntStream.range(0, length)
                .map(i -> i < tokens.length ? (int) tokens[i] : padding)
                .toArray();
    }

    @Test
    void eachSequenceOccursOnceInABatchThatIsAsLongAsItsLongest() {
        List<int[][]> batches = epoch(dataset().optPaddingIndex(7).build());
        assertThat(batches).hasSize(32);
        List<Integer> found = new ArrayList<>();
        for (int[][] batch : batches) {
            int longest = 0;
            for (int[] row : batch) {
                long[] tokens = TOKENS[row[0] - 1];
                longest = Math.max(longest, tokens.length);
                found.add(row[0] - 1);
                assertThat(row).containsExactly(padded(tokens, batch[0].length, 7));
            }
            assertThat(batch[0]).hasSize(longest);
        }
        assertThat(found)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, 1000).boxed().toList());
    }

    /** With random batches of 32, whose longest sequence has almost 60 tokens, nearly half would be padding. */
    @Test
    void littleIsPadding() {
        long all = epoch(dataset().build()).stream()
                .mapToLong(batch -> (long) batch.length * batch[0].length)
                .sum();
        long tokens =
                Arrays.stream(TOKENS).mapToLong(sequence -> sequence.length).sum();
        assertThat((double) tokens / all).isBetween(0.9, 1.0);
    }

    @Test
    void theOrderIsAnotherInEachEpochAndThatOfTheSeed() {
        TokenDataset dataset = dataset().build();
        int[][][] first = epoch(dataset).toArray(int[][][]::new);
        int[][][] second = epoch(dataset).toArray(int[][][]::new);
        assertThat(Arrays.deepEquals(first, second)).isFalse();
        assertThat(Arrays.deepEquals(first, epoch(dataset().build()).toArray(int[][][]::new)))
                .isTrue();
        assertThat(Arrays.deepEquals(first, epoch(dataset().optSeed(2).build()).toArray(int[][][]::new)))
                .isFalse();
        // neither the short ones first nor the long ones
        int[] lengths = Arrays.stream(first).mapToInt(batch -> batch[0].length).toArray();
        assertThat(lengths).isNotEqualTo(IntStream.of(lengths).sorted().toArray());
    }

    @Test
    void aValidationIsInOrder() {
        List<int[][]> batches = epoch(dataset().optShuffled(false).build());
        assertThat(batches.get(0)[0][0]).isEqualTo(1);
        assertThat(batches.get(31)[7][0]).isEqualTo(1000);
    }

    /** The class of a sequence is that of its first token. */
    @Test
    void trainsAModel() throws Exception {
        int[] classes = IntStream.range(0, 1000).map(i -> i % 2).toArray();
        long[][] tokens = new long[1000][];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = TOKENS[i].clone();
            tokens[i][0] = classes[i] + 1L;
            for (int k = 1; k < tokens[i].length; k++) {
                tokens[i][k] = 3 + tokens[i][k] % 5;
            }
        }
        TokenDataset dataset = dataset().setTokens(tokens).setLabels(classes).build();
        try (Model model = Model.newInstance("classifier", engine.engineName())) {
            model.setBlock(TransformerStackBlock.builder()
                    .optInput(InputEmbeddingBlock.builder()
                            .setVocabularySize(8)
                            .setEmbeddingSize(8)
                            .optPaddingIndex(0)
                            .build())
                    .setLayers(
                            1,
                            () -> TransformerLayerBlock.builder()
                                    .setEmbeddingSize(8)
                                    .setHeadCount(2))
                    .optPooling(Pooling.MEAN)
                    .optOutputSize(2)
                    .build());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(Tracker.fixed(0.01f))
                            .build())
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.basic());
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 1));
                EasyTrain.fit(
                        trainer,
                        6,
                        dataset,
                        dataset()
                                .setTokens(tokens)
                                .setLabels(classes)
                                .optShuffled(false)
                                .build());
                assertThat(trainer.getTrainingResult().getValidateEvaluation("Accuracy"))
                        .isGreaterThan(0.95f);
            }
        }
    }

    @Test
    void saysWhatIsMissing() {
        assertAll(
                rejected(() -> TokenDataset.builder().build(), "tokens"),
                rejected(() -> dataset().setLabels(1, 2).build(), "2 labels for 1000 sequences"),
                rejected(() -> dataset().setBatchSize(0), "batchSize 0"),
                rejected(
                        () -> dataset()
                                .setTokens(new long[][] {{1L << 31}})
                                .setLabels(0)
                                .build(),
                        "sequence 0, counted from 0, has the ids [2147483648]"),
                rejected(
                        () -> dataset()
                                .setTokens(new long[][] {{1}, {}})
                                .setLabels(0, 0)
                                .build(),
                        "sequence 1, counted from 0, is empty"));
    }
}
