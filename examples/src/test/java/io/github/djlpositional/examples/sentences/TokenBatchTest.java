package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TokenBatchTest {

    private static final List<long[]> IDS =
            List.of(new long[] {1, 2}, new long[] {3, 4, 5, 6}, new long[] {7}, new long[] {8, 9, 10});

    @Test
    void haveTextsOfSimilarLengthsTheLongestFirst() {
        assertThat(TokenBatch.sortedByLength(IDS, 8))
                .extracting(TokenBatch::texts)
                .containsExactly(List.of(1, 3), List.of(0, 2));
    }

    @Test
    void aTextThatIsTooLongIsABatchOfItsOwn() {
        assertThat(TokenBatch.sortedByLength(IDS, 3))
                .extracting(TokenBatch::texts)
                .containsExactly(List.of(1), List.of(3), List.of(0), List.of(2));
    }

    @Test
    void shorterTextsArePadded() {
        TokenBatch batch = TokenBatch.sortedByLength(IDS, 8).get(0);
        assertThat(batch.hasPadding()).isTrue();
        assertThat(batch.paddedIds().array()).containsExactly(3, 4, 5, 6, 8, 9, 10, 0);
        assertThat(batch.mask().array()).containsExactly(1, 1, 1, 1, 1, 1, 1, 0);
    }
}
