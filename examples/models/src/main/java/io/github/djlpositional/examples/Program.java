package io.github.djlpositional.examples;

import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * The common part of the command lines of all example programs: one-line errors, checks of options, and the version.
 */
public final class Program implements IVersionProvider {

    @Override
    public String[] getVersion() {
        String version = Program.class.getPackage().getImplementationVersion();
        return new String[] {"djl-positional examples " + (version == null ? "(not from a jar)" : version)};
    }

    /** Turns off DJL's usage reporting, which connects to the internet; call this before DJL starts. */
    public static void optOutOfTracking() {
        System.setProperty("OPT_OUT_TRACKING", "true");
    }

    /**
     * Creates the command line of a picocli command. It prints a {@link UserError}, a failure of a disk or an invalid
     * option as one line, and any other exception with its stack trace.
     */
    public static CommandLine commandLine(Object command) {
        return new CommandLine(command)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler((error, given) -> {
                    error.getCommandLine()
                            .getErr()
                            .println("error: " + error.getMessage() + " (--help shows all options)");
                    return CommandLine.ExitCode.USAGE;
                })
                .setExecutionExceptionHandler((error, line, result) -> {
                    if (error instanceof UserError) {
                        line.getErr().println("error: " + error.getMessage());
                    } else if (error instanceof IOException) {
                        line.getErr()
                                .println("error: a file could not be read or written (" + error
                                        + "): free some space, or name another file");
                    } else {
                        error.printStackTrace(line.getErr());
                    }
                    return CommandLine.ExitCode.SOFTWARE;
                });
    }

    /** Runs checks that throw an {@link IllegalArgumentException}, and reports it as picocli reports an option. */
    public static void checkOptions(CommandSpec command, Runnable checks) {
        try {
            checks.run();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(command.commandLine(), e.getMessage(), e);
        }
    }
}
