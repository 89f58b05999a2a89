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
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;

/**
 * A small transformer encoder learns whether the words of a sentence are in order: without positions, and with them.
 */
public final class EncoderExample {

    private static final int MAX_WORDS = 16;
    private static final int VOCABULARY_SIZE = 2500;
    private static final int SIZE = 64; // of a token's vector
    private static final List<String> CLASSES = List.of("shuffled", "in order");
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+(?:['’-][\\p{L}\\p{N}]+)*");

    private EncoderExample() {}

    // %% The encoder: token ids (B, T) to a score for each class (B, 2)
    public static Block newEncoder(boolean hasPositions) {
        // For a learned table, replace PositionalEncodingBlock.builder() by
        //     LearnedPositionalEncodingBlock.builder().setMaxSequenceLength(MAX_WORDS)
        Block positions = hasPositions
                ? PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build()
                : Blocks.identityBlock();
        return new SequentialBlock()
                .add(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY_SIZE)
                        .setEmbeddingSize(SIZE)
                        .optPositionalEncoding(positions)
                        .optPaddingIndex(0) // sentences with fewer words end with zeros, which are hidden
                        .optReturnMask(true) // from the next blocks
                        .build())
                .add(newLayer())
                .add(newLayer())
                .add(PoolingBlock.builder().setPooling(Pooling.MEAN).build())
                .add(Linear.builder().setUnits(CLASSES.size()).build());
    }

    private static Block newLayer() {
        // Rotary positions or ALiBi, which encode positions in the attention, are one more line here
        //     .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(SIZE / 4).build())
        //     .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(4).build())
        // and Blocks.identityBlock() above
        return TransformerLayerBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(4)
                .optReturnMask(true)
                .build();
    }

    // %% Sentences to token ids, and scores to classes
    private static List<String> words(String text) {
        return WORD.matcher(text.toLowerCase(Locale.ROOT))
                .results()
                .map(MatchResult::group)
                .toList();
    }

    private static long[] ids(Vocabulary vocabulary, List<String> words) {
        long[] ids = words.stream().mapToLong(vocabulary::getIndex).toArray();
        return Arrays.copyOf(ids, MAX_WORDS); // the id of padding is 0
    }

    /** Judges a sentence with a model that this program has saved. */
    public static final class SentenceTranslator implements Translator<String, Classifications> {

        private Vocabulary vocabulary;

        @Override
        public void prepare(TranslatorContext context) {
            List<String> tokens =
                    List.of(context.getModel().getProperty("vocabulary").split(" "));
            vocabulary =
                    DefaultVocabulary.builder().add(tokens).optUnknownToken().build();
        }

        @Override
        public NDList processInput(TranslatorContext context, String sentence) {
            List<String> words = words(sentence);
            if (words.isEmpty() || words.size() > MAX_WORDS) {
                throw new IllegalArgumentException(words.size() + " words in '" + sentence + "': expected 1 to "
                        + MAX_WORDS + ", as in training; pass another sentence");
            }
            return new NDList(context.getNDManager().create(ids(vocabulary, words)));
        }

        @Override
        public Classifications processOutput(TranslatorContext context, NDList scores) {
            return new Classifications(CLASSES, scores.singletonOrThrow().softmax(0));
        }
    }

    // %% Each sentence is two examples: shuffled (label 0) and in order (label 1)
    private static ArrayDataset dataset(NDManager manager, Vocabulary vocabulary, List<List<String>> sentences) {
        Random random = new Random(2);
        List<long[]> ids = new ArrayList<>();
        for (List<String> sentence : sentences) {
            List<String> shuffled = new ArrayList<>(sentence);
            while (shuffled.equals(sentence)) {
                Collections.shuffle(shuffled, random);
            }
            ids.add(ids(vocabulary, shuffled));
            ids.add(ids(vocabulary, sentence));
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(ids.toArray(long[][]::new))) // (N, T)
                .optLabels(manager.create(
                        IntStream.range(0, ids.size()).map(i -> i % 2).toArray())) // (N)
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

        // %% Real sentences: the definitions in WordNet 3.1, cut after 16 words
        Set<List<String>> definitions = new LinkedHashSet<>(); // some are the same
        for (String file : List.of("noun", "verb", "adj", "adv")) {
            String resource = "net/sf/extjwnl/data/wordnet/wn31/data." + file;
            try (InputStream in = Thread.currentThread().getContextClassLoader().getResourceAsStream(resource)) {
                new String(in.readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        .filter(line -> !line.startsWith(" ")) // the licence
                        .map(line -> words(line.substring(line.indexOf("| ")).split(";", 2)[0]))
                        .map(words -> words.subList(0, Math.min(words.size(), MAX_WORDS)))
                        .filter(words -> Set.copyOf(words).size() >= 2)
                        .forEach(definitions::add);
            }
        }
        List<List<String>> sentences = new ArrayList<>(definitions);
        Collections.shuffle(sentences, new Random(1));
        List<List<String>> heldOut = sentences.subList(0, 5000);
        List<List<String>> training = sentences.subList(5000, 5000 + Integer.getInteger("sentences", 40_000));
        Vocabulary vocabulary = DefaultVocabulary.builder()
                .add(List.of("<pad>")) // id 0
                .addAll(training)
                .optReservedTokens(List.of("<pad>"))
                .optMaxTokens(VOCABULARY_SIZE)
                .optUnknownToken()
                .build();
        System.out.println(training.size() + " sentences to learn from, such as: " + String.join(" ", training.get(0)));

        // %% Train without positions, briefly, and with them
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println("Training with " + Engine.getInstance().getEngineName() + " on " + device);
        Engine.getInstance().setRandomSeed(1);
        XYChart chart =
                new XYChartBuilder().xAxisTitle("step").yAxisTitle("accuracy").build();
        List<String> results = new ArrayList<>();
        for (boolean hasPositions : new boolean[] {false, true}) {
            String name = hasPositions ? "with positions" : "without positions";
            Metrics metrics = new Metrics();
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(Tracker.fixed(0.002f))
                            .build())
                    .optDevices(new Device[] {device})
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.logging()); // with a progress bar
            try (Model model = Model.newInstance("encoder", device)) {
                model.setBlock(newEncoder(hasPositions));
                try (Trainer trainer = model.newTrainer(config)) {
                    trainer.setMetrics(metrics);
                    trainer.initialize(new Shape(1, MAX_WORDS));
                    List<List<String>> part =
                            hasPositions ? training : training.subList(0, Math.min(training.size(), 6400));
                    EasyTrain.fit(
                            trainer,
                            1, // epoch
                            dataset(trainer.getManager(), vocabulary, part),
                            dataset(trainer.getManager(), vocabulary, heldOut));
                    float accuracy = trainer.getTrainingResult().getValidateEvaluation("Accuracy");
                    results.add(String.format("%-18s %.4f", name, accuracy));
                }
                if (hasPositions) {
                    String tokens = LongStream.range(0, vocabulary.size())
                            .mapToObj(vocabulary::getToken)
                            .collect(Collectors.joining(" "));
                    model.setProperty("vocabulary", tokens);
                    model.setProperty("Epoch", "0"); // the number in the file's name
                    model.save(saving, "encoder");
                }
            }
            double[] accuracies = metrics.getMetric("train_all_Accuracy").stream()
                    .mapToDouble(step -> step.getValue().doubleValue())
                    .toArray();
            int steps = 20; // the mean of so many is drawn
            chart.addSeries(
                    name,
                    IntStream.rangeClosed(1, accuracies.length / steps)
                            .mapToDouble(i -> i * steps)
                            .toArray(),
                    IntStream.range(0, accuracies.length / steps)
                            .mapToDouble(i -> Arrays.stream(accuracies, i * steps, (i + 1) * steps)
                                    .average()
                                    .orElseThrow())
                            .toArray());
        }
        results.add(String.format("%-18s 0.5000 ± %.4f", "chance", 0.5 / Math.sqrt(2.0 * heldOut.size())));
        System.out.println("\nHeld-out accuracy\n" + String.join("\n", results));

        // %% The accuracy by step
        ChartEncoder.saveChart(chart, saving.resolve("accuracy.png").toString(), "png");
        // > org.knowm.xchart.BitmapEncoder.getBufferedImage(chart)

        // %% Move the files to their folder when they are complete, so that a saved model is never half
        for (String file : List.of("encoder-0000.params", "accuracy.png")) {
            Files.move(saving.resolve(file), folder.resolve(file), StandardCopyOption.ATOMIC_MOVE);
        }
        Files.delete(saving);
        System.out.println("\nSaved in the folder " + folder);

        // %% Load the model, and judge three sentences
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder)
                .optModelName("encoder")
                .optBlock(newEncoder(true))
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
