package io.github.djlpositional.examples.book;

import java.awt.image.BufferedImage;
import java.util.Locale;
import java.util.Objects;

/** What a chapter prints and shows. */
public final class Output {

    private Output() {}

    /** Prints a line, with the arguments of {@link String#format(String, Object...)} and decimal points. */
    public static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }

    /** Stands for the function {@code display} of a notebook's kernel: a program has no place for a picture. */
    public static void display(BufferedImage picture) {
        Objects.requireNonNull(picture);
    }
}
