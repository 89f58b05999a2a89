package io.github.djlpositional.examples;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/** Clients that each send the next sentence as soon as the previous one is answered, and compare every answer. */
final class LoadClients implements AutoCloseable {

    private static final long TIMEOUT_SECONDS = 60;

    /** The number of significant digits of latencies. */
    static final int DIGITS = 3;

    /** A sentence and the expected judgement. */
    record Known(String sentence, Judgement judgement) {}

    private final List<Known> known;
    private final Judgement.Difference limit;
    private final Function<String, CompletableFuture<Judgement>> server;
    private final StartedThreads started;
    private final Recorder latencies = new Recorder(DIGITS);
    private final AtomicLong wrong = new AtomicLong();
    private final AtomicReference<String> firstWrong = new AtomicReference<>();
    private final AtomicReference<Judgement.Difference> greatestDifference =
            new AtomicReference<>(Judgement.Difference.NONE);
    private volatile boolean isClosed;

    /**
     * Starts clients, each at a different sentence. The limit is the greatest difference expected from the known
     * judgement.
     */
    LoadClients(
            int clients,
            List<Known> known,
            Judgement.Difference limit,
            Function<String, CompletableFuture<Judgement>> server,
            ThreadFactory factory) {
        this.known = known;
        this.limit = limit;
        this.server = server;
        started = new StartedThreads(factory);
        try {
            for (int i = 0; i < clients; i++) {
                int from = (int) ((long) i * known.size() / clients);
                started.start("client-" + i, () -> run(from));
            }
        } catch (RuntimeException | Error e) {
            // the caller gets no object that it could close
            close();
            throw e;
        }
    }

    private void run(int from) {
        for (int i = from; !isClosed; i = (i + 1) % known.size()) {
            ask(known.get(i));
        }
    }

    private void ask(Known question) {
        long start = System.nanoTime();
        try {
            Judgement answer = server.apply(question.sentence)
                    .orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                    .join();
            latencies.recordValue(System.nanoTime() - start);
            Judgement.Difference difference = answer.differenceTo(question.judgement);
            greatestDifference.accumulateAndGet(difference, Judgement.Difference::max);
            if (!difference.isWithin(limit)) {
                countWrong(
                        question,
                        "a probability of " + answer.inOrder() + " instead of " + question.judgement.inOrder()
                                + ", differences of " + difference + "; expected at most " + limit);
            }
        } catch (RuntimeException e) {
            countWrong(question, e.toString());
        }
    }

    private void countWrong(Known question, String reason) {
        wrong.incrementAndGet();
        firstWrong.compareAndSet(null, "'" + question.sentence + "': " + reason);
    }

    /** Returns the latencies since the last call, in nanoseconds. */
    Histogram newLatencies() {
        return latencies.getIntervalHistogram();
    }

    /** Returns the number of wrong or missing answers. */
    long wrong() {
        return wrong.get();
    }

    /** Returns a description of the first wrong answer, or null. */
    String firstWrong() {
        return firstWrong.get();
    }

    /** Returns the greatest difference between an answer and the known judgement. */
    Judgement.Difference greatestDifference() {
        return greatestDifference.get();
    }

    /** Stops each client after its current request. */
    @Override
    public void close() {
        isClosed = true;
        started.close();
    }
}
