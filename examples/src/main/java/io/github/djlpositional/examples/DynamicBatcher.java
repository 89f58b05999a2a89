package io.github.djlpositional.examples;

import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Answers the requests of many threads with one model and a few threads, each with its own predictor. A free thread
 * takes all waiting requests, up to a limit, as one batch. No request waits for a batch to fill.
 *
 * @param <I> the type of the inputs
 * @param <O> the type of the answers
 */
final class DynamicBatcher<I, O> implements AutoCloseable {

    private static final long POLL_MILLIS = 50;

    private record Request<I, O>(I input, CompletableFuture<O> answer) {}

    private final int largestBatch;
    private final BlockingQueue<Request<I, O>> waiting = new LinkedBlockingQueue<>();
    private final StartedThreads started;
    private final Recorder batchSizes = new Recorder(3);
    private final AtomicInteger serving;
    private volatile boolean isClosed;

    /** Creates the predictors and starts their threads. The caller closes the model after this batcher. */
    DynamicBatcher(ZooModel<I, O> model, int threads, int largestBatch, ThreadFactory factory) {
        this.largestBatch = largestBatch;
        started = new StartedThreads(factory);
        serving = new AtomicInteger(threads);
        List<Predictor<I, O>> predictors = new ArrayList<>();
        try {
            while (predictors.size() < threads) {
                predictors.add(model.newPredictor());
            }
            for (Predictor<I, O> predictor : predictors) {
                started.start("predictor-" + started.count(), () -> serve(predictor));
            }
        } catch (RuntimeException | Error e) {
            // the caller gets no batcher that it could close; each thread closes its own predictor
            close();
            predictors.subList(started.count(), predictors.size()).forEach(Predictor::close);
            throw e;
        }
    }

    /**
     * Adds a request.
     *
     * @param input one input
     * @return the answer, or the predictor's exception for this input; completed in any case
     */
    CompletableFuture<O> ask(I input) {
        if (isClosed) {
            throw new IllegalStateException("the batcher is closed: send requests before closing it");
        }
        Request<I, O> request = new Request<>(input, new CompletableFuture<>());
        waiting.add(request);
        if (serving.get() == 0) {
            failWaiting();
        }
        return request.answer;
    }

    /** Returns the sizes of the batches since the last call. */
    Histogram newBatchSizes() {
        return batchSizes.getIntervalHistogram();
    }

    private void serve(Predictor<I, O> predictor) {
        try (predictor) {
            List<Request<I, O>> batch = new ArrayList<>(largestBatch);
            while (!(isClosed && waiting.isEmpty())) {
                Request<I, O> first = waiting.poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (first != null) {
                    batch.add(first);
                    waiting.drainTo(batch, largestBatch - 1);
                    batchSizes.recordValue(batch.size());
                    answer(predictor, batch);
                    batch.clear();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (serving.decrementAndGet() == 0) {
                failWaiting();
            }
        }
    }

    private void answer(Predictor<I, O> predictor, List<Request<I, O>> batch) {
        try {
            try {
                predict(predictor, batch);
            } catch (TranslateException | RuntimeException e) {
                if (batch.size() == 1) {
                    throw e;
                }
                // an invalid input must not fail the others
                batch.forEach(request -> answer(predictor, List.of(request)));
            }
        } catch (Throwable e) {
            // also errors such as OutOfMemoryError; requests that are already answered keep their answers
            batch.forEach(request -> request.answer.completeExceptionally(e));
        }
    }

    private void predict(Predictor<I, O> predictor, List<Request<I, O>> batch) throws TranslateException {
        List<O> answers =
                predictor.batchPredict(batch.stream().map(Request::input).toList());
        if (answers.size() != batch.size()) {
            throw new IllegalStateException(answers.size() + " answers to a batch of " + batch.size()
                    + ": expected one for each input; fix the model's translator");
        }
        for (int i = 0; i < answers.size(); i++) {
            batch.get(i).answer.complete(answers.get(i));
        }
    }

    private void failWaiting() {
        for (Request<I, O> request = waiting.poll(); request != null; request = waiting.poll()) {
            request.answer.completeExceptionally(
                    new IllegalStateException("no predicting thread is left: create a new batcher"));
        }
    }

    /** Answers all waiting requests and ends the threads. No thread may send requests during the call. */
    @Override
    public void close() {
        isClosed = true;
        started.close();
    }
}
