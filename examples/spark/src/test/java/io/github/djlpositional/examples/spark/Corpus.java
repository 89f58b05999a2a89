package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Glosses;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.SmallEncoder;
import io.github.djlpositional.examples.TransformerEncoder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;

/** A text file, a model, and the expected output for them. */
final class Corpus {

    /** A row of the output. */
    private record Judged(String sentence, Judgement judgement) {}

    private final Path model;
    private final Path text;
    private final Map<Long, String> sentences = new TreeMap<>();

    private Corpus(Path model, Path text) {
        this.model = model;
        this.text = text;
    }

    /** Trains a small encoder and writes a text, with some sentences twice, and with lines without words. */
    static Corpus create(Path folder, int lines) throws IOException {
        Corpus corpus = new Corpus(folder.resolve("model.zip"), folder.resolve("corpus.txt"));
        SmallEncoder.saveTo(corpus.model, "PyTorch");
        List<List<String>> glosses = Glosses.read(Integer.MAX_VALUE);
        List<String> written = new ArrayList<>();
        for (int line = 0; line < lines; line++) {
            if (line % 50 == 20) {
                written.add(line % 100 == 20 ? "" : " ... ");
            } else {
                // every fifth sentence repeats the one two lines before
                String sentence = String.join(" ", glosses.get(line % 5 == 4 ? line - 2 : line));
                corpus.sentences.put((long) line, sentence);
                written.add(sentence);
            }
        }
        Files.write(corpus.text, written);
        return corpus;
    }

    Path model() {
        return model;
    }

    Path text() {
        return text;
    }

    /** Returns the options of a job. */
    static String[] options(Path model, Path input, Path output, String... more) {
        List<String> options = new ArrayList<>(List.of("--model", model.toString(), "--input", input.toString()));
        options.addAll(List.of("--output", output.toString()));
        options.addAll(List.of(more));
        return options.toArray(String[]::new);
    }

    int size() {
        return sentences.size();
    }

    /** Checks that every line with words has one row, with the answer of a single process. */
    void assertJudged(Path output) throws Exception {
        Map<Long, Judged> rows = rows(output);
        assertThat(rows.keySet()).isEqualTo(sentences.keySet());
        try (ZooModel<String, Judgement> loaded =
                        EncoderFile.load(model, Engine.getEngine("PyTorch"), Device.cpu(), Judgement.class);
                Predictor<String, Judgement> predictor = loaded.newPredictor()) {
            // the sentences were in different batches
            Judgement.Difference limit =
                    Judgement.Difference.ofRounding(((TransformerEncoder) loaded.getBlock()).spec());
            List<String> inOrder = List.copyOf(sentences.values());
            List<Judged> found = List.copyOf(rows.values());
            for (int from = 0; from < inOrder.size(); from += 128) {
                List<String> batch = inOrder.subList(from, Math.min(inOrder.size(), from + 128));
                List<Judgement> expected = predictor.batchPredict(batch);
                for (int i = 0; i < batch.size(); i++) {
                    assertSame(found.get(from + i), batch.get(i), expected.get(i), limit);
                }
            }
        }
    }

    private static void assertSame(Judged found, String sentence, Judgement expected, Judgement.Difference limit) {
        assertThat(found.sentence()).isEqualTo(sentence);
        Judgement.Difference difference = found.judgement().differenceTo(expected);
        assertThat(difference.isWithin(limit))
                .as("%s: differences of %s, expected at most %s", sentence, difference, limit)
                .isTrue();
    }

    /** Returns all rows by id, and checks that ids are unique. */
    private static Map<Long, Judged> rows(Path output) throws IOException {
        Map<Long, Judged> rows = new TreeMap<>();
        try (Stream<Path> listed = Files.list(output)) {
            for (Path file : listed.filter(each -> each.toString().endsWith(".parquet"))
                    .sorted()
                    .toList()) {
                read(file, rows);
            }
        }
        return rows;
    }

    private static void read(Path file, Map<Long, Judged> rows) throws IOException {
        try (ParquetReader<Group> reader = ParquetReader.builder(
                        new GroupReadSupport(), new org.apache.hadoop.fs.Path(file.toUri()))
                .withConf(new Configuration())
                .build()) {
            for (Group row = reader.read(); row != null; row = reader.read()) {
                List<Float> embedding = new ArrayList<>();
                Group list = row.getGroup("embedding", 0);
                for (int d = 0; d < list.getFieldRepetitionCount("list"); d++) {
                    embedding.add(list.getGroup("list", d).getFloat("element", 0));
                }
                Judged before = rows.put(
                        row.getLong("id", 0),
                        new Judged(row.getString("sentence", 0), new Judgement(row.getDouble("score", 0), embedding)));
                assertThat(before).as("second row of the same line").isNull();
            }
        }
    }
}
