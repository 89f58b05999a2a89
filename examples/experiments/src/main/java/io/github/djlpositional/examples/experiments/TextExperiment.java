package io.github.djlpositional.examples.experiments;

import ai.djl.Model;
import ai.djl.modality.nlp.DefaultVocabulary;
import ai.djl.modality.nlp.Vocabulary;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.Dataset;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Which character comes next? A causal language model learns two tragedies by Shakespeare in short windows; its loss is
 * measured by the position in windows of a third one that are four times as long.
 */
final class TextExperiment implements Experiment {

    private static final Pattern LINE = Pattern.compile("<(SPEAKER|LINE|STAGEDIR)>(.*?)</\\1>", Pattern.DOTALL);

    private static final int BATCH = 32;

    /** The number of positions whose losses are averaged. */
    private static final int RANGE = 32;

    /** The number of windows whose attention is measured, and of characters from one to the next. */
    private static final int OBSERVED = 256;

    private static final Encoding.Sizes SIZES = new Encoding.Sizes(64, 4, 64, 256, true);
    private static final int LENGTH = SIZES.longest();

    private final int batches;
    private final int tokens;
    private final int[] learned;
    private final int[] heldOut;

    /** The number of characters from a window that is measured to the next. */
    private final int distance;

    /** The rows of the tables, by the kind. */
    private final Map<Encoding, List<List<?>>> biases = new LinkedHashMap<>();

    private final Map<Encoding, List<List<?>>> attention = new LinkedHashMap<>();

    TextExperiment(int windows, boolean quick) throws IOException {
        batches = (windows + BATCH - 1) / BATCH;
        List<String> plays = characters(play("hamlet") + play("r_and_j"));
        Vocabulary vocabulary =
                DefaultVocabulary.builder().add(plays).optUnknownToken().build();
        tokens = Math.toIntExact(vocabulary.size());
        learned = ids(vocabulary, plays);
        heldOut = ids(vocabulary, characters(play("macbeth")));
        distance = quick ? heldOut.length / 2 - LENGTH : LENGTH / 2;
    }

