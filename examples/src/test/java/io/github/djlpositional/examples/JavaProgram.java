package io.github.djlpositional.examples;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Programs in a JVM of their own, with what the tests have on their class path. */
final class JavaProgram {

    private JavaProgram() {}

    /** A program with the JVM's own settings, to be started. */
    static ProcessBuilder of(Class<?> main, String... args) {
        return with(List.of(), main, args);
    }

    /**
     * A program, to be started.
     *
     * @param options the JVM's
     * @param main has the main method
     * @param args the program's
     */
    static ProcessBuilder with(List<String> options, Class<?> main, String... args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command);
    }
}
