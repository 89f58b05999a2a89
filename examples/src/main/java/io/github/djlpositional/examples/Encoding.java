package io.github.djlpositional.examples;

import java.util.Locale;

/** How the encoder learns where a token stands. */
public enum Encoding {
    /** Not at all: the encoder sees a bag of words. */
    NONE,
    /** By the sines and cosines of <em>Attention Is All You Need</em>. */
    SINUSOIDAL;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
