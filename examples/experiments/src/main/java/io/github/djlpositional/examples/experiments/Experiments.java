package io.github.djlpositional.examples.experiments;

import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** What small transformers learn with each positional encoding. */
@Command(
        name = "experiments",
        mixinStandardHelpOptions = true,
        subcommands = {CompareEncodings.class, InspectEncoder.class},
        description = "Compare positional encodings by training small transformers, and look into those.")
public final class Experiments {

    private Experiments() {}

    /** Runs the program; {@code --help} lists the commands and their options. */
    public static void main(String[] args) {
        // otherwise DJL reports its use
        System.setProperty("OPT_OUT_TRACKING", "true");
        System.exit(commandLine().execute(args));
    }

    /** Returns the program, which {@code execute} runs without ending the JVM. */
    static CommandLine commandLine() {
        return new CommandLine(new Experiments())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setExecutionExceptionHandler((error, line, result) -> {
                    if (!(error instanceof IOException)) {
                        throw error;
                    }
                    line.getErr()
                            .println("error: a file could not be read or written (" + error
                                    + "): free some space, or name another path");
                    return CommandLine.ExitCode.SOFTWARE;
                });
    }
}
