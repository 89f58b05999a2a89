package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import org.junit.jupiter.api.Test;

class ProgressTest {

    private static String printed(boolean isTerminal, int total, int amount) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, Charset.defaultCharset()));
        try {
            Progress progress = new Progress("Embedding", total, isTerminal);
            for (int added = 0; added < total; added += amount) {
                progress.add(Math.min(amount, total - added));
            }
        } finally {
            System.setOut(before);
        }
        return printed.toString(Charset.defaultCharset());
    }

    @Test
    void isALineForEachTenthInAFile() {
        String printed = printed(false, 1000, 1);
        assertThat(printed).doesNotContain("\r");
        assertThat(printed.lines()).hasSize(10).allMatch(line -> line.matches("Embedding: +\\d+ %  0:00 left"));
        assertThat(printed.lines().map(line -> line.replaceAll("\\D+(\\d+) %.*", "$1")))
                .containsExactly("10", "20", "30", "40", "50", "60", "70", "80", "90", "100");
    }

    @Test
    void isABarOnATerminal() {
        assertThat(printed(true, 1000, 1)).contains("\rEmbedding:    50% |").endsWith(System.lineSeparator());
    }
}
