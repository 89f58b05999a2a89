package io.github.djlpositional.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Java program in a process of its own, with the class path of the tests. */
public final class JavaProgram {

    private JavaProgram() {}

    /** Prepares the main method of a class, with options of the JVM. */
    public static ProcessBuilder of(List<String> options, Class<?> program, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-DOPT_OUT_TRACKING=true");
        // newer JDKs warn of each library with native code
        command.add("--enable-native-access=ALL-UNNAMED");
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command);
    }

    /** Runs the main method of a class, which must succeed; returns what it printed. */
    public static String run(List<String> options, Class<?> program, String... arguments)
            throws IOException, InterruptedException {
        Process process =
                of(options, program, arguments).redirectError(Redirect.INHERIT).start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).as(printed).isZero();
        return printed;
    }
}
