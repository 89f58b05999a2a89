package io.github.djlpositional.examples;

import io.github.djlpositional.examples.llama.GenerateText;
import io.github.djlpositional.examples.sentences.SearchDefinitions;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** Published models built from the blocks of the library: search by meaning, and generate text. */
@Command(
        name = "models",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        subcommands = {SearchDefinitions.class, GenerateText.class},
        description = "Use published models that are built from the blocks of the library.")
public final class Models {

    private Models() {}

    /** Runs the program; {@code --help} lists the commands and their options. */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(commandLine().execute(args));
    }

    /** Returns the program, which {@code execute} runs without ending the JVM. */
    public static CommandLine commandLine() {
        return Program.commandLine(new Models());
    }
}
