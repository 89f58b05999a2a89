package io.github.djlpositional.examples.sentences;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.huggingface.translator.TextClassificationTranslator;
import ai.djl.inference.Predictor;
import ai.djl.metric.Metrics;
import ai.djl.modality.Classifications;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
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
import ai.djl.training.tracker.WarmUpTracker;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Fine-tunes the published sentence encoder all-MiniLM-L6-v2 for two classes: whether a definition in WordNet belongs
 * to a noun or to a verb.
 */
public final class FineTune {

    private static final List<String> CLASSES = List.of("noun", "verb");
    private static final int LAYERS = 6;
    private static final int MAX_TOKENS = 24; // of a sentence; the rest is cut off
    private static final int BATCH_SIZE = 16;

    private FineTune() {}

    // %% The encoder that config.json describes, with an output layer: ids (B, T) and a mask (B, T) to scores (B, 2)
    static TransformerStackBlock newClassifier(HuggingFaceConfig config) {
        return config.stack()
                .setLayers(IntStream.range(0, LAYERS)
                        .mapToObj(i -> config.layer(i).optDropoutRate(0.1f).build()) // in training only
                        .toList())
                .optPooling(Pooling.MEAN) // of a sentence's tokens
                .optOutputSize(CLASSES.size())
                .build();
    }

    // %% Sentences to token ids and masks (N, T), the shorter ones padded
    private static HuggingFaceTokenizer newTokenizer(Path folder) throws IOException {
        return HuggingFaceTokenizer.builder()
                .optTokenizerPath(folder.resolve("tokenizer.json"))
                .optPadding(true) // to the longest sentence
                .optMaxLength(MAX_TOKENS)
                .build();
    }

    private static ArrayDataset dataset(NDManager manager, HuggingFaceTokenizer tokenizer, List<String[]> rows) {
        Encoding[] tokens =
                tokenizer.batchEncode(rows.stream().map(row -> row[1]).toList());
        NDList inputs = Encoding.toNDList(tokens, manager, false, false);
        int[] labels = rows.stream().mapToInt(row -> CLASSES.indexOf(row[0])).toArray();
        return new ArrayDataset.Builder()
                .setData(inputs.get(0), inputs.get(1))
                .optLabels(manager.create(labels)) // (N)
                .setSampling(BATCH_SIZE, true)
                .build();
    }

