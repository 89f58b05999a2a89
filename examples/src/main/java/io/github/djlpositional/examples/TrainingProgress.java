package io.github.djlpositional.examples;

import ai.djl.metric.Metrics;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.util.ProgressBar;
import java.util.Locale;

/** A progress bar for each epoch, with the loss, the accuracy and the remaining time. */
final class TrainingProgress extends TrainingListenerAdapter {

    private final int epochs;
    private final int batchesPerEpoch;
    private final long startNanos = System.nanoTime();
    private int batchesDone;
    private ProgressBar bar;

    TrainingProgress(int epochs, int batchesPerEpoch) {
        this.epochs = epochs;
        this.batchesPerEpoch = batchesPerEpoch;
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        int inEpoch = batchesDone % batchesPerEpoch;
        if (inEpoch == 0) {
            bar = new ProgressBar("Epoch " + (batchesDone / batchesPerEpoch + 1) + "/" + epochs, batchesPerEpoch);
        }
        batchesDone++;
        bar.update(inEpoch, status(trainer));
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
