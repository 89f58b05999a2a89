package io.github.djlpositional.examples.spark;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ModelException;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.examples.encoder.EncoderExample;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkFiles;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import scala.Tuple2;

/**
 * The work of a task on an executor: judges the numbered sentences of one partition batch by batch, as the rows are
 * requested.
 *
 * <p>All tasks of an executor share one model, and each task has its own predictor. The first task loads the model,
 * which lives as long as the JVM of the executor.
 */
final class JudgePartition implements FlatMapFunction<Iterator<Tuple2<String, Long>>, Row> {

    /** The columns of the output. */
    static final StructType SCHEMA = new StructType()
            .add("id", DataTypes.LongType, false)
            .add("sentence", DataTypes.StringType, false)
            .add("score", DataTypes.DoubleType, false);

    /** The files of a saved model, which Spark copies to each executor. */
    static final List<String> FILES = List.of("block.json", "serving.properties", "encoder-0000.params");

    private static final String THREADS = "ai.djl.pytorch.num_threads";

    private static ZooModel<String, Classifications> model;

    private final int batchSize;

    /** Creates the work of all tasks. */
    JudgePartition(int batchSize) {
        this.batchSize = batchSize;
    }

    @Override
    public Iterator<Row> call(Iterator<Tuple2<String, Long>> sentences) throws MalformedModelException {
        Predictor<String, Classifications> predictor = newPredictor(Path.of(SparkFiles.getRootDirectory()));
        // also if the task fails or is killed
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> predictor.close());
        // one batch at a time, never the whole partition
        return Stream.iterate(nextBatch(sentences), batch -> !batch.isEmpty(), batch -> nextBatch(sentences))
                .flatMap(batch -> judged(batch, predictor))
                .iterator();
    }

    private List<Tuple2<String, Long>> nextBatch(Iterator<Tuple2<String, Long>> sentences) {
        List<Tuple2<String, Long>> batch = new ArrayList<>(batchSize);
        while (batch.size() < batchSize && sentences.hasNext()) {
            batch.add(sentences.next());
        }
        return batch;
    }

    private static Stream<Row> judged(List<Tuple2<String, Long>> batch, Predictor<String, Classifications> predictor) {
        try {
            List<Classifications> judgements = predictor.batchPredict(
                    batch.stream().map(line -> beginning(line._1())).toList());
            return IntStream.range(0, batch.size())
                    .mapToObj(i -> RowFactory.create(
                            batch.get(i)._2(),
                            batch.get(i)._1(),
                            judgements.get(i).get("in order").getProbability()));
        } catch (TranslateException e) {
            throw new IllegalStateException(
                    "the " + batch.size() + " sentences from line "
                            + batch.get(0)._2() + " on could not be judged",
                    e);
        }
    }

    /** Cuts a sentence to as many words as in training. */
    static String beginning(String sentence) {
        List<String> words = EncoderExample.words(sentence);
        return String.join(" ", words.subList(0, Math.min(words.size(), EncoderExample.MAX_WORDS)));
    }

    /** Returns a predictor of the model in a folder, which this JVM loads once. */
    static synchronized Predictor<String, Classifications> newPredictor(Path folder) throws MalformedModelException {
        if (model == null) {
            // otherwise DJL reports its use
            System.setProperty("OPT_OUT_TRACKING", "true");
            // an executor runs as many tasks as it has cores
            if (System.getProperty(THREADS) == null) {
                System.setProperty(THREADS, "1");
            }
            try {
                model = Criteria.builder()
                        .setTypes(String.class, Classifications.class)
                        .optEngine("PyTorch")
                        .optDevice(Device.cpu())
                        .optModelPath(folder)
                        .optModelName("encoder")
                        .optTranslator(new EncoderExample.SentenceTranslator())
                        .build()
                        .loadModel();
            } catch (IOException | ModelException e) {
                // for the driver, which names the model
                throw new MalformedModelException(e.toString(), e);
            }
        }
        return model.newPredictor();
    }
}
