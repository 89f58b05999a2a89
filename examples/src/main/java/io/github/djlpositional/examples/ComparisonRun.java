package io.github.djlpositional.examples;

import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One encoder that was trained and measured.
 *
 * @param encoding how it learned positions
 * @param seed what its weights at the start came from
 * @param evaluations one for each length
 * @param parameters the number of trained numbers
 * @param training what the training took
 */
record ComparisonRun(
        Encoding encoding, int seed, Map<LengthClass, Evaluation> evaluations, long parameters, Duration training) {

    /** The mean time that a forward took for 1000 sentences, in milliseconds. */
    double inferenceMillis() {
        long nanos = evaluations.values().stream()
                .mapToLong(each -> each.time().toNanos())
                .sum();
        long sentences =
                evaluations.values().stream().mapToLong(Evaluation::sentences).sum();
        return nanos / 1e3 / sentences;
    }

    double trainingSeconds() {
        return training.toNanos() / 1e9;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%-14s seed %d: %s, %.0f s",
                encoding,
                seed,
                evaluations.values().stream()
                        .map(each -> String.format(Locale.ROOT, "%.4f", each.accuracy()))
                        .collect(Collectors.joining(" ")),
                trainingSeconds());
    }
}
