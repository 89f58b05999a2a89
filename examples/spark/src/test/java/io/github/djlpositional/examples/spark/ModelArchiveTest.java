package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.djlpositional.examples.SmallEncoder;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What of a model's folder is sent to the executors. */
class ModelArchiveTest {

    @TempDir
    private static Path created;

    @TempDir
    private Path folder;

    private static Path saved;

    @BeforeAll
    static void create() throws IOException {
        saved = Corpus.create(created, 10).model();
    }

    @BeforeEach
    void copy() throws IOException {
        SmallEncoder.copy(saved, folder);
    }

    @Test
    void onlyWhatLoadingReadsIsSent() throws Exception {
        Path secret = Files.writeString(created.resolve("secret"), "of the user");
        Files.createSymbolicLink(folder.resolve("x"), secret);
        Files.writeString(folder.resolve("notes.txt"), "of the user");
        try (ZipFile zip = new ZipFile(ModelArchive.zipped(folder).toFile())) {
            assertThat(zip.stream().map(ZipEntry::getName))
                    .containsExactlyInAnyOrder("encoder.properties", "encoder-0000.params", "vocabulary.txt");
        }
    }

    @Test
    void linkInPlaceOfAFileIsRefused() throws Exception {
        Path words = folder.resolve("vocabulary.txt");
        Files.delete(words);
        Files.createSymbolicLink(words, saved.resolve("vocabulary.txt"));
        assertThatThrownBy(() -> ModelArchive.zipped(folder))
                .isInstanceOf(UserError.class)
                .hasMessage("model '" + folder + "' has a link for vocabulary.txt: allowed are files alone, since they"
                        + " are sent to all executors; copy the file there");
    }

    @Test
    void damagedModelIsRefusedBeforeItIsSent() throws Exception {
        Files.writeString(folder.resolve("vocabulary.txt"), "more\n", StandardOpenOption.APPEND);
        assertThatThrownBy(() -> ModelArchive.zipped(folder))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("vocabulary.txt is damaged or of another model");
    }
}
