package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import picocli.CommandLine.Option;

/** The options for the size of an encoder and for its training. */
final class TrainingOptions {

    @Option(names = "--epochs", description = "The number of passes over all sentences.")
    private int epochs = 3;

    @Option(names = "--vocabulary", description = "The number of token ids.")
    int vocabularySize = 2500;

    @Option(names = "--size", description = "The embedding size D.")
    private int size = 64;

    @Option(names = "--layers", description = "The number of encoder layers.")
    private int layers = 3;

    @Option(names = "--heads", description = "The number of attention heads.")
    private int heads = 4;

    @Option(names = "--feed-forward", description = "The width of the feed-forward network.")
    private int feedForward = 256;

    @Option(names = "--batch", description = "The number of examples in a batch. Default: 128, on a GPU 512.")
    Integer batchSize;

    @Option(names = "--learning-rate", description = "The highest learning rate. Default: 0.002, on a GPU 0.004.")
    Float learningRate;

    /** Whether a batch for training has sentences of all lengths, with padding, instead of similar ones. */
    boolean mixesLengths;

    /** Checks all options; {@link #spec} checks the sizes. */
    void check() {
        Check.positive("--epochs", epochs);
        Check.that(
                batchSize == null || (batchSize > 0 && batchSize % 2 == 0),
                () -> "--batch " + batchSize
                        + ": expected an even number, since a batch has both orders of each sentence;"
                        + " leave it out for the default");
        Check.that(
                learningRate == null || (learningRate > 0 && learningRate <= 1),
                () -> "--learning-rate " + learningRate
                        + ": expected more than 0 and at most 1; use 0.002 to begin with");
    }

    /**
     * Chooses the options of batches that were not given. On a GPU, a step takes as long as its calls, so padding costs
     * nothing. Batches of all lengths learn better, and keep the accuracy when they are larger.
     */
    void chooseFor(Device device) {
        batchSize = Objects.requireNonNullElse(batchSize, device.isGpu() ? 512 : 128);
        learningRate = Objects.requireNonNullElse(learningRate, device.isGpu() ? 0.004f : 0.002f);
        mixesLengths = device.isGpu();
    }

    EncoderSpec spec(Encoding encoding, int tokens, int maxWords) {
        return new EncoderSpec(encoding, tokens, maxWords, size, layers, heads, feedForward);
    }

    EncoderTraining training(Engine engine, Device device, int seed) {
        return new EncoderTraining(engine, device, seed, epochs, learningRate);
    }

    /** Returns the sentences as examples. */
    WordOrderDataset dataset(Vocabulary vocabulary, List<List<String>> sentences, int seed, boolean newEveryEpoch) {
        List<int[]> ids = sentences.stream()
                .map(vocabulary::idsOf)
                // a sentence of unknown words has no order
                .filter(sentence -> Arrays.stream(sentence).distinct().count() >= 2)
                .toList();
        if (ids.isEmpty()) {
            throw new UserError(
                    "none of " + sentences.size() + " sentences has two different known words: use more with --glosses,"
                            + " --held-out or --vocabulary");
        }
        return new WordOrderDataset(ids, batchSize, seed, newEveryEpoch, newEveryEpoch && mixesLengths);
    }
}
