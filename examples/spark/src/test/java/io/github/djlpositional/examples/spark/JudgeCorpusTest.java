package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JudgeCorpusTest {

    @ParameterizedTest
    @ValueSource(strings = {"--batch=0", "--partitions=0", "--partitions=many", "--what"})
    void badOptionsEndWithOneLine(String option) {
        StringWriter err = new StringWriter();
        int status = JudgeCorpus.commandLine().setErr(new PrintWriter(err)).execute(option);
        assertThat(status).isEqualTo(2);
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("error: ")
                .endsWith("(--help shows all options)");
    }
}
