package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The options that say how large an encoder is and how it is trained. */
final class TrainingOptions {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = "--epochs",
            paramLabel = "N",
            defaultValue = "3",
            description = "How often every sentence is seen (default: ${DEFAULT-VALUE}).")
    private int epochs;

    @Option(
            names = "--vocabulary",
            paramLabel = "N",
            defaultValue = "2500",
            description = "The number of token ids (default: ${DEFAULT-VALUE}).")
    private int vocabularySize;

    @Option(
            names = "--size",
            paramLabel = "N",
            defaultValue = "64",
            description = "The embedding size dModel (default: ${DEFAULT-VALUE}).")
    private int size;

    @Option(
            names = "--layers",
            paramLabel = "N",
            defaultValue = "3",
            description = "The number of encoder layers (default: ${DEFAULT-VALUE}).")
    private int layers;

    @Option(
            names = "--heads",
            paramLabel = "N",
            defaultValue = "4",
            description = "The number of attention heads (default: ${DEFAULT-VALUE}).")
    private int heads;

    @Option(
            names = "--feed-forward",
            paramLabel = "N",
            defaultValue = "256",
            description = "The width of the feed-forward network (default: ${DEFAULT-VALUE}).")
    private int feedForwardSize;

    @Option(
            names = "--dropout",
            paramLabel = "RATE",
            defaultValue = "0",
            description = "The part that is dropped in training, from 0 to below 1 (default: ${DEFAULT-VALUE}).")
    private float dropoutRate;

    @Option(
            names = "--batch",
            paramLabel = "N",
            defaultValue = "128",
            description = "The number of examples in a batch (default: ${DEFAULT-VALUE}).")
    private int batchSize;

    @Option(
            names = "--learning-rate",
            paramLabel = "RATE",
            defaultValue = "0.002",
            description = "The highest learning rate (default: ${DEFAULT-VALUE}).")
    private float learningRate;

    /** Makes everything small. */
    void beQuick() {
        epochs = 1;
        vocabularySize = Math.min(vocabularySize, 300);
        size = 16;
        layers = 1;
        heads = 2;
        feedForwardSize = 32;
    }

    int vocabularySize() {
        return vocabularySize;
    }

    /** The sizes of an encoder. */
    EncoderSpec spec(Encoding encoding, int tokens, int maxWords) {
        EncoderSpec spec =
                new EncoderSpec(encoding, tokens, maxWords, size, layers, heads, feedForwardSize, dropoutRate);
        try {
            new TransformerEncoder(spec);
        } catch (IllegalArgumentException e) {
            throw new UserError(
                    encoding + " positions do not fit --size " + size + " and --heads " + heads + ": " + e.getMessage(),
                    e);
        }
        return spec;
    }

    /** A training with these options. */
    EncoderTraining training(Engine engine, Device device, int seed) {
        return new EncoderTraining(engine, device, seed, epochs, learningRate);
    }

    /** The sentences as examples. */
    WordOrderDataset dataset(Vocabulary vocabulary, List<List<String>> sentences, int seed, boolean newEveryEpoch) {
        List<int[]> ids = sentences.stream()
                .map(vocabulary::idsOf)
                // of unknown words alone no order can be told
                .filter(sentence -> Arrays.stream(sentence).distinct().count() >= 2)
                .toList();
        if (ids.isEmpty()) {
            throw new UserError(
                    "of " + sentences.size() + " sentences none has two different known words: choose more with"
                            + " --glosses, --held-out or --vocabulary");
        }
        return new WordOrderDataset(ids, batchSize, seed, newEveryEpoch);
    }

    /** Refuses what is out of range. */
    void require() {
        OptionChecks.requireAtLeast(command, "--epochs", epochs, 1);
        OptionChecks.requireAtLeast(command, "--vocabulary", vocabularySize, 3);
        OptionChecks.requireAtLeast(command, "--size", size, 1);
        OptionChecks.requireAtLeast(command, "--layers", layers, 1);
        OptionChecks.requireAtLeast(command, "--heads", heads, 1);
        OptionChecks.requireAtLeast(command, "--feed-forward", feedForwardSize, 1);
        OptionChecks.requireAtLeast(command, "--batch", batchSize, 1);
        // what is trained must load again
        OptionChecks.requireAtMost(command, "--vocabulary", vocabularySize, EncoderSpec.MOST_TOKENS);
        OptionChecks.requireAtMost(command, "--size", size, EncoderSpec.WIDEST);
        OptionChecks.requireAtMost(command, "--layers", layers, EncoderSpec.MOST_LAYERS);
        OptionChecks.requireAtMost(command, "--heads", heads, EncoderSpec.MOST_HEADS);
        OptionChecks.requireAtMost(command, "--feed-forward", feedForwardSize, EncoderSpec.WIDEST);
        OptionChecks.require(command, size % heads == 0, "--size " + size + " is not divisible by --heads " + heads);
        OptionChecks.require(
                command, dropoutRate >= 0 && dropoutRate < 1, "--dropout " + dropoutRate + " is outside [0, 1)");
        OptionChecks.require(
                command,
                learningRate > 0 && learningRate <= 1,
                "--learning-rate " + learningRate + " is outside (0, 1]");
    }
}
