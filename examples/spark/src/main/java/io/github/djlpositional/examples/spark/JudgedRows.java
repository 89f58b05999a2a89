package io.github.djlpositional.examples.spark;

import ai.djl.inference.Predictor;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.examples.Judgement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Queue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The rows of a partition: its sentences go through a predictor batch by batch, as the rows are asked for. */
final class JudgedRows implements Iterator<Row> {

    /** What a row holds. */
    static final StructType SCHEMA = new StructType()
            .add("id", DataTypes.LongType, false)
            .add("sentence", DataTypes.StringType, false)
            .add("score", DataTypes.DoubleType, false)
            .add("embedding", DataTypes.createArrayType(DataTypes.FloatType, false), false);

    private final Iterator<NumberedSentence> sentences;
    private final Predictor<String, Judgement> predictor;
    private final int batchSize;
    private final Queue<Row> judged = new ArrayDeque<>();

    /**
     * Begins.
     *
     * @param sentences each with at least one word
     * @param predictor closed by the caller
     * @param batchSize how many sentences are in memory and in a forward
     */
    JudgedRows(Iterator<NumberedSentence> sentences, Predictor<String, Judgement> predictor, int batchSize) {
        this.sentences = sentences;
        this.predictor = predictor;
        this.batchSize = batchSize;
    }

    @Override
    public boolean hasNext() {
        return !judged.isEmpty() || sentences.hasNext();
    }

    @Override
    public Row next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the partition has no more sentences");
        }
        if (judged.isEmpty()) {
            judgeBatch();
        }
        return judged.remove();
    }

    private void judgeBatch() {
        List<NumberedSentence> batch = new ArrayList<>(batchSize);
        while (batch.size() < batchSize && sentences.hasNext()) {
            batch.add(sentences.next());
        }
        try {
            List<Judgement> judgements = predictor.batchPredict(
                    batch.stream().map(NumberedSentence::sentence).toList());
            for (int i = 0; i < batch.size(); i++) {
                NumberedSentence each = batch.get(i);
                Judgement judgement = judgements.get(i);
                judged.add(RowFactory.create(
                        each.id(),
                        each.sentence(),
                        judgement.inOrder(),
                        judgement.embedding().toArray(new Float[0])));
            }
        } catch (TranslateException e) {
            throw new IllegalStateException(
                    "the sentences of lines " + batch.get(0).id() + " to "
                            + batch.get(batch.size() - 1).id() + " could not be judged",
                    e);
        }
    }
}
