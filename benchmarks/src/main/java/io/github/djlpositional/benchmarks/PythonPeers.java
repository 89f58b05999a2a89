package io.github.djlpositional.benchmarks;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** What PyTorch users write in Python, measured by a Python that waits for its turn. */
final class PythonPeers implements AutoCloseable {

    private final String python;
    private final int threads;
    private final Process process;
    private final BufferedReader answers;
    private final Writer questions;
    private final String version;

    private PythonPeers(
            String python, int threads, Process process, BufferedReader answers, Writer questions, String version) {
        this.python = python;
        this.threads = threads;
        this.process = process;
        this.answers = answers;
        this.questions = questions;
        this.version = version;
    }

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

    /** Starts the first python3 of a path that has torch; returns null where none has. */
    static PythonPeers startFirst(String path, int threads) throws IOException {
        for (String folder : path.split(File.pathSeparator, -1)) {
            PythonPeers peers = start(Path.of(folder, "python3").toString(), threads);
            if (peers != null) {
                return peers;
            }
        }
        return null;
    }

    /** Starts the same Python again. */
    PythonPeers another() throws IOException {
        return start(python, threads);
    }

    /** Which torch it is. */
    String version() {
        return version;
    }

    /** The mean time of a call, in microseconds. */
    double time(String name, String shape, double seconds) {
        try {
            questions.write(String.format(Locale.ROOT, "%s %s %f%n", name, shape, seconds));
            questions.flush();
            String answer = answers.readLine();
            if (answer == null) {
                throw new IllegalStateException("Python ended in " + name + " " + shape);
            }
            return Double.parseDouble(answer);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The most megabytes that it has needed so far. */
    long peakMegabytes() throws IOException {
        return ProcessMemory.peakMegabytes(process.pid());
    }

    @Override
    public void close() {
        process.destroy();
    }
}
