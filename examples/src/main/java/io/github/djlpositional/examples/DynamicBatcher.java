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
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Answers what many threads ask, with one model and a few threads that have a predictor each. What waits when one of
 * them is free goes through its predictor as one batch: alone while little is asked, together under load. Nothing waits
 * for a batch to fill.
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

    private final int largestBatch;
    private final BlockingQueue<Question<I, O>> waiting = new LinkedBlockingQueue<>();
    private final StartedThreads started;
    private final LongAdder batches = new LongAdder();
    private final LongAdder taken = new LongAdder();
    private final AtomicInteger serving;
    private volatile boolean isClosed;

    /**
     * Makes the predictors and starts their threads.
     *
     * @param model made by the caller and closed by the caller, after this
     * @param threads how many threads predict
     * @param largestBatch how many inputs go through a predictor together, at most
     */
    DynamicBatcher(ZooModel<I, O> model, int threads, int largestBatch) {
        this(model, threads, largestBatch, new StartedThreads());
    }

    /** Starts the threads as it is told. */
    DynamicBatcher(ZooModel<I, O> model, int threads, int largestBatch, StartedThreads started) {
        this.largestBatch = largestBatch;
        this.started = started;
        serving = new AtomicInteger(threads);
        // all of them before the first thread, so that a model that has none to give is the caller's to know
        List<Predictor<I, O>> predictors = predictors(model, threads);
        try {
            for (Predictor<I, O> predictor : predictors) {
                started.start("predictor-" + started.count(), () -> serve(predictor));
            }
        } catch (RuntimeException | Error e) {
            // nobody else can: the caller gets no batcher
            close();
            predictors.subList(started.count(), predictors.size()).forEach(Predictor::close);
            throw e;
        }
    }

    private static <I, O> List<Predictor<I, O>> predictors(ZooModel<I, O> model, int count) {
        List<Predictor<I, O>> predictors = new ArrayList<>();
        try {
            while (predictors.size() < count) {
                predictors.add(model.newPredictor());
            }
            return predictors;
        } catch (RuntimeException | Error e) {
            predictors.forEach(Predictor::close);
            throw e;
        }
    }

    /**
     * Asks.
     *
     * @param input one input
     * @return its answer, or what the predictor threw at this input; completed in any case
     */
    CompletableFuture<O> ask(I input) {
        if (isClosed) {
            throw new IllegalStateException("the batcher is closed: ask before");
        }
        Question<I, O> question = new Question<>(input);
        waiting.add(question);
        if (serving.get() == 0) {
            refuseWaiting();
        }
        return question.answer;
    }

    /** What was predicted until now. */
    BatchCount count() {
        return new BatchCount(batches.sum(), taken.sum());
    }

    private void serve(Predictor<I, O> predictor) {
        try (predictor) {
            List<Question<I, O>> batch = new ArrayList<>(largestBatch);
            while (!(isClosed && waiting.isEmpty())) {
                Question<I, O> first = waiting.poll(CLOSED_IS_SEEN_AFTER_MILLIS, TimeUnit.MILLISECONDS);
                if (first != null) {
                    batch.add(first);
                    waiting.drainTo(batch, largestBatch - 1);
                    batches.increment();
                    taken.add(batch.size());
                    answer(predictor, batch);
                    batch.clear();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (serving.decrementAndGet() == 0) {
                refuseWaiting();
            }
        }
    }

    private void answer(Predictor<I, O> predictor, List<Question<I, O>> batch) {
        try {
            try {
                answerTogether(predictor, batch);
            } catch (TranslateException | RuntimeException e) {
                if (batch.size() == 1) {
                    throw e;
                }
                // one input that is refused must not take the others with it
                batch.forEach(question -> answer(predictor, List.of(question)));
            }
        } catch (Throwable e) {
            // errors too, such as of memory: whoever waits must be told. What is answered stays so.
            batch.forEach(question -> question.answer.completeExceptionally(e));
        }
    }

    private void answerTogether(Predictor<I, O> predictor, List<Question<I, O>> batch) throws TranslateException {
        List<O> answers = predictor.batchPredict(
                batch.stream().map(question -> question.input).toList());
        if (answers.size() != batch.size()) {
            throw new IllegalStateException(answers.size() + " answers to a batch of " + batch.size()
                    + ": allowed is one to each; mend the model's translator");
        }
        for (int i = 0; i < answers.size(); i++) {
            batch.get(i).answer.complete(answers.get(i));
        }
    }

    /** Tells those who wait for a thread when there is none left. */
    private void refuseWaiting() {
        for (Question<I, O> question = waiting.poll(); question != null; question = waiting.poll()) {
            question.answer.completeExceptionally(
                    new IllegalStateException("no thread is left that predicts: make a new batcher"));
        }
    }

    /** Ends its threads once they have answered everything. Nobody may ask meanwhile. */
    @Override
    public void close() {
        isClosed = true;
        started.close();
    }
}
