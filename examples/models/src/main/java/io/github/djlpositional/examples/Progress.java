package io.github.djlpositional.examples;

import ai.djl.training.util.ProgressBar;
import java.time.Duration;
import java.util.Locale;

/**
 * The progress of a task with the time left: a bar on a terminal; in a file or a pipe, at most one line for each tenth
 * of the work.
 */
public final class Progress {

    private final String task;
    private final long total;
    private final long startNanos = System.nanoTime();

    /** Null for lines. */
    private final ProgressBar bar;

    private long done;

    /** Starts the time of a task, whose name has at most 12 characters. */
    public Progress(String task, long total) {
        this.task = task;
        this.total = total;
        bar = isTerminal() ? new ProgressBar(task, total) : null;
    }

    /** Returns whether the input and the output of this process are a terminal. */
    @SuppressWarnings("SystemConsoleNull") // the default console of Java 22 to 24, which needs no terminal, is not used
    private static boolean isTerminal() {
        System.setProperty("jdk.console", "java.base");
        return System.console() != null;
    }

    /** Adds work that has been done, and shows the time that the rest takes at the same speed, such as 1:05 left. */
    public void add(long amount) {
        long tenths = 10 * done / total;
        done += amount;
        Duration left = Duration.ofNanos((System.nanoTime() - startNanos) / done * (total - done));
        String status = String.format(Locale.ROOT, "%d:%02d left", left.toMinutes(), left.toSecondsPart());
        if (bar != null) {
            // the blank hides the end of a longer status before it
            bar.update(done - 1, status + ' ');
        } else if (10 * done / total > tenths) {
            System.out.printf("%-12s %3d %%  %s%n", task + ":", 100 * done / total, status);
        }
    }
}
