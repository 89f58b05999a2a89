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
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.Batchifier;
import ai.djl.translate.PaddingStackBatchifier;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TokenDataset;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.SavedBlockFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Learns to label sentences from a file with lines {@code label<TAB>sentence}, saves the model in a new folder, loads
 * it, and labels other sentences.
 */
public final class ClassifyText {

    private static final int MAX_WORDS = 100;
    private static final int SIZE = 64; // of a token's vector

    private ClassifyText() {}

    public static void main(String[] args) throws Exception {
        if (args.length < 3) {
            fail("expected FILE FOLDER SENTENCE…: FILE has lines label<TAB>sentence, and FOLDER will be created");
        }
        Path folder = Path.of(args[1]);
        Path saving = Path.of(folder + ".saving"); // gets its name when it is complete: a saved model is never half
        List<String> others = List.of(args).subList(2, args.length);
        List<String> labels = new ArrayList<>();
        List<List<String>> sentences = new ArrayList<>();
        try {
            read(Path.of(args[0]), labels, sentences);
            others.forEach(ClassifyText::words);
            if (Files.exists(folder)) {
                fail(folder + " exists: name a new folder, or delete it");
            }
            Files.createDirectories(saving);
        } catch (IOException e) {
            fail("no access to a file (" + e + "): name a text file in UTF-8, and a new folder where you may write");
        } catch (IllegalArgumentException e) {
            fail(e.getMessage());
        }

        // one sentence of ten, at random, is held out: neither its words nor its label are learned
        List<Integer> order = IntStream.range(0, sentences.size()).boxed().collect(Collectors.toList());
        Collections.shuffle(order, new Random(1));
        List<Integer> training = order.subList(0, order.size() - (order.size() + 9) / 10);
        List<Integer> heldOut = order.subList(training.size(), order.size());

        // classes, and the token ids of each sentence
        List<String> classes = labels.stream().distinct().sorted().toList();
        Vocabulary vocabulary = DefaultVocabulary.builder()
                .add(List.of("<pad>")) // id 0
                .addAll(training.stream().map(sentences::get).toList())
                .optReservedTokens(List.of("<pad>"))
                .optMaxTokens(5000)
                .optUnknownToken()
                .build();
        long[][] ids = sentences.stream().map(words -> ids(vocabulary, words)).toArray(long[][]::new);
        int[] classOf = labels.stream().mapToInt(classes::indexOf).toArray();

        // train, and measure with the sentences that were held out
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.printf(
                "%d sentences with %d labels; %s on %s%n",
                ids.length, classes.size(), Engine.getInstance().getEngineName(), device);
        Engine.getInstance().setRandomSeed(1);
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adam()
                        .optLearningRateTracker(Tracker.fixed(0.001f))
                        .build())
                .optDevices(new Device[] {device})
                .addEvaluator(new Accuracy())
                .addTrainingListeners(TrainingListener.Defaults.logging()); // with a progress bar
        try (Model model = Model.newInstance("classifier", device)) {
            model.setBlock(newClassifier((int) vocabulary.size(), classes.size()));
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.setMetrics(new Metrics());
                trainer.initialize(new Shape(1, 1));
                EasyTrain.fit(trainer, 3, dataset(training, ids, classOf), dataset(heldOut, ids, classOf));
                System.out.printf(
                        "%nAccuracy %.4f for %d held-out sentences%n",
                        trainer.getTrainingResult().getValidateEvaluation("Accuracy"), heldOut.size());
            }
            model.save(saving, "classifier");
            SavedBlockFactory.describe(model.getBlock(), saving); // so that loading needs no code of the classifier
        }
        Files.write(saving.resolve("classes.txt"), classes);
        Files.write(
                saving.resolve("vocabulary.txt"),
                LongStream.range(0, vocabulary.size())
                        .mapToObj(vocabulary::getToken)
                        .toList());
        Files.move(saving, folder, StandardCopyOption.ATOMIC_MOVE);

        // load, and label the sentences of the command line
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder)
                .optModelName("classifier")
                .optTranslator(new LabelTranslator())
                .optDevice(device)
                .build();
        try (ZooModel<String, Classifications> model = criteria.loadModel();
                Predictor<String, Classifications> predictor = model.newPredictor()) {
            List<Classifications> found = predictor.batchPredict(others);
            for (int i = 0; i < others.size(); i++) {
                System.out.println(found.get(i).best() + "  " + others.get(i));
            }
        }
    }

    /** Batches of sentences of similar lengths, with 0 at the end of the shorter ones. */
    private static TokenDataset dataset(List<Integer> rows, long[][] ids, int[] classOf) {
        return TokenDataset.builder()
                .setTokens(rows.stream().map(row -> ids[row]).toArray(long[][]::new))
                .setLabels(rows.stream().mapToInt(row -> classOf[row]).toArray())
                .setBatchSize(64)
                .build();
    }

    private static void fail(String message) {
        System.err.println("error: " + message);
        System.exit(1);
    }

    /** Reads a file with lines {@code label<TAB>sentence}. */
    private static void read(Path file, List<String> labels, List<List<String>> sentences) throws IOException {
        for (String line : Files.readAllLines(file)) {
            int tab = line.indexOf('\t');
            if (tab < 1) {
                throw new IllegalArgumentException("line " + (labels.size() + 1) + " of " + file + " is '" + line
                        + "': expected label<TAB>sentence");
            }
            labels.add(line.substring(0, tab));
            sentences.add(words(line.substring(tab + 1)));
        }
        if (Set.copyOf(labels).size() < 2) {
            throw new IllegalArgumentException(
                    file + " has the labels " + Set.copyOf(labels) + ": expected at least two; add lines with others");
        }
        Map<String, Integer> counts = new TreeMap<>();
        labels.forEach(label -> counts.merge(label, 1, Integer::sum));
        counts.forEach((label, count) -> {
            if (count < 2) {
                throw new IllegalArgumentException(file + " has one line with the label '" + label
                        + "': expected two or more; add one, or remove it");
            }
        });
    }

    private static List<String> words(String sentence) {
        List<String> words = Arrays.stream(sentence.toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+"))
                .filter(word -> !word.isEmpty())
                .toList();
        if (words.isEmpty() || words.size() > MAX_WORDS) {
            throw new IllegalArgumentException("'" + sentence + "' has " + words.size() + " words: expected 1 to "
                    + MAX_WORDS + ", the positions of the model; change it, or set MAX_WORDS");
        }
        return words;
    }

    private static long[] ids(Vocabulary vocabulary, List<String> words) {
        return words.stream().mapToLong(vocabulary::getIndex).toArray();
    }

    /** Ids (B, T), with padding, to scores (B, classes). */
    private static Block newClassifier(int tokens, int classes) {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(tokens)
                        .setEmbeddingSize(SIZE)
                        .optMaxSequenceLength(MAX_WORDS)
                        .optPaddingIndex(0) // hidden from the attentions and the mean
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(SIZE)
                                .setHeadCount(4)
                                .optDropoutRate(0.1f))
                .optPooling(Pooling.MEAN)
                .optOutputSize(classes)
                .build();
    }

    /** Labels a sentence with a saved model. */
    private static final class LabelTranslator implements Translator<String, Classifications> {

        private List<String> classes;
        private Vocabulary vocabulary;

        @Override
        public void prepare(TranslatorContext context) throws IOException {
            Path folder = context.getModel().getModelPath();
            classes = Files.readAllLines(folder.resolve("classes.txt"));
            vocabulary = DefaultVocabulary.builder()
                    .addFromTextFile(folder.resolve("vocabulary.txt"))
                    .optUnknownToken()
                    .build();
        }

        @Override
        public NDList processInput(TranslatorContext context, String sentence) {
            return new NDList(context.getNDManager().create(ids(vocabulary, words(sentence))));
        }

        @Override
        public Classifications processOutput(TranslatorContext context, NDList scores) {
            return new Classifications(classes, scores.singletonOrThrow().softmax(0));
        }

        /** Pads the sentences of a batch with 0. */
        @Override
        public Batchifier getBatchifier() {
            return PaddingStackBatchifier.builder()
                    .addPad(0, 0, manager -> manager.zeros(new Shape(1), DataType.INT64))
                    .build();
        }
    }
}
