package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

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
    private final int[] learned;
    private final int tokens;
    private final TextWindows measuring;
    private final TextWindows observed;
    private final Map<Encoding, String> biases = new LinkedHashMap<>();
    private final Map<Encoding, String> attention = new LinkedHashMap<>();

    TextExperiment(int windows, boolean quick) throws IOException {
        batches = (windows + BATCH - 1) / BATCH;
        List<String> plays = characters(play("hamlet") + play("r_and_j"));
        List<String> heldOut = characters(play("macbeth"));
        Vocabulary vocabulary = Vocabulary.mostFrequent(List.of(plays), 100);
        tokens = vocabulary.size();
        learned = vocabulary.idsOf(plays);
        observed = TextWindows.every(OBSERVED, vocabulary.idsOf(heldOut), SIZES.trained(), OBSERVED);
        measuring = TextWindows.every(
                quick ? heldOut.size() / 2 - LENGTH : LENGTH / 2, vocabulary.idsOf(heldOut), LENGTH, BATCH / 2);
    }

    /**
     * Reads the speeches and the stage directions of a play: a line for each verse, and an empty one before each
     * speaker. The text was placed in the public domain by Moby Lexical Tools in 1992; its XML, by Jon Bosak, may be
     * distributed freely.
     */
    private static String play(String file) throws IOException {
        byte[] xml = new Resource("/org/exist/samples/shakespeare/" + file + ".xml", "org.exist-db:exist-samples:6.2.0")
                .read();
        return LINE.matcher(new String(xml, StandardCharsets.UTF_8))
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

    @Override
    public Description description() {
        String examples = String.format(
                Locale.ROOT,
                "%,d windows of %d characters to learn from, windows of %d of another play held out",
                batches * BATCH,
                SIZES.trained(),
                LENGTH);
        String title = "Trained on " + SIZES.trained() + " characters, tested on " + LENGTH + " of another text";
        return new Description(examples, title, "loss", "characters", 0.003f, new Shape(1, SIZES.trained()));
    }

    @Override
    public Minibatches training(int seed) {
        return TextWindows.random(learned, SIZES.trained(), BATCH, batches, seed);
    }

    @Override
    public Block block(Encoding encoding) {
        return languageModel(encoding, tokens);
    }

    /** Builds a causal language model, token ids (B, T) to scores (B · T, tokens). */
    static Block languageModel(Encoding encoding, int tokens) {
        return new SequentialBlock()
                .add(TransformerStackBlock.builder()
                        .optInput(encoding.input(InputEmbeddingBlock.builder().setVocabularySize(tokens), SIZES))
                        .setLayers(
                                2,
                                () -> TransformerLayerBlock.builder()
                                        .setAttention(encoding.attention(SIZES).build())
                                        .setFeedForward(FeedForwardBlock.builder()
                                                .setEmbeddingSize(SIZES.size())
                                                .setHiddenSize(256)
                                                .build())
                                        .optNormPlacement(NormPlacement.BEFORE_PART))
                        .optFinalNorm(true)
                        .build())
                .add(Linear.builder().setUnits(tokens).build())
                .addSingleton(scores -> scores.reshape(-1, tokens));
    }

    @Override
    public List<Encoding> variants(Encoding trained) {
        return trained == Encoding.ROTARY
                ? List.of(trained, Encoding.ROTARY_LINEAR, Encoding.ROTARY_NTK, Encoding.ROTARY_YARN)
                : List.of(trained);
    }

    @Override
    public Map<String, Double> measure(Model trained, Encoding as) {
        Block block = trained.getBlock();
        NDManager manager = trained.getNDManager();
        if (as.tasks().isEmpty()) {
            block = withWeightsOf(block, as, manager);
        } else if (!biases.containsKey(as)) {
            biases.put(as, biases(as, block, manager));
        }
        if (as == Encoding.ROTARY && attention.isEmpty()) {
            attention.put(as, attention(as, block, manager));
            Block withoutPositions = withWeightsOf(block, Encoding.NONE, manager);
            attention.put(Encoding.NONE, attention(Encoding.NONE, withoutPositions, manager));
        }
        return losses(block, manager, measuring);
    }

    private Block withWeightsOf(Block trained, Encoding encoding, NDManager manager) {
        Block block = languageModel(encoding, tokens);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, LENGTH));
        Experiment.copyParameters(trained, block);
        return block;
    }

    /** Returns the mean losses of the tokens, by the number of tokens before them. */
    static Map<String, Double> losses(Block model, NDManager parent, TextWindows windows) {
        double[] sums = new double[LENGTH];
        int[] count = {0};
        Evaluation.forEachBatch(parent, model, windows, (batch, scores) -> {
            float[] losses = scores.logSoftmax(-1)
                    .get(new NDIndex().addAllDim().addPickDim(batch.getLabels().head()))
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
        save(folder.resolve("biases.csv"), biases);
        save(folder.resolve("attention.csv"), attention);
    }

    private static void save(Path file, Map<Encoding, String> lines) throws IOException {
        byte[] text = String.join("", lines.values()).getBytes(StandardCharsets.UTF_8);
        AtomicFile.write(file, out -> out.write(text));
    }

    /**
     * Returns what the learned part of the positions of a model adds to the scores of the last query, whatever the
     * words: a line for each head, with the kind, the layer, the head, and the biases of the keys at the distances 0,
     * 1, 2, ….
     */
    private static String biases(Encoding encoding, Block trained, NDManager parent) {
        List<TransformerLayerBlock> layers =
                ((TransformerStackBlock) trained.getChildren().valueAt(0)).getLayers();
        StringBuilder lines = new StringBuilder();
        try (NDManager manager = parent.newSubManager()) {
            NDArray noWords = manager.zeros(new Shape(1, SIZES.heads(), LENGTH, SIZES.headSize()));
            for (int layer = 0; layer < layers.size(); layer++) {
                List<RelativeEncoding> positions =
                        layers.get(layer).getAttention().getRelativeEncodings();
                if (positions.isEmpty() || positions.get(0).getParameters().isEmpty()) {
                    return "";
                }
                NDArray scores = positions
                        .get(0)
                        .forward(new ParameterStore(manager, false), new NDList(noWords, noWords), false)
                        .head();
                for (int head = 0; head < SIZES.heads(); head++) {
                    float[] row = scores.get("0, {}, {}", head, LENGTH - 1).toFloatArray();
                    lines.append(IntStream.range(0, LENGTH)
                            .mapToObj(distance -> String.format(Locale.ROOT, ",%.3f", row[LENGTH - 1 - distance]))
                            .collect(Collectors.joining("", encoding + "," + (layer + 1) + "," + (head + 1), "\n")));
                }
            }
        }
        return lines.toString();
    }

    /**
     * Returns how much the second half of the characters of held-out windows attend to those before them. For each head
     * there are three lines: the kind, the layer, the head, {@code mean}, {@code 10 %} or {@code 90 %}, and the mean or
     * the quantile over the characters of the weights at the distances 0, 1, 2, ….
     */
    private String attention(Encoding encoding, Block model, NDManager parent) {
        TransformerStackBlock stack =
                (TransformerStackBlock) model.getChildren().valueAt(0);
        StringBuilder lines = new StringBuilder();
        try (NDManager manager = parent.newSubManager();
                Batch batch = observed.getData(manager).iterator().next()) {
            ParameterStore store = new ParameterStore(manager, false);
            NDList x = stack.getInput().forward(store, batch.getData(), false);
            for (int layer = 0; layer < stack.getLayers().size(); layer++) {
                TransformerLayerBlock block = stack.getLayers().get(layer);
                NDArray weights = block.getAttention()
                        .probabilities(store, block.getAttentionNorm().forward(store, x, false));
                for (int head = 0; head < SIZES.heads(); head++) {
                    double[][] sorted = byDistance(weights.get(":, {}", head).toFloatArray());
                    String name = encoding + "," + (layer + 1) + "," + (head + 1);
                    lines.append(line(
                                    name + ",mean",
                                    sorted,
                                    each -> DoubleStream.of(each).sum() / each.length))
                            .append(line(name + ",10 %", sorted, each -> each[each.length / 10]))
                            .append(line(name + ",90 %", sorted, each -> each[each.length * 9 / 10]));
                }
                x = block.forward(store, x, false);
            }
        }
        return lines.toString();
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

    private static String line(String name, double[][] byDistance, ToDoubleFunction<double[]> statistic) {
        return Arrays.stream(byDistance)
                .map(each -> String.format(Locale.ROOT, ",%.5f", statistic.applyAsDouble(each)))
                .collect(Collectors.joining("", name, "\n"));
    }
}
