package io.github.djlpositional.examples;

/** Something that the user of a program can mend; its message is all that they need to see. */
final class UserError extends RuntimeException {

    private static final long serialVersionUID = 1;

    UserError(String message) {
        super(message);
    }

    UserError(String message, Throwable cause) {
        super(message, cause);
    }
}
