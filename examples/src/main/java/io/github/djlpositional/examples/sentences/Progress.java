package io.github.djlpositional.examples.sentences;

import ai.djl.training.util.ProgressBar;
import java.time.Duration;
import java.util.Locale;

/** A progress bar with the time left. */
final class Progress {

    private final long total;
    private final ProgressBar bar;
    private final long startNanos = System.nanoTime();
    private long done;

    /**
     * Starts the time.
     *
     * @param task the name of the task, at most 12 characters
     * @param total the amount of work
     */
    Progress(String task, long total) {
        this.total = total;
        bar = new ProgressBar(task, total);
    }

    /** Adds an amount of work that has been done. */
    void add(long amount) {
        done += amount;
        double secondsLeft = (System.nanoTime() - startNanos) / 1e9 / done * (total - done);
        Duration left = Duration.ofSeconds(Math.round(secondsLeft));
        bar.update(done - 1, String.format(Locale.ROOT, "%d:%02d left ", left.toMinutes(), left.toSecondsPart()));
    }
}
