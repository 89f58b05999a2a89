package io.github.djlpositional.examples;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Clients that ask one sentence after the other, each as soon as it has the answer to the one before, and compare every
 * answer with the one that is known to be right.
 */
final class LoadClients implements AutoCloseable {

    /** How long a client waits for an answer before it counts as none. */
    private static final long PATIENCE_SECONDS = 60;

    /** Latencies are kept to three digits. */
    static final int DIGITS = 3;

    /**
     * A sentence and its judgement.
     *
     * @param sentence what is asked
     * @param judgement what must be answered
     */
    record Known(String sentence, Judgement judgement) {}

    private final List<Known> known;
    private final JudgementDifference allowed;
    private final Function<String, CompletableFuture<Judgement>> server;
    private final StartedThreads started;
    private final Recorder latencies = new Recorder(DIGITS);
    private final AtomicLong wrong = new AtomicLong();
    private final AtomicReference<String> firstWrong = new AtomicReference<>();
    private final AtomicReference<JudgementDifference> greatestDifference =
            new AtomicReference<>(JudgementDifference.NONE);
    private volatile boolean isClosed;

    /**
     * Starts the clients.
     *
     * @param clients how many
     * @param known what they ask, all of it, each client from another place on
     * @param allowed how far an answer may be from the one known
     * @param server what they ask
     */
    LoadClients(
            int clients,
            List<Known> known,
            JudgementDifference allowed,
            Function<String, CompletableFuture<Judgement>> server) {
        this(clients, known, allowed, server, new StartedThreads());
    }

    /** Starts the clients' threads as it is told. */
    LoadClients(
            int clients,
            List<Known> known,
            JudgementDifference allowed,
            Function<String, CompletableFuture<Judgement>> server,
            StartedThreads started) {
        this.known = known;
        this.allowed = allowed;
        this.server = server;
        this.started = started;
        try {
            for (int i = 0; i < clients; i++) {
                int from = (int) ((long) i * known.size() / clients);
                started.start("client-" + i, () -> askFrom(from));
            }
        } catch (RuntimeException | Error e) {
            // nobody else can: the caller gets no clients
            close();
            throw e;
        }
    }

    private void askFrom(int from) {
        for (int i = from; !isClosed; i = (i + 1) % known.size()) {
            ask(known.get(i));
        }
    }

    private void ask(Known question) {
        long start = System.nanoTime();
        try {
            Judgement answer = server.apply(question.sentence)
                    .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .join();
            latencies.recordValue(System.nanoTime() - start);
            JudgementDifference difference = JudgementDifference.between(answer, question.judgement);
            greatestDifference.accumulateAndGet(difference, JudgementDifference::max);
            if (!difference.isWithin(allowed)) {
                countWrong(
                        question,
                        "a probability of " + answer.inOrder() + " instead of " + question.judgement.inOrder()
                                + ", differences of " + difference + "; allowed are " + allowed);
            }
        } catch (RuntimeException e) {
            countWrong(question, e.toString());
        }
    }

    private void countWrong(Known question, String what) {
        wrong.incrementAndGet();
        firstWrong.compareAndSet(null, "'" + question.sentence + "': " + what);
    }

    /** The latencies in nanoseconds since the last call. */
    Histogram newLatencies() {
        return latencies.getIntervalHistogram();
    }

    /** How many answers were wrong, or none. */
    long wrong() {
        return wrong.get();
    }

    /** The first wrong answer, or null. */
    String firstWrong() {
        return firstWrong.get();
    }

    /** The greatest difference between an answer and the one known. */
    JudgementDifference greatestDifference() {
        return greatestDifference.get();
    }

    /** Ends the clients, each after the answer that it waits for. */
    @Override
    public void close() {
        isClosed = true;
        started.close();
    }
}
