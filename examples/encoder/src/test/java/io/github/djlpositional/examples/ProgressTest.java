package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import org.junit.jupiter.api.Test;

class ProgressTest {

    private static String printed(boolean isTerminal) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, Charset.defaultCharset()));
        try {
            Progress progress = new Progress("Embedding", 1000, isTerminal);
            for (int i = 0; i < 1000; i++) {
                progress.add(1);
            }
        } finally {
            System.setOut(before);
        }
        return printed.toString(Charset.defaultCharset());
    }

    @Test
    void isALineForEachTenthInAFile() {
        String printed = printed(false);
        assertThat(printed).doesNotContain("\r");
        assertThat(printed.lines()).hasSize(10).startsWith("Embedding:    10 %  0:00 left");
    }

    @Test
    void isABarOnATerminal() {
        assertThat(printed(true)).contains("\rEmbedding:    50% |").endsWith(System.lineSeparator());
    }
}
