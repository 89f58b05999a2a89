// %maven io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
// %maven ai.djl.pytorch:pytorch-engine:0.36.0
// %maven ai.djl.pytorch:pytorch-jni:2.7.1-0.36.0
// %maven ai.djl.pytorch:pytorch-native-cpu:jar:linux-x86_64:2.7.1
// %maven org.exist-db:exist-samples:6.2.0
// %maven org.slf4j:slf4j-nop:2.0.17

package io.github.djlpositional.examples.encoder;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.metric.Metrics;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.Sampling;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.Collectors;

/** A decoder with rotary positions learns Shakespeare's Hamlet character by character, and continues a text. */
public final class DecoderExample {

    private static final int SIZE = 128; // of a token's vector
    private static final int HEADS = 4;
    private static final int LENGTH = 64; // of the texts in training

    private DecoderExample() {}

    // %% The decoder: token ids (B, T) to a score for each next token (B, T, V)
    private static Block newDecoder(int vocabularySize) {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(vocabularySize)
                        .setEmbeddingSize(SIZE)
                        .optNoPositions() // the attention layers add them
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(SIZE)
                                        .setHeadCount(HEADS)
                                        // for ALiBi, AlibiBiasBlock.builder().setHeadCount(HEADS).build()
                                        .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                                .setHeadSize(SIZE / HEADS)
                                                .build())
                                        .optCausal(true)
                                        .optWindow(LENGTH) // larger distances than in training make the text decay
                                        .build())
                                .optNormPlacement(NormPlacement.BEFORE_PART))
                .optOutputSize(vocabularySize)
                .build();
    }

    public static void main(String[] args) throws Exception {
        // %% [check] Real text: Hamlet, without the tags of its XML
        // > String[] args = {};
        String resource = "org/exist/samples/shakespeare/hamlet.xml";
        String text;
        try (InputStream in = Thread.currentThread().getContextClassLoader().getResourceAsStream(resource)) {
            String xml = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            text = xml.substring(xml.indexOf("<ACT>"))
                    .replaceAll("<[^>]*>", "")
                    .replaceAll("[ \t]+", " ")
                    .replaceAll("\\s*\n\\s*", "\n");
        }
        String characters =
                text.chars().distinct().sorted().mapToObj(Character::toString).collect(Collectors.joining());
        System.out.println(text.length() + " characters, " + characters.length() + " different ones");

        // %% [check] The text to continue
        String prompt = args.length > 0 ? args[0] : "HAMLET\nTo be, or not to be";
        long[] promptIds =
                prompt.chars().mapToLong(characters::indexOf).toArray(); // the id of a character is its index
        if (promptIds.length == 0 || Arrays.stream(promptIds).anyMatch(id -> id < 0)) {
            System.err.println(
                    "error: '" + prompt + "' is empty or has characters that do not occur in Hamlet: expected some of "
                            + characters.strip() + "; pass another text");
            System.exit(1);
        }

        // %% Random parts of the text; the label of each character is the next one
        int steps = Integer.getInteger("steps", 500); // of training
        int batchSize = 32;
        int[] ids = text.chars().map(characters::indexOf).toArray();
        int[] starts = new Random(1)
                .ints((long) steps * batchSize, 0, ids.length - LENGTH)
                .toArray();
        int[][] inputs = Arrays.stream(starts)
                .mapToObj(start -> Arrays.copyOfRange(ids, start, start + LENGTH))
                .toArray(int[][]::new);
        int[][] labels = Arrays.stream(starts)
                .mapToObj(start -> Arrays.copyOfRange(ids, start + 1, start + 1 + LENGTH))
                .toArray(int[][]::new);

        // %% Train
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println("Training with " + Engine.getInstance().getEngineName() + " on " + device);
        Engine.getInstance().setRandomSeed(1);
        Model model = Model.newInstance("decoder", device);
        model.setBlock(newDecoder(characters.length()));
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.002f))
                        .build())
                .optDevices(new Device[] {device})
                .addTrainingListeners(TrainingListener.Defaults.logging()); // with a progress bar
        try (Trainer trainer = model.newTrainer(config)) {
            NDManager manager = trainer.getManager();
            trainer.setMetrics(new Metrics());
            trainer.initialize(new Shape(1, LENGTH));
            ArrayDataset dataset = new ArrayDataset.Builder()
                    .setData(manager.create(inputs)) // (N, T)
                    .optLabels(manager.create(labels).expandDims(2)) // (N, T, 1)
                    .setSampling(batchSize, true)
                    .build();
            EasyTrain.fit(trainer, 1, dataset, null);
        }

        // %% Continue the text: each step computes one character, since a cache has the keys and values of the others
        TokenGenerator generator = TokenGenerator.builder()
                .setDecoder(model.getBlock())
                .optSampling(Sampling.builder().optTemperature(0.7).optSeed(1).build())
                .build();
        System.out.print("\n" + prompt);
        long start = System.nanoTime();
        int count = generator.generate(promptIds, 400, token -> {
                    System.out.print(characters.charAt((int) token));
                    return true;
                })
                .length;
        System.out.printf("%n%n%d characters in %.1f s%n", count, (System.nanoTime() - start) / 1e9);
        model.close();
    }
}
