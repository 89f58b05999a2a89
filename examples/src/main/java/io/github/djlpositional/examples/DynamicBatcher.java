package io.github.djlpositional.examples;

import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Answers what many threads ask, with one model and a few threads that have a predictor each. What waits when one of them is
 * free goes through its predictor as one batch: alone while little is asked, together under load. Nothing waits for a batch
 * to fill.
 *
 * @param <I> what is asked
 * @param <O> what is answered
 */
final class DynamicBatcher<I, O> implements AutoCloseable {

    private static final long CLOSED_IS_SEEN_AFTER_MILLIS = 50;

    private static final class Question<I, O> {
        private final I input;
        private final CompletableFuture<O> answer = new CompletableFuture<>();

        Question(I input) {
            this.input = input;
        }
    }

    private final ZooModel<I, O> model;
    private final int largestBatch;
    private final BlockingQueue<Question<I, O>> waiting = new LinkedBlockingQueue<>();
    private final List<Thread> threads = new ArrayList<>();
    private final LongAdder batches = new LongAdder();
    private final LongAdder asked = new LongAdder();
    private volatile boolean isClosed;

    /**
     * Starts its threads.
     *
     * @param model made by the caller and closed by the caller, after this
     * @param threads how many threads predict
     * @param largestBatch how many inputs go through a predictor together, at most
     */
    DynamicBatcher(ZooModel<I, O> model, int threads, int largestBatch) {
        this.model = model;
        this.largestBatch = largestBatch;
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(this::serve, "predictor-" + i);
            thread.start();
            this.threads.add(thread);
        }
    }

    /**
     * Asks.
     *
     * @param input one input
     * @return its answer, or what the predictor threw at this input
     */
    CompletableFuture<O> ask(I input) {
        if (isClosed) {
            throw new IllegalStateException("the batcher is closed: ask before");
        }
        Question<I, O> question = new Question<>(input);
        waiting.add(question);
        return question.answer;
    }

    /** The mean number of inputs in a batch until now, or 0 before the first. */
    double meanBatchSize() {
        long count = batches.sum();
        return count == 0 ? 0 : (double) asked.sum() / count;
    }

    private void serve() {
        try (Predictor<I, O> predictor = model.newPredictor()) {
            List<Question<I, O>> batch = new ArrayList<>(largestBatch);
            while (!(isClosed && waiting.isEmpty())) {
                Question<I, O> first = waiting.poll(CLOSED_IS_SEEN_AFTER_MILLIS, TimeUnit.MILLISECONDS);
                if (first != null) {
                    batch.add(first);
                    waiting.drainTo(batch, largestBatch - 1);
                    batches.increment();
                    asked.add(batch.size());
                    answer(predictor, batch);
                    batch.clear();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void answer(Predictor<I, O> predictor, List<Question<I, O>> batch) {
        try {
            List<O> answers = predictor.batchPredict(
                    batch.stream().map(question -> question.input).toList());
            for (int i = 0; i < answers.size(); i++) {
                batch.get(i).answer.complete(answers.get(i));
            }
        } catch (TranslateException | RuntimeException e) {
            if (batch.size() == 1) {
                batch.get(0).answer.completeExceptionally(e);
            } else {
                // one input that is refused must not take the others with it
                batch.forEach(question -> answer(predictor, List.of(question)));
            }
        }
    }

    /** Ends its threads once they have answered everything. Nobody may ask meanwhile. */
    @Override
    public void close() {
        isClosed = true;
        boolean wasInterrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    // the model must not be closed under a predictor
                    wasInterrupted = true;
                }
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
