package io.github.djlpositional.examples;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import ai.djl.repository.zoo.ZooModel;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Writes what a saved model has learned about positions as CSV. */
@Command(
        name = "inspect",
        description = "Write as CSV where the heads of a saved model look in sentences (attention.csv: the words, the"
                + " layer, the head, the weights), and its learned positions, if it has them (positions.csv).")
final class InspectEncoder extends EngineCommand {

    @Option(names = "--model", description = "The file of the saved model.")
    private Path file = Path.of("model.zip");

    @Option(names = "--out", description = "The folder of the tables.")
    private Path folder = Path.of("inspected");

    @Parameters(paramLabel = "SENTENCE", arity = "1..*", description = "Sentences, each in quotes.")
    private List<String> sentences;

    @Override
    protected void run(PrintWriter out) throws IOException {
        AtomicFile.prepare(folder.resolve("attention.csv"));
        Engine engine = startEngine();
        try (ZooModel<String, Judgement> model = EncoderFile.load(file, engine, deviceOf(engine))) {
            StringBuilder attention = new StringBuilder();
            for (String sentence : sentences) {
                AttentionMaps maps = AttentionMaps.of(model, sentence);
                for (int layer = 0; layer < maps.layers().size(); layer++) {
                    List<double[]> heads = maps.layers().get(layer);
                    for (int head = 0; head < heads.size(); head++) {
                        attention.append(String.join(" ", maps.words()) + "," + layer + "," + head);
                        append(attention, ",%.5f", heads.get(head));
                    }
                }
            }
            write(out, "attention.csv", attention.toString());
            for (Parameter parameter : model.getBlock().getParameters().values()) {
                if (parameter.getName().equals("encodings")) {
                    StringBuilder positions = new StringBuilder();
                    for (NDArray row : parameter
                            .getArray()
                            .split(parameter.getArray().getShape().get(0))) {
                        append(
                                positions,
                                ",%.6f",
                                row.toType(DataType.FLOAT64, false).toDoubleArray());
                    }
                    write(out, "positions.csv", positions.toString().replaceAll("(?m)^,", ""));
                }
            }
        }
    }

    private static void append(StringBuilder csv, String format, double... numbers) {
        for (double number : numbers) {
            csv.append(String.format(Locale.ROOT, format, number));
        }
        csv.append('\n');
    }

    private void write(PrintWriter out, String name, String csv) throws IOException {
        out.println(Files.writeString(folder.resolve(name), csv));
    }
}
