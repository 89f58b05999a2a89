package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.AttentionMaps;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingTest {

    @Tag("slow")
    @Test
    void writesTheTablesThatAreShipped(@TempDir Path folder) throws Exception {
        Training.run(folder, 130);
        for (String name : List.of("attention", "positions")) {
            assertThat(shape(Files.readString(folder.resolve(name + ".csv"))))
                    .isEqualTo(shape(PlayScript.resource("/trained/" + name + ".csv")));
        }
    }

    /** The text without its digits after the point, and without signs. */
    private static String shape(String csv) {
        return csv.replaceAll("-?\\d\\.\\d+", "x");
    }

    @Test
    void shippedAttentionIsOfTheSentencesThatAreTrained() throws Exception {
        assertThat(Trained.attention())
                .extracting(maps -> String.join(" ", maps.words()))
                .isEqualTo(Training.SENTENCES);
        for (AttentionMaps maps : Trained.attention()) {
            assertThat(maps.layers())
                    .allMatch(heads -> heads.stream()
                            .allMatch(weights -> weights.length
                                    == maps.words().size() * maps.words().size()));
        }
    }
}
