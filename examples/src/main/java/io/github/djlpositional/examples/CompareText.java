package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.ParameterList;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.TransformerLayerBlock;
import io.github.djlpositional.attention.TransformerStackBlock;
import io.github.djlpositional.math.RotaryScaling;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Which kind of positional encoding predicts a text best, and which still works on texts that are longer than in
 * training?
 *
 * <p>Trains a small causal language model of characters with each kind on two tragedies by Shakespeare, several times
 * with different initial weights, and measures its loss by the position in windows of a third one that are four times
 * as long as in training.
 */
@Command(
        name = "compare-text",
        description = "Train a small language model with each kind of positional encoding on windows of "
                + CompareText.TRAINED_LENGTH
                + " characters of two plays, measure its loss by position in windows of another play that are four"
                + " times as long, and print, save and draw the table.")
final class CompareText extends EngineCommand {

    static final int TRAINED_LENGTH = 64;

    private static final int LENGTHENED = 4;
    private static final int LENGTH = LENGTHENED * TRAINED_LENGTH;

    /** The number of positions whose losses are averaged. */
    private static final int RANGE = 32;

    private static final int SIZE = 64;
    private static final int HEADS = 4;
    private static final int LAYERS = 2;
    private static final int FEED_FORWARD_SIZE = 256;
    private static final int MOST_CHARACTERS = 100;
    private static final int BATCH = 32;
    private static final int MEASURING_BATCH = 16;
    private static final float LEARNING_RATE = 0.003f;

    /** A model that is measured: how it was trained, and the scaling of its rotations when it is measured. */
    private record Measured(String name, String title, RotaryScaling scaling) implements Comparison.Kind {

        static List<Measured> of(Encoding encoding) {
            List<Measured> all = new ArrayList<>();
            all.add(new Measured(encoding.toString(), encoding.title(), RotaryScaling.none()));
            if (encoding.name().equals("ROTARY")) {
                all.add(new Measured("rotary_linear", "rotary, linear", RotaryScaling.linear(LENGTHENED)));
                all.add(new Measured("rotary_ntk", "rotary, NTK-aware", RotaryScaling.ntkAware(LENGTHENED)));
                all.add(new Measured("rotary_yarn", "rotary, YaRN", RotaryScaling.yarn(LENGTHENED, TRAINED_LENGTH)));
            }
            return all;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    @Option(names = "--encoding", split = ",", description = "One or more kinds, separated by commas.")
    private List<Encoding> encodings = Encoding.values().stream()
            // these differ in the token vectors
            .filter(encoding -> !Set.of(Encoding.SINUSOIDAL_UNIT, Encoding.SINUSOIDAL_SCALED)
                    .contains(encoding))
            .toList();

    @Option(names = "--steps", description = "The number of batches of " + BATCH + " windows to learn from.")
    private int steps = 1000;

    @Option(
            names = "--seeds",
            description = "The number of trainings of each kind, with different weights and windows.")
    private int seeds = 3;

    @Option(
            names = "--quick",
            description = "Use few windows, regardless of other options. This shows that everything runs; the losses"
                    + " are meaningless.")
    private boolean quick;

    @Option(names = "--out", description = "The folder for the tables and the picture.")
    private Path folder = Path.of("comparison-text");

    @Override
    protected void checkOptions() {
        Check.positive("--steps", steps);
        Check.positive("--seeds", seeds);
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        AtomicFile.prepare(folder.resolve("runs.csv"));

        List<String> learned = characters(Play.HAMLET.read() + Play.ROMEO_AND_JULIET.read());
        Vocabulary vocabulary = Vocabulary.mostFrequent(List.of(learned), MOST_CHARACTERS);
        List<String> heldOut = characters(Play.MACBETH.read());
        TextWindows measuring = TextWindows.every(
                quick ? heldOut.size() / 2 - LENGTH : LENGTH / 2, vocabulary.idsOf(heldOut), LENGTH, MEASURING_BATCH);
        int[] ids = vocabulary.idsOf(learned);
        out.printf(
                Locale.ROOT,
                "%,d characters in windows of %d to learn from, %,d others in windows of %d held out; %d token ids%n",
                learned.size() - 1,
                TRAINED_LENGTH,
                heldOut.size() - 1,
                LENGTH,
                vocabulary.size());
        List<Comparison.Run> runs = new ArrayList<>();
        StringBuilder biases = new StringBuilder();
        for (int seed = 1; seed <= seeds; seed++) {
            for (Encoding encoding : encodings) {
                EncoderTraining training = new EncoderTraining(engine, device, seed, 1, LEARNING_RATE);
                TextWindows windows = TextWindows.random(ids, TRAINED_LENGTH, BATCH, quick ? 2 : steps, seed);
                for (Comparison.Run run : run(encoding, training, vocabulary.size(), windows, measuring, biases)) {
                    out.println(run);
                    runs.add(run);
                }
                Comparison.saveRuns(folder, Comparison.Measure.LOSS, runs);
            }
            if (seed == 1) {
                byte[] table = biases.toString().getBytes(StandardCharsets.UTF_8);
                AtomicFile.write(folder.resolve("biases.csv"), file -> file.write(table));
            }
        }
        Comparison.publish(
                out,
                folder,
                Comparison.Measure.LOSS,
                "Trained on " + TRAINED_LENGTH + " characters, tested on " + LENGTH + " of another text",
                "characters",
                runs);
    }

    /** Returns the characters, and an empty one that marks the end of the text. */
    private static List<String> characters(String text) {
        return List.of(text.split("", -1));
    }

    /** Trains a model, appends its biases, and measures it: a rotary one also with each scaling. */
    private static List<Comparison.Run> run(
            Encoding encoding,
            EncoderTraining training,
            int tokens,
            TextWindows windows,
            TextWindows measuring,
            StringBuilder biases)
            throws IOException {
        try (Model model =
                Model.newInstance("text", training.device(), training.engine().getEngineName())) {
            Block trained = languageModel(encoding, RotaryScaling.none(), tokens);
            long start = System.nanoTime();
            training.train(trained, new Shape(1, TRAINED_LENGTH), windows, windows.batches(), model);
            Duration time = Duration.ofNanos(System.nanoTime() - start);
            appendBiases(encoding, trained, model.getNDManager(), biases);
            List<Comparison.Run> runs = new ArrayList<>();
            for (Measured kind : Measured.of(encoding)) {
                Block measured = trained;
                if (!kind.scaling.equals(RotaryScaling.none())) {
                    measured = languageModel(encoding, kind.scaling, tokens);
                    measured.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, LENGTH));
                    copyParameters(trained, measured);
                }
                start = System.nanoTime();
                Map<String, Double> losses = losses(measured, model.getNDManager(), measuring);
                double millis = (System.nanoTime() - start) / 1e3 / measuring.size();
                runs.add(new Comparison.Run(
                        kind, training.seed(), losses, Comparison.parametersOf(trained), time, millis));
            }
            return runs;
        }
    }

