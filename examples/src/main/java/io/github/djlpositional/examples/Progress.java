package io.github.djlpositional.examples;

import ai.djl.training.util.ProgressBar;
import java.time.Duration;
import java.util.Locale;

/** A progress bar with the time left. */
public final class Progress {

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
    public Progress(String task, long total) {
        this.total = total;
        bar = new ProgressBar(task, total);
    }

    /**
     * Adds work that has been done.
     *
     * @param amount the amount of this work
     */
    public void add(long amount) {
        done += amount;
        bar.update(done - 1, timeLeft(startNanos, done, total));
    }

    /** Returns the time that the rest of the work takes at the same speed, for example {@code 1:05 left}. */
    static String timeLeft(long startNanos, long done, long total) {
        long nanosLeft = (System.nanoTime() - startNanos) / done * (total - done);
        return minutesAndSeconds(Duration.ofNanos(nanosLeft)) + " left ";
    }

    /** Formats a duration as minutes and seconds, for example 1:05. */
    static String minutesAndSeconds(Duration duration) {
        return String.format(Locale.ROOT, "%d:%02d", duration.toMinutes(), duration.toSecondsPart());
    }
}
