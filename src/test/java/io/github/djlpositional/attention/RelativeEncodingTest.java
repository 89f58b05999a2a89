package io.github.djlpositional.attention;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.junit.jupiter.api.Assertions.assertAll;

import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Relative encodings by the names of their papers. */
class RelativeEncodingTest {

    @Test
    void rejectsUnknownNamesAndListsTheKnownOnes() {
        assertAll(Stream.of("", "-", "alibis", "RotaryEmbedding", null)
                .map(name -> rejected(
                        () -> RelativeEncoding.named(name, 2, 4, Map.of()),
                        String.valueOf(name),
                        "rotary",
                        "RoPE",
                        "ALiBi",
                        "T5")));
    }

    @Test
    void rejectsArgumentsThatAnEncodingDoesNotHave() {
        assertAll(rejected(() -> RelativeEncoding.named("T5", 2, 4, Map.of("headSize", 4)), "headSize"));
    }
}
