package org.example;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TokenDataset;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The program of docs/first-steps.md: trains an encoder, then a decoder that continues a song. */
public final class FirstSteps {

    private static final String SONG = "row, row, row your boat gently down the stream; "
            + "merrily, merrily, merrily, merrily, life is but a dream. ";

    private FirstSteps() {}

    public static void main(String[] args) throws Exception {
        Engine.getInstance().setRandomSeed(1);
        try (Model model = Model.newInstance("encoder")) {
            System.out.printf("Is 3 before 7? Accuracy %.2f%n", trainEncoder(model));
        }
        try (Model model = Model.newInstance("decoder")) {
            System.out.println("row, row, " + trainDecoder(model, "row, row, "));
        }
    }

    /** Sequences of the digits 0 to 9 in a random order, with the class 1 if 3 is before 7. */
    private static TokenDataset digits(int count, long seed) {
        Random random = new Random(seed);
        long[][] sequences = new long[count][];
        int[] classes = new int[count];
        for (int i = 0; i < count; i++) {
            List<Integer> digits = IntStream.range(0, 10).boxed().collect(Collectors.toList());
            Collections.shuffle(digits, random);
            sequences[i] = digits.stream().mapToLong(digit -> digit).toArray();
            classes[i] = digits.indexOf(3) < digits.indexOf(7) ? 1 : 0;
        }
        return TokenDataset.builder()
                .setTokens(sequences)
                .setLabels(classes)
                .setBatchSize(64)
                .build();
    }

    private static DefaultTrainingConfig config() {
        return new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .addTrainingListeners(TrainingListener.Defaults.basic())
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.002f))
                        .build());
    }

    /** Returns the accuracy on new sequences. */
    private static float trainEncoder(Model model) throws Exception {
        TokenDataset training = digits(20_000, 1);
        TokenDataset heldOut = digits(1_000, 2);
        // tag::encoder[]
        TransformerStackBlock encoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(10)
                        .setEmbeddingSize(32)
                        .build()) // adds sinusoids
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(32)
                                .setHeadCount(4))
                .optPooling(Pooling.MEAN)
                .optOutputSize(2) // ids (B, T) to the scores of 2 classes (B, 2)
                .build();
        model.setBlock(encoder);
        try (Trainer trainer = model.newTrainer(config().addEvaluator(new Accuracy()))) {
            trainer.initialize(new Shape(1, 10)); // ids (B, T)
            EasyTrain.fit(trainer, 1, training, heldOut);
            return trainer.getTrainingResult().getValidateEvaluation("Accuracy");
        }
        // end::encoder[]
    }

    /** Returns the characters after a prompt. */
    private static String trainDecoder(Model model, String prompt) throws Exception {
        String alphabet = SONG.chars().distinct().mapToObj(Character::toString).collect(Collectors.joining());
        int[] song = (SONG + SONG).chars().map(alphabet::indexOf).toArray(); // the id of a character is its index
        // tag::decoder[]
        TransformerStackBlock decoder = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(alphabet.length())
                        .setEmbeddingSize(64)
                        .optNoPositions() // the attentions have rotary positions
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(64)
                                        .setHeadCount(4)
                                        .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                                .setHeadSize(16)
                                                .build())
                                        .optCausal(true)
                                        .optWindow(32) // as many characters as in training
                                        .build())
                                .optNormPlacement(NormPlacement.BEFORE_PART))
                .optOutputSize(alphabet.length()) // ids (B, T) to scores of the next characters (B, T, V)
                .build();
        // end::decoder[]
        model.setBlock(decoder);
        try (Trainer trainer = model.newTrainer(config())) {
            trainer.initialize(new Shape(1, 32));
            EasyTrain.fit(trainer, 1, parts(trainer.getManager(), song, 200 * 32), null);
        }
        // tag::generate[]
        long[] ids = prompt.chars().mapToLong(alphabet::indexOf).toArray();
        TokenGenerator generator = TokenGenerator.builder().setDecoder(decoder).build();
        return Arrays.stream(generator.generate(ids, 110)) // with a cache of keys and values
                .mapToObj(id -> alphabet.substring((int) id, (int) id + 1))
                .collect(Collectors.joining());
        // end::generate[]
    }

    /** Random parts of 32 characters; the label of each character is the next one. */
    private static ArrayDataset parts(NDManager manager, int[] song, int count) {
        int[] starts = new Random(1).ints(count, 0, song.length - 32).toArray();
        int[][] inputs = Arrays.stream(starts)
                .mapToObj(start -> Arrays.copyOfRange(song, start, start + 32))
                .toArray(int[][]::new);
        int[][] next = Arrays.stream(starts)
                .mapToObj(start -> Arrays.copyOfRange(song, start + 1, start + 33))
                .toArray(int[][]::new);
        return new ArrayDataset.Builder()
                .setData(manager.create(inputs)) // (N, T)
                .optLabels(manager.create(next).expandDims(2)) // (N, T, 1)
                .setSampling(32, true)
                .build();
    }
}
