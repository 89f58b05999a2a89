package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.EncoderTraining;
import io.github.djlpositional.examples.EngineCommand;
import io.github.djlpositional.examples.Evaluation;
import io.github.djlpositional.examples.Figure;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.PartOfSpeech;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Is a definition that of a noun, a verb, an adjective or an adverb? Tunes the published encoder to answer. */
@Command(
        name = "tune",
        description = "Train the published sentence encoder all-MiniLM-L6-v2 to tell whether a definition is that of a"
                + " noun, a verb, an adjective or an adverb. Compare it with a bag of words, with the frozen encoder,"
                + " and with a new encoder of the same size. Save the tuned weights as safetensors, under"
                + " Hugging Face's names, and draw the learning curves.")
public final class TuneEncoder extends EngineCommand {

    private static final List<PartOfSpeech> CLASSES = List.of(PartOfSpeech.values());
    private static final BertEncoder.Sizes SIZES = BertEncoder.Sizes.MINI_LM;

    /** Longer definitions are cut to this number of tokens; 99 % are shorter. */
    private static final int MOST_TOKENS = 64;

    /** The number of measurements in a training. */
    private static final int POINTS = 5;

    @Option(
            names = "--definitions",
            description = "The number of definitions to learn from, as many of each part of speech.")
    private int definitions = 3200;

    @Option(names = "--held-out", description = "The number of other definitions, for measuring.")
    private int heldOut = 1000;

    @Option(names = "--epochs", description = "The number of passes over the definitions.")
    private int epochs = 2;

    @Option(
            names = "--layers",
            description = "The number of the encoder's layers that are tuned, from the last; with all 6, the token and"
                    + " position tables are tuned too.")
    private int layers = 2;

    @Option(names = "--seed", description = "The same seed gives the same result on the same machine.")
    private int seed = 1;

    @Option(names = "--out", description = "The file for the tuned weights; the picture is saved beside it.")
    private Path file = Path.of("tuned.safetensors");

    /** A classifier to train, with a name of at most 12 characters. */
    private record Contender(String name, float learningRate, Block block) {}

    /** Definitions to learn from, in random order, and others. */
    private record Texts(List<LabelledTexts.Text> learned, List<LabelledTexts.Text> heldOut) {}

    @Override
    protected void checkOptions() {
        Check.between("--definitions", definitions, CLASSES.size(), Integer.MAX_VALUE);
        Check.between("--held-out", heldOut, CLASSES.size(), Integer.MAX_VALUE);
        Check.positive("--epochs", epochs);
        Check.between("--layers", layers, 1, SIZES.layers());
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        AtomicFile.prepare(file);
        Texts texts = texts();
        out.printf(
                Locale.ROOT,
                "%,d definitions from WordNet to learn from, %,d others held out, as many of each part of speech;"
                        + " %s %s on %s%n%n",
                texts.learned.size(),
                texts.heldOut.size(),
                engine.getEngineName(),
                engine.getVersion(),
                device);

        LineChart curves = LineChart.of("Noun, verb, adjective or adverb?", "definitions seen", "held-out accuracy");
        List<String> table = new ArrayList<>();
        try (NDManager manager = engine.newBaseManager(device)) {
            int classes = CLASSES.size();
            TextClassifier frozen = TextClassifier.of(SentenceEncoder.published(manager), classes, 0);
            TextClassifier tuned = TextClassifier.of(SentenceEncoder.published(manager), classes, layers);
            TextClassifier fresh = TextClassifier.of(new BertEncoder(SIZES), classes, SIZES.layers());
            Block tunedBlock = tuned.block();
            for (Contender contender : List.of(
                    new Contender("bag of words", 0.05f, bagOfWords()),
                    new Contender("frozen", 0.01f, frozen.block()),
                    new Contender("tuned", 3e-4f, tunedBlock),
                    new Contender("new encoder", 3e-4f, fresh.block()))) {
                System.out.printf("%n%s%n", contender.name);
                try (Model model = Model.newInstance("classifier", device, engine.getEngineName())) {
                    LabelledTexts learned = new LabelledTexts(texts.learned, seed);
                    LabelledTexts others = new LabelledTexts(texts.heldOut, seed);
                    int steps = epochs * learned.batches();
                    int[] seen = new int[2]; // steps, definitions
                    List<double[]> curve = new ArrayList<>(); // definitions, accuracy
                    long start = System.nanoTime();
                    new EncoderTraining(engine, device, seed, epochs, contender.learningRate)
                            .train(contender.block, new Shape(1, 1), learned, model, batch -> {
                                seen[0]++;
                                seen[1] += batch.getSize();
                                if ((seen[0] - 1) * POINTS / steps < seen[0] * POINTS / steps) {
                                    curve.add(new double[] {seen[1], Evaluation.accuracy(model, others)});
                                }
                            });
                    double seconds = (System.nanoTime() - start) / 1e9;
                    double accuracy = curve.get(curve.size() - 1)[1];
                    table.add(String.format(Locale.ROOT, "%-12s %18.4f %6.0f s", contender.name, accuracy, seconds));
                    curves.line(
                            contender.name,
                            LineChart.each(curve.size(), i -> curve.get(i)[0]),
                            LineChart.each(curve.size(), i -> curve.get(i)[1]));
                    if (contender.block.equals(tunedBlock)) {
                        tuned.save(file);
                    }
                }
            }
        }
        Path picture = file.resolveSibling(file.getFileName() + ".svg");
        new Figure(1, List.of(curves)).save(picture);
        out.printf("%n%-12s %18s %8s%n", "", "held-out accuracy", "time");
        table.forEach(out::println);
        out.printf("%nThe tuned weights are in '%s', the learning curves in '%s'.%n", file, picture);
    }

