package io.github.djlpositional.examples;

/** An error that the user of a program can fix. The program prints only its message, which has one line. */
public final class UserError extends RuntimeException {

    /**
     * Creates an error.
     *
     * @param message what is wrong, and what to do
     */
    public UserError(String message) {
        this(message, null);
    }

    /**
     * Creates an error.
     *
     * @param message what is wrong, and what to do
     * @param cause the cause
     */
    public UserError(String message, Throwable cause) {
        // names in damaged files may have line breaks
        super(message.replaceAll("\\R|\\p{Cntrl}", " "), cause);
    }
}
