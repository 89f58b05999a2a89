package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDList;
import ai.djl.nn.Blocks;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.Translator;
import ai.djl.translate.TranslatorContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every request is completed, also after failures. */
@Timeout(60)
class DynamicBatcherTest {

    /** Answers each number with the same number; some numbers cause failures. */
    private static class Echo implements Translator<Integer, Integer> {

        static final int RUNS_OUT_OF_MEMORY = -1;
        static final int ENDS_ITS_THREAD = -2;

        @Override
        public NDList processInput(TranslatorContext ctx, Integer input) {
            if (input == RUNS_OUT_OF_MEMORY) {
                throw new OutOfMemoryError("on request");
            }
            if (input == ENDS_ITS_THREAD) {
                Thread.currentThread().interrupt();
            }
            return new NDList(ctx.getNDManager().create(new int[] {input}));
        }

        @Override
        public Integer processOutput(TranslatorContext ctx, NDList list) {
            return list.singletonOrThrow().toIntArray()[0];
        }
    }

    /** Gives one answer for a batch of any size, after the latch is open. */
    private static final class OneForAll extends Echo {

        private final CountDownLatch latch = new CountDownLatch(1);
        private final List<Integer> batches = new CopyOnWriteArrayList<>();

        @Override
        public NDList processInput(TranslatorContext ctx, Integer input) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return super.processInput(ctx, input);
        }

        @Override
        public List<Integer> batchProcessOutput(TranslatorContext ctx, NDList list) {
            int[] numbers = list.singletonOrThrow().toIntArray();
            batches.add(numbers.length);
            return List.of(numbers[0]);
        }
    }

    @BeforeAll
    static void requirePyTorch() {
        Engines.assumeAvailable("PyTorch");
    }

    private static ZooModel<Integer, Integer> model(Translator<Integer, Integer> translator) {
        Model model = Model.newInstance("echo", "PyTorch");
        model.setBlock(Blocks.identityBlock());
        return new ZooModel<>(model, translator);
    }

    /** Sends all inputs to a batcher with one thread, and closes it. */
    private static List<CompletableFuture<Integer>> asked(Translator<Integer, Integer> translator, Integer... inputs) {
        List<CompletableFuture<Integer>> answers = new ArrayList<>();
        try (ZooModel<Integer, Integer> model = model(translator);
                DynamicBatcher<Integer, Integer> batcher = new DynamicBatcher<>(model, 1, 4, Thread::new)) {
            for (Integer input : inputs) {
                answers.add(batcher.ask(input));
            }
        }
        return answers;
    }

    private static void assertFailed(CompletableFuture<Integer> answer, String message) {
        assertThat(answer).isCompletedExceptionally();
        assertThatThrownBy(answer::get).hasRootCauseMessage(message);
    }

    @Test
    void errorFailsItsBatchAndTheThreadContinues() throws Exception {
        try (ZooModel<Integer, Integer> model = model(new Echo());
                DynamicBatcher<Integer, Integer> batcher = new DynamicBatcher<>(model, 1, 4, Thread::new)) {
            CompletableFuture<Integer> failed = batcher.ask(Echo.RUNS_OUT_OF_MEMORY);
            assertThatThrownBy(() -> failed.get(30, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(OutOfMemoryError.class)
                    .hasRootCauseMessage("on request");
            assertThat(batcher.ask(7).get(30, TimeUnit.SECONDS)).isEqualTo(7);
        }
    }

    @Test
    void everyRequestIsCompletedInSpiteOfErrors() {
        List<CompletableFuture<Integer>> answers =
                asked(new Echo(), 1, 2, Echo.RUNS_OUT_OF_MEMORY, 3, 4, 5, Echo.RUNS_OUT_OF_MEMORY, 6);
        assertThat(answers).allMatch(CompletableFuture::isDone);
        assertFailed(answers.get(2), "on request");
        assertFailed(answers.get(6), "on request");
    }

    @Test
    void answersOfAnIncompleteBatchAreNotUsed() throws Exception {
        OneForAll translator = new OneForAll();
        List<CompletableFuture<Integer>> answers = new ArrayList<>();
        try (ZooModel<Integer, Integer> model = model(translator);
                DynamicBatcher<Integer, Integer> batcher = new DynamicBatcher<>(model, 1, 4, Thread::new)) {
            for (int i = 0; i < 8; i++) {
                answers.add(batcher.ask(i));
            }
            translator.latch.countDown();
        }
        assertThat(translator.batches).as("larger batches").anyMatch(size -> size > 1);
        assertThat(answers).allMatch(CompletableFuture::isDone);
        for (int i = 0; i < 8; i++) {
            // predicted again without others, one answer is complete
            assertThat(answers.get(i).get()).isEqualTo(i);
        }
    }

    @Test
    void missingAnswerIsAFailure() {
        List<CompletableFuture<Integer>> answers = asked(
                new Echo() {
                    @Override
                    public List<Integer> batchProcessOutput(TranslatorContext ctx, NDList list) {
                        return List.of();
                    }
                },
                1);
        assertFailed(
                answers.get(0), "0 answers to a batch of 1: expected one for each input; fix the model's translator");
    }

    @Test
    void requestsFailIfNoThreadIsLeft() throws Exception {
        try (ZooModel<Integer, Integer> model = model(new Echo());
                DynamicBatcher<Integer, Integer> batcher = new DynamicBatcher<>(model, 1, 1, Thread::new)) {
            assertThat(batcher.ask(Echo.ENDS_ITS_THREAD).get(30, TimeUnit.SECONDS))
                    .isEqualTo(Echo.ENDS_ITS_THREAD);
            for (int i = 0; i < 3; i++) {
                CompletableFuture<Integer> answer = batcher.ask(i);
                assertThatThrownBy(() -> answer.get(30, TimeUnit.SECONDS))
                        .hasRootCauseMessage("no predicting thread is left: create a new batcher");
            }
        }
    }

    @Test
    void failureToCreateAPredictorIsThrown() {
        try (ZooModel<Integer, Integer> model = new ZooModel<>(model(new Echo()), new Echo()) {
            private int made;

            @Override
            public Predictor<Integer, Integer> newPredictor() {
                if (made++ == 1) {
                    throw new NoClassDefFoundError("on request");
                }
                return super.newPredictor();
            }
        }) {
            assertThatThrownBy(() -> new DynamicBatcher<>(model, 2, 4, Thread::new))
                    .isInstanceOf(NoClassDefFoundError.class)
                    .hasMessage("on request");
        }
    }

    @Test
    void failureToStartAThreadEndsTheOthersAndClosesThePredictors() {
        List<Thread> made = new ArrayList<>();
        AtomicInteger open = new AtomicInteger();
        try (ZooModel<Integer, Integer> model = new ZooModel<>(model(new Echo()), new Echo()) {
            @Override
            public Predictor<Integer, Integer> newPredictor() {
                open.incrementAndGet();
                return new Predictor<>(this, getTranslator(), getNDManager().getDevice(), false) {
                    @Override
                    public void close() {
                        open.decrementAndGet();
                        super.close();
                    }
                };
            }
        }) {
            assertThatThrownBy(() -> new DynamicBatcher<>(model, 4, 4, StartedThreadsTest.thatRunOutAfter(2, made)))
                    .isInstanceOf(OutOfMemoryError.class)
                    .hasMessage(StartedThreadsTest.NO_MORE);
        }
        assertThat(made).hasSize(3).noneMatch(Thread::isAlive);
        assertThat(open).hasValue(0);
    }
}