    /** Creates a linear classifier of the counts of the tokens: each token adds its scores, wherever it is. */
    private static Block bagOfWords() {
        InputEmbeddingBlock scores = InputEmbeddingBlock.builder()
                .setVocabularySize(SIZES.vocabulary())
                .setEmbeddingSize(CLASSES.size())
                .optNoPositions()
                .optPaddingIndex(0)
                .build();
        scores.setInitializer(Initializer.ZEROS, Parameter.Type.WEIGHT);
        return new SequentialBlock()
                .add(inputs -> new NDList(inputs.head())) // without the mask
                .add(scores)
                .add(LambdaBlock.singleton(ofTokens -> ofTokens.sum(new int[] {1})));
    }

    /** Chooses different definitions of each part of speech. */
    private Texts texts() throws IOException {
        List<Definition> shuffled = new ArrayList<>(Definition.read(Definition.COUNT));
        Collections.shuffle(shuffled, new Random(seed));
        Set<String> known = new HashSet<>();
        shuffled.removeIf(definition -> !known.add(definition.text()));
        List<LabelledTexts.Text> learned = new ArrayList<>();
        List<LabelledTexts.Text> measured = new ArrayList<>();
        int ofEach = definitions / CLASSES.size();
        int heldOutOfEach = heldOut / CLASSES.size();
        try (HuggingFaceTokenizer tokenizer = SentenceEncoder.tokenizer(MOST_TOKENS)) {
            for (PartOfSpeech partOfSpeech : CLASSES) {
                List<String> all = shuffled.stream()
                        .filter(definition -> definition.partOfSpeech() == partOfSpeech)
                        .map(Definition::text)
                        .toList();
                if ((long) ofEach + heldOutOfEach > all.size()) {
                    throw new UserError(definitions + " definitions and " + heldOut + " held out: expected at most "
                            + CLASSES.size() * all.size() + " in total, because there are " + all.size() + " of each "
                            + partOfSpeech + "; use fewer with --definitions or --held-out");
                }
                List<LabelledTexts.Text> chosen =
                        SentenceEncoder.ids(tokenizer, all.subList(0, ofEach + heldOutOfEach)).stream()
                                .map(ids -> new LabelledTexts.Text(ids, CLASSES.indexOf(partOfSpeech)))
                                .toList();
                learned.addAll(chosen.subList(0, ofEach));
                measured.addAll(chosen.subList(ofEach, chosen.size()));
            }
        }
        Collections.shuffle(learned, new Random(seed));
        return new Texts(learned, measured);
    }
}
