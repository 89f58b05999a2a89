package io.github.djlpositional.examples;

/** Something that the user of a program can mend; its message is all that they need to see. */
public final class UserError extends RuntimeException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an error.
     *
     * @param message what is wrong, and what to do
     */
    public UserError(String message) {
        super(message);
    }

    /**
     * Makes an error.
     *
     * @param message what is wrong, and what to do
     * @param cause what it came from
     */
    public UserError(String message, Throwable cause) {
        super(message, cause);
    }
}
