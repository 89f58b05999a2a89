package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoadClientsTest {

    private static final List<LoadClients.Known> KNOWN =
            List.of(new LoadClients.Known("a b", judgement(0.25)), new LoadClients.Known("b a", judgement(0.75)));

    private static final Judgement.Difference LIMIT = new Judgement.Difference(0.01, 0.02);

    /** Returns a judgement with both probabilities as its embedding. */
    private static Judgement judgement(double inOrder) {
        return new Judgement(inOrder, List.of((float) inOrder, (float) (1 - inOrder)));
    }

    /** Runs two clients until they have sent ten requests. */
    private static LoadClients asked(Function<String, CompletableFuture<Judgement>> server)
            throws InterruptedException {
        CountDownLatch questions = new CountDownLatch(10);
        LoadClients clients = new LoadClients(
                2,
                KNOWN,
                LIMIT,
                sentence -> {
                    questions.countDown();
                    return server.apply(sentence);
                },
                Thread::new);
        try (clients) {
            questions.await();
        }
        return clients;
    }

    @Test
    void acceptAnswersWithinTheLimit() throws Exception {
        LoadClients clients = asked(
                sentence -> CompletableFuture.completedFuture(judgement(sentence.equals("a b") ? 0.2501 : 0.7502)));
        assertThat(clients.wrong()).isZero();
        assertThat(clients.firstWrong()).isNull();
        assertThat(clients.greatestDifference().inOrder()).isBetween(0.00019, 0.00021);
        assertThat(clients.greatestDifference().embedding()).isBetween(0.00019, 0.00021);
        assertThat(clients.newLatencies().getTotalCount()).isGreaterThanOrEqualTo(10);
    }

    @Test
    void countTheAnswerToAnotherSentence() throws Exception {
        LoadClients clients =
                asked(sentence -> CompletableFuture.completedFuture(judgement(sentence.equals("a b") ? 0.75 : 0.25)));
        assertThat(clients.wrong()).isGreaterThanOrEqualTo(10);
        assertThat(clients.firstWrong())
                .matches("'(a b|b a)': a probability of 0\\.[27]5 instead of 0\\.[27]5, differences of"
                        + " 5\\.0e-01 \\(probability\\) and 5\\.0e-01 \\(embedding\\); expected at most"
                        + " 1\\.0e-02 \\(probability\\) and 2\\.0e-02 \\(embedding\\)");
    }

    @Test
    void countTheEmbeddingOfAnotherSentenceOfTheSameProbability() throws Exception {
        LoadClients clients = asked(sentence -> CompletableFuture.completedFuture(
                sentence.equals("a b")
                        ? new Judgement(0.25, List.of(0.25f, 0.7f))
                        : new Judgement(0.75, List.of(0.75f))));
        assertThat(clients.wrong()).isGreaterThanOrEqualTo(10);
    }

    @Test
    void countNaN() throws Exception {
        assertThat(asked(sentence -> CompletableFuture.completedFuture(judgement(Double.NaN)))
                        .wrong())
                .isGreaterThanOrEqualTo(10);
    }

    @Test
    void countMissingAnswers() throws Exception {
        LoadClients clients =
                asked(sentence -> CompletableFuture.failedFuture(new IllegalStateException("out of order")));
        assertThat(clients.wrong()).isGreaterThanOrEqualTo(10);
        assertThat(clients.firstWrong()).contains("out of order");
    }

    @Test
    void failureToStartAThreadEndsTheOthers() {
        List<Thread> made = new ArrayList<>();
        assertThatThrownBy(() -> new LoadClients(
                        4,
                        KNOWN,
                        LIMIT,
                        sentence -> CompletableFuture.completedFuture(judgement(0.25)),
                        StartedThreadsTest.thatRunOutAfter(2, made)))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessage(StartedThreadsTest.NO_MORE);
        assertThat(made).hasSize(3).noneMatch(Thread::isAlive);
    }
}
