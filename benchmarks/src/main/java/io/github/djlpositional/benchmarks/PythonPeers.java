package io.github.djlpositional.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * What PyTorch users write in Python, measured by a Python that waits for its turn.
 *
 * @param version which torch it has
 */
record PythonPeers(
        String python, int threads, Process process, BufferedReader answers, Writer questions, String version)
        implements AutoCloseable {

    /** Starts a Python; returns null where it does not start or has no torch. */
    static PythonPeers start(String python, int threads) throws IOException {
        Path script = Files.createTempFile("peers", ".py");
        script.toFile().deleteOnExit();
        try (InputStream in = PythonPeers.class.getResourceAsStream("/peers.py")) {
            Files.write(script, in.readAllBytes());
        }
        Process process;
        try {
            process = new ProcessBuilder(python, script.toString(), Integer.toString(threads))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            return null;
        }
        BufferedReader answers =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String version = answers.readLine();
        if (version == null) {
            process.destroy();
            return null;
        }
        Writer questions = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
        return new PythonPeers(python, threads, process, answers, questions, version);
    }

    /** The mean time of a call, in microseconds. */
    double time(Case measured, double seconds) throws IOException {
        questions.write(String.format(
                Locale.ROOT,
                "%s %s %s %f%n",
                measured.operation(),
                measured.sizes(","),
                measured.kind() == null ? "none" : measured.kind().text(),
                seconds));
        questions.flush();
        String answer = answers.readLine();
        if (answer == null) {
            throw new IOException("Python ended in " + measured);
        }
        return Double.parseDouble(answer);
    }

    @Override
    public void close() {
        process.destroy();
    }
}
