package io.github.djlpositional.examples;

import picocli.CommandLine;

/** Something that the user of a program can mend; its message is all that they need to see. */
public final class UserError extends RuntimeException {

    private static final long serialVersionUID = 1;

    private static final String ADVICE = " (--help shows all options)";

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

    /**
     * Lets a program tell such an error, and what is wrong with its options, in one line; anything else with its trace.
     *
     * @param program any command line
     * @return the same
     */
    public static CommandLine inOneLine(CommandLine program) {
        return program.setParameterExceptionHandler((error, given) -> {
                    error.getCommandLine().getErr().println("error: " + error.getMessage() + ADVICE);
                    return CommandLine.ExitCode.USAGE;
                })
                .setExecutionExceptionHandler((error, line, result) -> {
                    if (error instanceof UserError) {
                        line.getErr().println("error: " + error.getMessage());
                    } else {
                        error.printStackTrace(line.getErr());
                    }
                    return CommandLine.ExitCode.SOFTWARE;
                });
    }
}