    /**
     * Reads the speeches and the stage directions of a play: a line for each verse, and an empty one before each
     * speaker. The text was placed in the public domain by Moby Lexical Tools in 1992; its XML, by Jon Bosak, may be
     * distributed freely.
     */
    private static String play(String file) throws IOException {
        String xml;
        try (InputStream in =
                TextExperiment.class.getResourceAsStream("/org/exist/samples/shakespeare/" + file + ".xml")) {
            xml = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        return LINE.matcher(xml)
                .results()
                // a verse may contain a stage direction
                .map(line -> (line.group(1).equals("SPEAKER") ? "\n" : "")
                        + line.group(2)
                                .replaceAll("\\s+", " ")
                                .replaceAll("<[^>]*>", "")
                                .strip())
                .map(line -> line.replace("&amp;", "&") + "\n")
                .collect(Collectors.joining());
    }

    /** Returns the characters, and an empty one that marks the end of the text. */
    private static List<String> characters(String text) {
        return List.of(text.split("", -1));
    }

    private static int[] ids(Vocabulary vocabulary, List<String> characters) {
        return characters.stream()
                .mapToInt(character -> (int) vocabulary.getIndex(character))
                .toArray();
    }

    /** Returns windows of a text (B, T) with the characters that follow each of theirs (B, T, 1). */
    static ArrayDataset windows(NDManager manager, int[] ids, int length, int batchSize, int... starts) {
        return new ArrayDataset.Builder()
                .setData(windows(manager, ids, length, starts))
                // DJL's loss finds a score by a label of as many dimensions
                .optLabels(windows(
                                manager,
                                ids,
                                length,
                                IntStream.of(starts).map(start -> start + 1).toArray())
                        .expandDims(2))
                .setSampling(batchSize, false)
                .build();
    }

    private static NDArray windows(NDManager manager, int[] ids, int length, int... starts) {
        int[] windows = IntStream.of(starts)
                .flatMap(start -> Arrays.stream(ids, start, start + length))
                .toArray();
        return manager.create(windows, new Shape(starts.length, length));
    }

    /** Returns the starts of windows at equal distances. */
    private int[] startsEvery(int step, int length) {
        return IntStream.iterate(0, start -> start + length < heldOut.length, start -> start + step)
                .toArray();
    }

    @Override
    public Description description() {
        String examples = String.format(
                Locale.ROOT,
                "%,d windows of %d characters to learn from, windows of %d of another play held out",
                batches * BATCH,
                SIZES.trained(),
                LENGTH);
        String title = "Trained on " + SIZES.trained() + " characters, tested on " + LENGTH + " of another text";
        return new Description(examples, title, "loss", "characters", batches, 0.003f, new Shape(1, SIZES.trained()));
    }

    @Override
    public Dataset training(int seed, NDManager manager) {
        int[] starts = new Random(seed)
                .ints((long) batches * BATCH, 0, learned.length - SIZES.trained())
                .toArray();
        return windows(manager, learned, SIZES.trained(), BATCH, starts);
    }

    @Override
    public TransformerStackBlock block(Encoding encoding) {
        return languageModel(encoding, tokens);
    }

    /** Builds a causal language model, token ids (B, T) to scores (B, T, tokens). */
    static TransformerStackBlock languageModel(Encoding encoding, int tokens) {
        return TransformerStackBlock.builder()
                .optInput(encoding.input(InputEmbeddingBlock.builder().setVocabularySize(tokens), SIZES))
                .setLayers(2, () -> encoding.layer(SIZES).optNormPlacement(NormPlacement.BEFORE_PART))
                .optOutputSize(tokens)
                .build();
    }

    @Override
    public List<Encoding> variants(Encoding trained) {
        return trained == Encoding.ROTARY
                ? List.of(
                        trained,
                        Encoding.ROTARY_LINEAR,
                        Encoding.ROTARY_NTK,
                        Encoding.ROTARY_YARN,
                        Encoding.ROTARY_WINDOW)
                : List.of(trained);
    }

    @Override
    public Map<String, Double> measure(Model trained, Encoding as) throws IOException, TranslateException {
        TransformerStackBlock block = (TransformerStackBlock) trained.getBlock();
        NDManager manager = trained.getNDManager();
        if (as.tasks().isEmpty()) {
            block = withWeightsOf(block, as, manager);
        } else if (!biases.containsKey(as)) {
            biases.put(as, biases(as, block, manager));
        }
        if (as == Encoding.ROTARY && attention.isEmpty()) {
            attention.put(as, attention(as, block, manager));
            TransformerStackBlock withoutPositions = withWeightsOf(block, Encoding.NONE, manager);
            attention.put(Encoding.NONE, attention(Encoding.NONE, withoutPositions, manager));
        }
        try (NDManager arrays = manager.newSubManager()) {
            return losses(block, windows(arrays, heldOut, LENGTH, BATCH / 2, startsEvery(distance, LENGTH)), arrays);
        }
    }

    private TransformerStackBlock withWeightsOf(Block trained, Encoding encoding, NDManager manager) {
        TransformerStackBlock block = languageModel(encoding, tokens);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, LENGTH));
        Experiment.copyParameters(trained, block);
        return block;
    }

    /** Returns the mean losses of the tokens, by the number of tokens before them. */
    private static Map<String, Double> losses(Block model, Dataset windows, NDManager manager)
            throws IOException, TranslateException {
        double[] sums = new double[LENGTH];
        int[] count = {0};
        Evaluation.forEachBatch(manager, model, windows, (batch, scores) -> {
            float[] losses = scores.logSoftmax(-1)
                    .get(new NDIndex().addAllDim(2).addPickDim(batch.getLabels().head()))
                    .neg()
                    .reshape(-1, LENGTH)
                    .sum(new int[] {0})
                    .toFloatArray();
            Arrays.setAll(sums, i -> sums[i] + losses[i]);
            count[0] += batch.getSize();
        });
        Map<String, Double> means = new LinkedHashMap<>();
        for (int from = 0; from < LENGTH; from += RANGE) {
            double sum = Arrays.stream(sums, from, from + RANGE).sum();
            means.put(from + 1 + "-" + (from + RANGE), sum / RANGE / count[0]);
        }
        return means;
    }

    @Override
    public void saveMore(Path folder) throws IOException {
        Comparison.save(folder.resolve("biases.csv"), rows(biases));
        Comparison.save(folder.resolve("attention.csv"), rows(attention));
    }

    private static List<List<?>> rows(Map<Encoding, List<List<?>>> tables) {
        return tables.values().stream().flatMap(List::stream).toList();
    }

    /**
     * Returns what the learned part of the positions of a model adds to the scores of the last query, whatever the
     * words: a row for each head, with the kind, the layer, the head, and the biases of the keys at the distances 0, 1,
     * 2, ….
     */
    private static List<List<?>> biases(Encoding encoding, TransformerStackBlock trained, NDManager parent) {
        List<List<?>> rows = new ArrayList<>();
        try (NDManager manager = parent.newSubManager()) {
            NDArray noWords = manager.zeros(new Shape(1, SIZES.heads(), LENGTH, SIZES.headSize()));
            for (int layer = 0; layer < trained.getLayers().size(); layer++) {
                List<RelativeEncoding> positions =
                        trained.getLayers().get(layer).getAttention().getRelativeEncodings();
                if (positions.isEmpty() || positions.get(0).getParameters().isEmpty()) {
                    return List.of();
                }
                NDArray scores = positions
                        .get(0)
                        .forward(new ParameterStore(manager, false), new NDList(noWords, noWords), false)
                        .head();
                for (int head = 0; head < SIZES.heads(); head++) {
                    float[] row = scores.get("0, {}, {}", head, LENGTH - 1).toFloatArray();
                    DoubleStream byDistance =
                            IntStream.range(0, LENGTH).mapToDouble(distance -> row[LENGTH - 1 - distance]);
                    rows.add(row("%.3f", byDistance, encoding, layer + 1, head + 1));
                }
            }
        }
        return rows;
    }

    private static List<?> row(String format, DoubleStream numbers, Object... name) {
        return Stream.concat(Stream.of(name), numbers.mapToObj(number -> String.format(Locale.ROOT, format, number)))
                .toList();
    }

    /**
     * Returns how much the second half of the characters of held-out windows attend to those before them. For each head
     * there are three rows: the kind, the layer, the head, {@code mean}, {@code 10 %} or {@code 90 %}, and the mean or
     * the quantile over the characters of the weights at the distances 0, 1, 2, ….
     */
    private List<List<?>> attention(Encoding encoding, TransformerStackBlock stack, NDManager parent) {
        List<List<?>> rows = new ArrayList<>();
        int[] starts = startsEvery(OBSERVED, SIZES.trained());
        try (NDManager manager = parent.newSubManager()) {
            ArrayDataset windows = windows(manager, heldOut, SIZES.trained(), OBSERVED, starts);
            ParameterStore store = new ParameterStore(manager, false);
            NDList ids = windows.getByRange(manager, 0, Math.min(OBSERVED, starts.length))
                    .getData();
            NDList x = stack.getInput().forward(store, ids, false);
            for (int layer = 0; layer < stack.getLayers().size(); layer++) {
                TransformerLayerBlock block = stack.getLayers().get(layer);
                NDArray weights = block.getAttention()
                        .probabilities(store, block.getAttentionNorm().forward(store, x, false));
                for (int head = 0; head < SIZES.heads(); head++) {
                    double[][] sorted = byDistance(weights.get(":, {}", head).toFloatArray());
                    Map<String, ToDoubleFunction<double[]>> statistics = new LinkedHashMap<>();
                    statistics.put("mean", each -> DoubleStream.of(each).sum() / each.length);
                    statistics.put("10 %", each -> each[each.length / 10]);
                    statistics.put("90 %", each -> each[each.length * 9 / 10]);
                    for (Map.Entry<String, ToDoubleFunction<double[]>> statistic : statistics.entrySet()) {
                        DoubleStream byDistance = Arrays.stream(sorted).mapToDouble(statistic.getValue());
                        rows.add(row("%.5f", byDistance, encoding, layer + 1, head + 1, statistic.getKey()));
                    }
                }
                x = block.forward(store, x, false);
            }
        }
        return rows;
    }

    /** Returns the sorted weights at each distance, of all windows and queries, from weights (B, T, T). */
    private static double[][] byDistance(float... weights) {
        int length = SIZES.trained();
        int half = length / 2;
        return IntStream.rangeClosed(0, half)
                .mapToObj(distance -> IntStream.range(0, weights.length / length)
                        .filter(row -> row % length >= half)
                        .mapToDouble(row -> weights[row * length + row % length - distance])
                        .sorted()
                        .toArray())
                .toArray(double[][]::new);
    }
}
