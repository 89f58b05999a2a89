package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;

/** The exit status and the output of a program. */
public record ProgramRun(int status, String out, String err) {

    /** Options of a JVM that runs for seconds. */
    public static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    /**
     * Runs a program with options that are separated by spaces, and further ones, such as paths, that may contain
     * spaces.
     */
    public static ProgramRun of(CommandLine program, String options, Object... more) {
        return run(program, Stream.concat(words(options), Stream.of(more).map(Object::toString)));
    }

    private static Stream<String> words(String options) {
        return Stream.of(options.split(" ", -1));
    }

    private static ProgramRun run(CommandLine program, Stream<String> args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = program.setOut(new PrintWriter(out))
                .setErr(new PrintWriter(err))
                .execute(args.toArray(String[]::new));
        return new ProgramRun(status, out.toString(), err.toString());
    }

    /** Checks that the run succeeded without messages, and returns the output. */
    public String success() {
        assertThat(err).isEmpty();
        assertThat(status).isZero();
        return out;
    }

    /** Checks that the run failed with a message of one line, and returns it. */
    public String error(int expectedStatus) {
        List<String> lines = err.lines().toList();
        assertThat(status).as(err).isEqualTo(expectedStatus);
        assertThat(lines).singleElement().asString().startsWith("error: ");
        return lines.get(0);
    }
}
