package io.github.djlpositional.examples.experiments;

import ai.djl.ModelException;
import ai.djl.modality.nlp.DefaultVocabulary;
import ai.djl.modality.nlp.Vocabulary;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Writes what an encoder has learned about positions as CSV. */
@Command(
        name = "inspect",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        showDefaultValues = true,
        description = "Write as CSV where the heads of an encoder look in sentences (attention.csv: the words, the"
                + " layer, the head, the weights), and its learned positions, if it has them (positions.csv).")
final class InspectEncoder implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(names = "--model", description = "The folder of an encoder that compare has saved.")
    private Path folder = Path.of("comparison-sentences", "sinusoidal");

    @Option(names = "--out", description = "The folder of the tables.")
    private Path out = Path.of("inspected");

    @Parameters(paramLabel = "SENTENCE", arity = "1..*", description = "Sentences, each in quotes.")
    private List<String> sentences;

    @Override
    public Integer call() throws IOException {
        Files.createDirectories(out);
        Criteria<NDList, NDList> criteria = Criteria.builder()
                .setTypes(NDList.class, NDList.class)
                .optModelPath(folder)
                .optModelName(SentenceExperiment.MODEL)
                .build();
        try (ZooModel<NDList, NDList> model = criteria.loadModel()) {
            TransformerStackBlock encoder = (TransformerStackBlock) model.getBlock();
            Vocabulary vocabulary = DefaultVocabulary.builder()
                    .add(List.of(
                            model.getProperty(SentenceExperiment.VOCABULARY).split(" ", -1)))
                    .optUnknownToken()
                    .build();
            List<List<?>> attention = new ArrayList<>();
            for (String sentence : sentences) {
                attention.addAll(attention(encoder, vocabulary, Glosses.words(sentence), model.getNDManager()));
            }
            write("attention.csv", attention);
            for (Parameter parameter : encoder.getParameters().values()) {
                if (parameter.getName().equals("encodings")) {
                    NDArray table = parameter.getArray();
                    write(
                            "positions.csv",
                            table.split(table.getShape().get(0)).stream()
                                    .map(row -> numbers("%.6f", row).toList())
                                    .toList());
                }
            }
        } catch (ModelException e) {
            String message = "no model in " + folder + " (" + e.getMessage()
                    + "): expected a folder that compare has saved; name another with --model";
            throw new ParameterException(spec.commandLine(), message, e);
        }
        return 0;
    }

    /** Returns a row for each layer and head: the T words, the layer, the head, and T × T weights. */
    private static List<List<?>> attention(
            TransformerStackBlock encoder, Vocabulary vocabulary, List<String> words, NDManager parent) {
        List<List<?>> rows = new ArrayList<>();
        try (NDManager manager = parent.newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            long[] ids = words.stream().mapToLong(vocabulary::getIndex).toArray();
            NDList x = encoder.getInput()
                    .forward(store, new NDList(manager.create(ids).expandDims(0)), false);
            for (int layer = 0; layer < encoder.getLayers().size(); layer++) {
                TransformerLayerBlock block = encoder.getLayers().get(layer);
                NDArray heads = block.getAttention().probabilities(store, x).squeeze(0);
                for (int head = 0; head < heads.getShape().get(0); head++) {
                    rows.add(Stream.concat(
                                    Stream.of(String.join(" ", words), layer, head), numbers("%.5f", heads.get(head)))
                            .toList());
                }
                x = block.forward(store, x, false);
            }
        }
        return rows;
    }

    private static Stream<String> numbers(String format, NDArray array) {
        float[] numbers = array.toFloatArray();
        return IntStream.range(0, numbers.length).mapToObj(i -> String.format(Locale.ROOT, format, numbers[i]));
    }

    private void write(String name, List<? extends List<?>> rows) throws IOException {
        Comparison.save(out.resolve(name), rows);
        PrintWriter console = spec.commandLine().getOut();
        console.println(out.resolve(name));
    }
}
