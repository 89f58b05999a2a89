// %maven io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
// %maven io.github.djlpositional:djl-positional-models:0.1.0-SNAPSHOT
// %maven ai.djl.pytorch:pytorch-engine:0.36.0
// %maven ai.djl.pytorch:pytorch-jni:2.7.1-0.36.0
// %maven ai.djl.pytorch:pytorch-native-cpu:jar:linux-x86_64:2.7.1

package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.translator.TextEmbeddingTranslatorFactory;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.huggingface.HuggingFaceBlockFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Loads the published sentence encoder all-MiniLM-L6-v2, and compares three sentences by meaning. */
public final class LoadSentenceEncoder {

    private LoadSentenceEncoder() {}

    public static void main(String[] args) throws Exception {
        // %% The published model: a folder from Hugging Face, or a Maven artifact, which has the weights as ONNX
        // > import io.github.djlpositional.examples.sentences.MiniLmArtifact;
        // > String[] args = {};
        Path folder = Path.of(args.length > 0 ? args[0] : "all-MiniLM-L6-v2");
        if (args.length == 0 && !Files.exists(folder.resolve("config.json"))) {
            try {
                MiniLmArtifact.unpack(folder);
            } catch (IOException e) {
                fail("folder '" + folder + "' cannot be written (" + e + "): name a folder that has the model");
            }
        }
        for (String file : List.of("config.json", "model.safetensors", "tokenizer.json")) {
            if (!Files.isRegularFile(folder.resolve(file))) {
                fail("folder '" + folder + "' has no file " + file + ": download it from"
                        + " https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, or name no folder");
            }
        }

        // %% The model: a sentence to a vector, the mean of the vectors of its tokens
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println(Engine.getInstance().getEngineName() + " on " + device);
        Criteria<String, float[]> criteria = HuggingFaceBlockFactory.criteria(String.class, float[].class, folder)
                .optTranslatorFactory(new TextEmbeddingTranslatorFactory()) // reads tokenizer.json
                .optArgument("normalize", "false") // which MXNet cannot
                .optDevice(device)
                .build();

        // %% [check] Three sentences, and the similarities of their meanings: the cosines of the angles between vectors
        List<String> sentences = List.of("a large cat", "any big feline animal", "the price of oil rose today");
        try (ZooModel<String, float[]> model = criteria.loadModel();
                Predictor<String, float[]> predictor = model.newPredictor()) {
            List<float[]> vectors = predictor.batchPredict(sentences);
            for (int i = 0; i < sentences.size(); i++) {
                for (int j = i + 1; j < sentences.size(); j++) {
                    float[] x = vectors.get(i);
                    float[] y = vectors.get(j);
                    double similarity = product(x, y) / Math.sqrt(product(x, x) * product(y, y));
                    System.out.printf("%7.4f  %s | %s%n", similarity, sentences.get(i), sentences.get(j));
                }
            }
        } catch (IllegalArgumentException | IOException e) {
            fail("folder '" + folder + "': " + e.getMessage());
        }
    }

    private static double product(float[] x, float[] y) {
        double sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += (double) x[i] * y[i];
        }
        return sum;
    }

    private static void fail(String message) {
        System.err.println("error: " + message);
        System.exit(1);
    }
}