    public static void main(String[] args) throws Exception {
        // %% The folder to save to, and the published model: a folder from Hugging Face, or a Maven artifact
        // > String[] args = {};
        Path saved = Path.of(args.length > 0 ? args[0] : "fine-tuned");
        Path published = Path.of(args.length > 1 ? args[1] : "all-MiniLM-L6-v2");
        Path saving = saved.resolve("saving");
        try {
            Files.createDirectories(saving);
            if (args.length < 2 && !Files.exists(published.resolve("model.safetensors"))) {
                MiniLmArtifact.unpack(published);
            }
        } catch (IOException e) {
            fail("folders '" + saved + "' and '" + published + "' cannot be written (" + e + "): name others");
        }
        for (String file : List.of("model.safetensors", "config.json", "tokenizer.json")) {
            if (!Files.isRegularFile(published.resolve(file))) {
                fail("folder '" + published + "' has no file " + file + ": download it from"
                        + " https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, or name only a folder to"
                        + " save to");
            }
        }

        // %% Labels and sentences: definitions in WordNet 3.1, as many of each class. Yours go here
        int steps = Integer.getInteger("steps", 200); // of each training
        int heldOut = Math.min(500, steps * BATCH_SIZE); // sentences that are not learned
        Random random = new Random(1);
        List<String[]> rows = new ArrayList<>();
        for (String label : CLASSES) {
            String resource = "net/sf/extjwnl/data/wordnet/wn31/data." + label;
            try (InputStream in = Thread.currentThread().getContextClassLoader().getResourceAsStream(resource)) {
                List<String> sentences = new ArrayList<>(new String(in.readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        .filter(line -> !line.startsWith(" ")) // the license
                        .map(line -> line.substring(line.indexOf("| ") + 2).split("[;\"]", 2)[0])
                        .distinct()
                        .toList());
                Collections.shuffle(sentences, random);
                sentences.stream()
                        .limit((heldOut + steps * BATCH_SIZE) / 2)
                        .forEach(sentence -> rows.add(new String[] {label, sentence}));
            }
        }
        Collections.shuffle(rows, random);

        // %% The published weights, and random ones of the output layer
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println("Fine-tuning with " + Engine.getInstance().getEngineName() + " on " + device);
        Engine.getInstance().setRandomSeed(1);
        Model model = Model.newInstance("classifier", device);
        Shape shape = new Shape(1, MAX_TOKENS); // of ids, and of a mask
        TransformerStackBlock classifier = null;
        try {
            HuggingFaceConfig config = HuggingFaceConfig.read(published);
            classifier = newClassifier(config);
            classifier.initialize(model.getNDManager(), DataType.FLOAT32, shape, shape);
            WeightLoader.of(WeightFile.open(published.resolve("model.safetensors")))
                    .module("", classifier, config.tensorNames())
                    .allowMissing("*output_*")
                    .allowUnused("embeddings.position_ids", "pooler.*")
                    .load(classifier);
        } catch (IllegalArgumentException | MalformedModelException e) {
            fail("folder '" + published + "': " + e.getMessage());
        }
        model.setBlock(classifier);

        // %% Train the output layer, then also the last two layers, which gradients of random weights would damage
        HuggingFaceTokenizer tokenizer = newTokenizer(published);
        List<String> results = new ArrayList<>();
        for (int tunedLayers : new int[] {0, 2}) {
            Tracker learningRate = Tracker.warmUp()
                    .setMainTracker(Tracker.cosine()
                            .setBaseValue(tunedLayers == 0 ? 0.01f : 3e-4f)
                            .optFinalValue(0)
                            .setMaxUpdates(steps)
                            .build())
                    .optWarmUpSteps(steps / 10)
                    .optWarmUpMode(WarmUpTracker.Mode.LINEAR)
                    .build();
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .optOptimizer(Optimizer.adam()
                            .optLearningRateTracker(learningRate)
                            .build())
                    .optDevices(new Device[] {device})
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.logging()); // with a progress bar
            try (Trainer trainer = model.newTrainer(config)) {
                // after newTrainer, and before initialize
                classifier.freezeParameters(true);
                classifier
                        .getLayers()
                        .subList(LAYERS - tunedLayers, LAYERS)
                        .forEach(layer -> layer.freezeParameters(false));
                classifier.getOutput().freezeParameters(false);
                trainer.initialize(shape, shape);
                trainer.setMetrics(new Metrics());
                NDManager manager = trainer.getManager();
                EasyTrain.fit(
                        trainer,
                        1, // epoch
                        dataset(manager, tokenizer, rows.subList(heldOut, rows.size())),
                        dataset(manager, tokenizer, rows.subList(0, heldOut)));
                float accuracy = trainer.getTrainingResult().getValidateEvaluation("Accuracy");
                results.add(String.format("%.3f  with %d layers tuned", accuracy, tunedLayers));
            }
        }
        tokenizer.close();
        System.out.println("\nHeld-out accuracy\n0.500  by chance\n" + String.join("\n", results));

        // %% Save, and move the files to their folder when they are complete, so that a saved model is never half
        model.setProperty("Epoch", "0"); // the number in the file's name
        model.save(saving, "classifier");
        model.close();
        Files.copy(published.resolve("tokenizer.json"), saving.resolve("tokenizer.json"), REPLACE_EXISTING);
        String configuration = Files.readString(published.resolve("config.json"));
        JsonObject described = JsonParser.parseString(configuration).getAsJsonObject();
        JsonObject labels = new JsonObject(); // as in Hugging Face's configurations
        CLASSES.forEach(name -> labels.addProperty("" + CLASSES.indexOf(name), name));
        described.add("id2label", labels);
        Files.writeString(saving.resolve("config.json"), described.toString());
        for (String file : List.of("config.json", "tokenizer.json", "classifier-0000.params")) {
            Files.move(saving.resolve(file), saved.resolve(file), ATOMIC_MOVE);
        }
        Files.delete(saving);
        System.out.println("\nSaved in the folder " + saved);

        // %% Load, and classify three other sentences
        HuggingFaceTokenizer loadedTokenizer = newTokenizer(saved);
        Criteria<String, Classifications> criteria = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(saved)
                .optModelName("classifier")
                .optBlock(newClassifier(HuggingFaceConfig.read(saved)))
                .optTranslator(
                        TextClassificationTranslator.builder(loadedTokenizer).build())
                .optDevice(device)
                .build();
        try (ZooModel<String, Classifications> loaded = criteria.loadModel();
                Predictor<String, Classifications> predictor = loaded.newPredictor()) {
            for (String sentence :
                    List.of("a small animal with long ears", "walk slowly and quietly", "the sound of rain")) {
                System.out.println(predictor.predict(sentence).best() + "  " + sentence);
            }
        }
        loadedTokenizer.close();
    }

    private static void fail(String message) {
        System.err.println("error: " + message);
        System.exit(1);
    }
}
