package io.github.djlpositional.examples;

import java.time.Duration;
import java.util.Locale;

/** How times of runs are shown. */
final class MinutesAndSeconds {

    private MinutesAndSeconds() {}

    /** A duration as minutes and seconds, for example 1:05. */
    static String of(Duration duration) {
        return String.format(Locale.ROOT, "%d:%02d", duration.toMinutes(), duration.toSecondsPart());
    }
}
