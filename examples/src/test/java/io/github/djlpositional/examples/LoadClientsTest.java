package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoadClientsTest {

    private static final List<LoadClients.Known> KNOWN =
            List.of(new LoadClients.Known("a b", 0.25), new LoadClients.Known("b a", 0.75));

    /** Two clients that have asked at least ten times, and are done. */
    private static LoadClients asked(Function<String, CompletableFuture<Double>> server) throws InterruptedException {
        CountDownLatch questions = new CountDownLatch(10);
        LoadClients clients = new LoadClients(2, KNOWN, 0.01, sentence -> {
            questions.countDown();
            return server.apply(sentence);
        });
        try (clients) {
            questions.await();
        }
        return clients;
    }

    @Test
    void takeAnswersWithinTheTolerance() throws Exception {
        LoadClients clients =
                asked(sentence -> CompletableFuture.completedFuture(sentence.equals("a b") ? 0.2501 : 0.7502));
        assertThat(clients.wrong()).isZero();
        assertThat(clients.firstWrong()).isNull();
        assertThat(clients.greatestDifference()).isBetween(0.00019, 0.00021);
        assertThat(clients.newLatencies().getTotalCount()).isGreaterThanOrEqualTo(10);
    }

    @Test
    void countTheAnswerToAnotherSentence() throws Exception {
        LoadClients clients =
                asked(sentence -> CompletableFuture.completedFuture(sentence.equals("a b") ? 0.75 : 0.25));
        assertThat(clients.wrong()).isGreaterThanOrEqualTo(10);
        assertThat(clients.firstWrong()).matches("'(a b|b a)': 0\\.[27]5 instead of 0\\.[27]5, allowed is .* 0\\.01");
    }

    @Test
    void countWhatIsNoNumber() throws Exception {
        assertThat(asked(sentence -> CompletableFuture.completedFuture(Double.NaN))
                        .wrong())
                .isGreaterThanOrEqualTo(10);
    }

    @Test
    void countWhatIsNotAnswered() throws Exception {
        LoadClients clients =
                asked(sentence -> CompletableFuture.failedFuture(new IllegalStateException("out of order")));
        assertThat(clients.wrong()).isGreaterThanOrEqualTo(10);
        assertThat(clients.firstWrong()).contains("out of order");
    }
}