    /**
     * Appends what the learned part of the positions adds to the scores of the last query, whatever the words: a line
     * for each head, with the kind, the layer, the head, and the biases of the keys at the distances 0, 1, 2, ….
     */
    private static void appendBiases(Encoding encoding, Block trained, NDManager parent, StringBuilder biases) {
        TransformerStackBlock stack =
                (TransformerStackBlock) trained.getChildren().valueAt(0);
        for (TransformerLayerBlock layer : stack.getLayers()) {
            RelativeEncoding learned = layer.getAttention().getRelativeEncoding();
            if (learned == null || learned.getParameters().isEmpty()) {
                return;
            }
            try (NDManager manager = parent.newSubManager()) {
                NDArray noWords = manager.zeros(new Shape(1, HEADS, LENGTH, SIZE / HEADS));
                NDArray term = learned.forward(new ParameterStore(manager, false), new NDList(noWords, noWords), false)
                        .head();
                for (int head = 0; head < HEADS; head++) {
                    float[] row = term.get("0, {}, {}", head, LENGTH - 1).toFloatArray();
                    String numbers = IntStream.range(0, LENGTH)
                            .mapToObj(distance -> String.format(Locale.ROOT, ",%.3f", row[LENGTH - 1 - distance]))
                            .collect(Collectors.joining());
                    int number = stack.getLayers().indexOf(layer) + 1;
                    biases.append(encoding)
                            .append(',')
                            .append(number)
                            .append(',')
                            .append(head + 1);
                    biases.append(numbers).append('\n');
                }
            }
        }
    }

    private static void copyParameters(Block from, Block to) {
        ParameterList sources = from.getParameters();
        ParameterList targets = to.getParameters();
        for (int i = 0; i < sources.size(); i++) {
            sources.valueAt(i).getArray().copyTo(targets.valueAt(i).getArray());
        }
    }

    /** Builds a causal language model, token ids (B, T) to scores (B · T, tokens). */
    static Block languageModel(Encoding encoding, RotaryScaling scaling, int tokens) {
        return new SequentialBlock()
                .add(TransformerStackBlock.builder()
                        .optInput(encoding.input(InputEmbeddingBlock.builder().setVocabularySize(tokens), SIZE, LENGTH))
                        .setLayers(LAYERS, () -> layer(encoding, scaling))
                        .optFinalNorm(true)
                        .build())
                .add(Linear.builder().setUnits(tokens).build())
                .addSingleton(scores -> scores.reshape(-1, tokens));
    }

    private static TransformerLayerBlock.Builder layer(Encoding encoding, RotaryScaling scaling) {
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(HEADS)
                .optCausal(true);
        if (scaling.equals(RotaryScaling.none())) {
            encoding.relative(HEADS, SIZE / HEADS, TRAINED_LENGTH, LENGTH, true)
                    .ifPresent(attention::optRelativeEncoding);
        } else {
            attention.optRelativeEncoding(RotaryEmbeddingBlock.builder()
                    .setHeadSize(SIZE / HEADS)
                    .optScaling(scaling)
                    .build());
        }
        return TransformerLayerBlock.builder()
                .setAttention(attention.build())
                .setHiddenSize(FEED_FORWARD_SIZE)
                .optPreNorm(true);
    }

    /** Returns the mean losses of the tokens, by the number of tokens before them. */
    static Map<String, Double> losses(Block model, NDManager parent, TextWindows windows) {
        double[] sums = new double[LENGTH];
        try (NDManager manager = parent.newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : windows.getData(manager)) {
                try (batch) {
                    NDArray logarithms = model.forward(store, batch.getData(), false)
                            .singletonOrThrow()
                            .logSoftmax(-1);
                    NDArray labels = batch.getLabels().singletonOrThrow();
                    float[] losses = logarithms
                            .get(new NDIndex().addAllDim().addPickDim(labels))
                            .neg()
                            .reshape(-1, LENGTH)
                            .sum(new int[] {0})
                            .toFloatArray();
                    for (int i = 0; i < LENGTH; i++) {
                        sums[i] += losses[i];
                    }
                }
            }
        }
        Map<String, Double> means = new LinkedHashMap<>();
        for (int from = 0; from < LENGTH; from += RANGE) {
            double sum = 0;
            for (int i = from; i < from + RANGE; i++) {
                sum += sums[i];
            }
            means.put(from + 1 + "-" + (from + RANGE), sum / RANGE / windows.size());
        }
        return means;
    }
}
