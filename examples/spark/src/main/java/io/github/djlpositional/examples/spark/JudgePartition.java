package io.github.djlpositional.examples.spark;

import ai.djl.inference.Predictor;
import io.github.djlpositional.examples.Judgement;
import java.nio.file.Path;
import java.util.Iterator;
import org.apache.spark.SparkFiles;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;

/** What a task does on an executor: judges the sentences of one partition. */
final class JudgePartition implements FlatMapFunction<Iterator<NumberedSentence>, Row> {

    private static final long serialVersionUID = 1L;

    private final int batchSize;
    private final String archive;
    private final LongAccumulator loads;
    private final LongAccumulator loadMillis;

    /**
     * Says what the tasks do.
     *
     * @param batchSize how many sentences go through the model together
     * @param archive under which name each executor finds the unpacked model
     * @param loads counts how often a model was loaded
     * @param loadMillis sums up how long that took
     */
    JudgePartition(int batchSize, String archive, LongAccumulator loads, LongAccumulator loadMillis) {
        this.batchSize = batchSize;
        this.archive = archive;
        this.loads = loads;
        this.loadMillis = loadMillis;
    }

    @Override
    public Iterator<Row> call(Iterator<NumberedSentence> sentences) {
        Predictor<String, Judgement> predictor = ExecutorModel.newPredictor(Path.of(SparkFiles.get(archive)), time -> {
            loads.add(1L);
            loadMillis.add(time.toMillis());
        });
        // whether the task succeeds, fails or is killed
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> predictor.close());
        return new JudgedRows(sentences, predictor, batchSize);
    }
}
