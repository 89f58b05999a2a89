package io.github.djlpositional.examples.notebooks;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.examples.TrainEncoder;
import io.github.djlpositional.examples.TrainingLog;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;

/**
 * What the chapters show of encoders of {@code train-encoder}. The numbers are shipped as CSV, because training takes
 * minutes. They come from the model of the notebook instead if that was trained with the same positions. With
 * {@code --train} the encoders are trained, and the CSV files are written to the folder {@code trained} beside the
 * pages.
 */
public final class TrainedModel {

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setRecordSeparator('\n').get();

    private TrainedModel() {}

    /**
     * Returns the loss and the accuracy of each step of the trainings.
     *
     * @param notebook the notebook
     * @param encodings the positions in the order of the training
     * @return the steps of one training after the other
     * @throws IOException if the shipped numbers cannot be read, or the new ones cannot be written
     */
    public static TrainingLog log(Notebook notebook, Encoding... encodings) throws IOException {
        Optional<Path> model = model(notebook, encodings);
        return TrainingLog.parse(
                csv(notebook, "log", model.map(file -> EncoderFile.readLog(file).toCsv())));
    }

    /**
     * Returns the attention of the encoder of the last positions.
     *
     * @param notebook the notebook
     * @param sentences words separated by spaces
     * @param encodings the positions in the order of the training
     * @return the maps of each sentence
     * @throws IOException if the shipped numbers cannot be read, or the new ones cannot be written
     */
    public static List<AttentionMaps> attention(Notebook notebook, List<String> sentences, Encoding... encodings)
            throws IOException {
        Optional<Path> model = model(notebook, encodings);
        String csv = csv(notebook, "attention", model.map(file -> attentionCsv(AttentionMaps.of(file, sentences))));
        List<AttentionMaps> maps = attention(csv);
        List<String> shipped =
                maps.stream().map(map -> String.join(" ", map.words())).toList();
        if (!shipped.equals(sentences)) {
            throw new IllegalStateException("the shipped attention is of the sentences " + shipped + ", not of "
                    + sentences + ": run the chapter with --train, and copy the files of trained to the resources");
        }
        return maps;
    }

    /**
     * Returns the learned position table.
     *
     * @param notebook the notebook
     * @return a vector for each position
     * @throws IOException if the shipped numbers cannot be read, or the new ones cannot be written
     */
    public static double[][] positions(Notebook notebook) throws IOException {
        Optional<Path> model = model(notebook, Encoding.LEARNED);
        List<double[]> rows = new ArrayList<>();
        for (CSVRecord row :
                CSV.parse(new StringReader(csv(notebook, "positions", model.map(TrainedModel::tableCsv))))) {
            rows.add(row.stream().mapToDouble(Double::parseDouble).toArray());
        }
        return rows.toArray(double[][]::new);
    }

    /** Returns numbers of a model, or the shipped ones without a model. */
    private static String csv(Notebook notebook, String name, Optional<String> ofModel) throws IOException {
        if (ofModel.isEmpty()) {
            return new String(
                    new Resource("/trained/" + name + ".csv", "djl-positional-examples").read(),
                    StandardCharsets.UTF_8);
        }
        if (notebook.isTraining()) {
            Path file = notebook.folder().resolve("trained").resolve(name + ".csv");
            AtomicFile.prepare(file);
            AtomicFile.write(file, out -> out.write(ofModel.get().getBytes(StandardCharsets.UTF_8)));
        }
        return ofModel.get();
    }

    /** A row for each sentence, layer and head: the words, the two numbers, and the weights. */
    private static String attentionCsv(List<AttentionMaps> sentences) {
        StringBuilder csv = new StringBuilder();
        for (AttentionMaps maps : sentences) {
            for (int layer = 0; layer < maps.layers().size(); layer++) {
                for (int head = 0; head < maps.layers().get(layer).size(); head++) {
                    csv.append(String.join(" ", maps.words()))
                            .append(String.format(",%d,%d,", layer, head))
                            .append(numbers("%.5f", maps.layers().get(layer).get(head)))
                            .append('\n');
                }
            }
        }
        return csv.toString();
    }

    private static List<AttentionMaps> attention(String csv) throws IOException {
        List<AttentionMaps> sentences = new ArrayList<>();
        List<List<double[]>> layers = List.of();
        for (CSVRecord row : CSV.parse(new StringReader(csv))) {
            int layer = Integer.parseInt(row.get(1));
            int head = Integer.parseInt(row.get(2));
            if (layer == 0 && head == 0) {
                layers = new ArrayList<>();
                sentences.add(new AttentionMaps(List.of(row.get(0).split(" ", -1)), layers));
            }
            if (head == 0) {
                layers.add(new ArrayList<>());
            }
            layers.get(layer)
                    .add(row.stream().skip(3).mapToDouble(Double::parseDouble).toArray());
        }
        return sentences;
    }

    /** A row for each position of the learned table of a saved encoder. */
    private static String tableCsv(Path file) {
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, Engine.getEngine("PyTorch"), Device.cpu())) {
            NDArray table = model.getBlock().getParameters().stream()
                    .filter(parameter -> parameter.getKey().endsWith("encodings"))
                    .map(parameter -> parameter.getValue().getArray())
                    .findAny()
                    .orElseThrow();
            float[] numbers = table.toFloatArray();
            int size = (int) table.getShape().get(1);
            return IntStream.range(0, numbers.length / size)
                    .mapToObj(position -> numbers(
                                    "%.6f",
                                    IntStream.range(position * size, (position + 1) * size)
                                            .mapToDouble(i -> numbers[i])
                                            .toArray())
                            + "\n")
                    .collect(Collectors.joining());
        }
    }

    private static String numbers(String format, double... numbers) {
        return DoubleStream.of(numbers)
                .mapToObj(number -> String.format(Locale.ROOT, format, number))
                .collect(Collectors.joining(","));
    }

    /**
     * Returns the model of the notebook if it was trained with these positions, or one that is trained now if the
     * notebook trains.
     */
    private static Optional<Path> model(Notebook notebook, Encoding... encodings) {
        if (notebook.isTraining()) {
            return Optional.of(notebook.trained(List.of(encodings), () -> train(notebook, encodings)));
        }
        Optional<Path> fitting = notebook.model().filter(file -> trained(file).equals(List.of(encodings)));
        if (notebook.model().isPresent() && fitting.isEmpty()) {
            notebook.out()
                    .printf("%n'%s' has other positions.%n", notebook.model().get());
        }
        return fitting;
    }

    private static Path train(Notebook notebook, Encoding... encodings) {
        String names = Arrays.stream(encodings).map(Encoding::toString).collect(Collectors.joining(","));
        Path file = notebook.folder().resolve("model-" + names.replace(',', '-') + ".zip");
        int status = TrainEncoder.commandLine()
                .setOut(new PrintWriter(notebook.out(), true, StandardCharsets.UTF_8))
                .execute(
                        "--encoding",
                        names,
                        "--glosses",
                        Integer.toString(notebook.glosses()),
                        "--held-out",
                        "1000",
                        "--out",
                        file.toString());
        if (status != 0) {
            throw new UserError("the model could not be trained: see the messages of the training above");
        }
        return file;
    }

    private static List<Encoding> trained(Path file) {
        return EncoderFile.readLog(file).lines().stream()
                .map(TrainingLog.Line::encoding)
                .distinct()
                .toList();
    }
}
