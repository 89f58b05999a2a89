package io.github.djlpositional.examples;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Programs in a separate JVM with the class path of the tests. */
final class JavaProgram {

    private JavaProgram() {}

    /** Creates a process with the default options of the JVM. */
    static ProcessBuilder of(Class<?> main, String... args) {
        return with(List.of(), main, args);
    }

    /**
     * Creates a process.
     *
     * @param options the options of the JVM
     * @param main the class with the main method
     * @param args the arguments of the program
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
