package io.github.djlpositional.examples;

/** An error that the user of a program can fix. The program prints only its message: what is wrong, and what to do. */
public final class UserError extends RuntimeException {

    public UserError(String message) {
        this(message, null);
    }

    public UserError(String message, Throwable cause) {
        // one line: names in damaged files may have line breaks
        super(message.replaceAll("\\R|\\p{Cntrl}", " "), cause);
    }
}
