package io.github.djlpositional.examples.encoder;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecoderExampleTest {

    private static final List<String> SHORT = List.of("-Dsteps=10");

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void trainsAndContinuesAText(String engine) throws Exception {
        String out =
                Run.of(engine, SHORT, DecoderExample.class, "Alas, poor Yorick").success();
        assertThat(out).contains("Training with " + engine + " on ").contains("400 characters in ");
        String text = out.substring(out.indexOf("\nAlas, poor Yorick") + 1, out.indexOf("\n\n400"));
        assertThat(text).hasSize("Alas, poor Yorick".length() + 400);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "naïve"})
    void saysWhatATextMayHave(String prompt) throws Exception {
        assertThat(Run.of("PyTorch", SHORT, DecoderExample.class, prompt).error())
                .contains("'" + prompt + "'");
    }
}
