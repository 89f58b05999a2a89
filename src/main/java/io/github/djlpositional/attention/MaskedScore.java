package io.github.djlpositional.attention;

import io.github.djlpositional.math.FloatFormat;

/**
 * What is added to the score of a key that must not be seen: enough to make its weight 0, and finite, so that a query that may
 * see nothing at all does not become NaN. It is DJL's in FLOAT32; in FLOAT16 two of them are still finite.
 */
final class MaskedScore {

    private MaskedScore() {}

    static double in(FloatFormat format) {
        return format == FloatFormat.FLOAT16 ? -3e4 : -1e5;
    }
}
