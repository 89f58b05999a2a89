package io.github.djlpositional.examples.spark;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.Program;
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
            .add("score", DataTypes.DoubleType, false)
            .add("embedding", DataTypes.createArrayType(DataTypes.FloatType, false), false);

    private static final String THREADS = "ai.djl.pytorch.num_threads";

    private static ZooModel<String, Judgement> model;

    private final int batchSize;
    private final String file;

    /** Creates the work of all tasks, with the name of a file that Spark copies to each executor. */
    JudgePartition(int batchSize, String file) {
        this.batchSize = batchSize;
        this.file = file;
    }

    @Override
    public Iterator<Row> call(Iterator<Tuple2<String, Long>> sentences) {
        Predictor<String, Judgement> predictor = newPredictor(Path.of(SparkFiles.get(file)));
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

    private static Stream<Row> judged(List<Tuple2<String, Long>> batch, Predictor<String, Judgement> predictor) {
        try {
            List<Judgement> judgements =
                    predictor.batchPredict(batch.stream().map(Tuple2::_1).toList());
            return IntStream.range(0, batch.size())
                    .mapToObj(i -> RowFactory.create(
                            batch.get(i)._2(),
                            batch.get(i)._1(),
                            judgements.get(i).inOrder(),
                            judgements.get(i).embedding().toArray(new Float[0])));
        } catch (TranslateException e) {
            throw new IllegalStateException(
                    "the " + batch.size() + " sentences from line "
                            + batch.get(0)._2() + " on could not be judged",
                    e);
        }
    }

    private static synchronized Predictor<String, Judgement> newPredictor(Path path) {
        if (model == null) {
            Program.optOutOfTracking();
            // an executor runs as many tasks as it has cores
            if (System.getProperty(THREADS) == null) {
                System.setProperty(THREADS, "1");
            }
            model = EncoderFile.load(path, Engine.getEngine("PyTorch"), Device.cpu());
        }
        return model.newPredictor();
    }
}
