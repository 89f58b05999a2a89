package io.github.djlpositional.examples;

import ai.djl.metric.Metrics;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import java.util.Locale;

/** The progress of each epoch, with the loss, the accuracy and the time left in all epochs. */
final class TrainingProgress extends TrainingListenerAdapter {

    private final int epochs;
    private final int batchesPerEpoch;
    private final long startNanos = System.nanoTime();
    private int batchesDone;
    private Progress progress;

    TrainingProgress(int epochs, int batchesPerEpoch) {
        this.epochs = epochs;
        this.batchesPerEpoch = batchesPerEpoch;
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        if (batchesDone % batchesPerEpoch == 0) {
            progress = new Progress("Epoch " + (batchesDone / batchesPerEpoch + 1) + "/" + epochs, batchesPerEpoch);
        }
        batchesDone++;
        progress.add(1, () -> status(trainer));
    }

    private String status(Trainer trainer) {
        StringBuilder status = new StringBuilder();
        Metrics metrics = trainer.getMetrics();
        for (Evaluator evaluator : trainer.getEvaluators()) {
            String metric = EvaluatorTrainingListener.metricName(evaluator, EvaluatorTrainingListener.TRAIN_PROGRESS);
            if (metrics != null && metrics.hasMetric(metric)) {
                double value = metrics.latestMetric(metric).getValue().doubleValue();
                String name = evaluator == trainer.getLoss() ? "loss" : "accuracy";
                status.append(String.format(Locale.ROOT, "%s %.3f, ", name, value));
            }
        }
        return status.append(Progress.timeLeft(startNanos, batchesDone, (long) epochs * batchesPerEpoch))
                .toString();
    }
}
