package io.github.djlpositional.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewOutputTest {

    /** Local files, of which none can be removed. */
    static final class WithoutDelete extends RawLocalFileSystem {

        @Override
        public URI getUri() {
            return URI.create("kept:///");
        }

        @Override
        public boolean delete(org.apache.hadoop.fs.Path path, boolean recursive) throws IOException {
            throw new IOException("kept");
        }
    }

    @TempDir
    private Path folder;

    private Path target;

    @BeforeEach
    void nameTarget() {
        target = folder.resolve("judged");
    }

    private NewOutput planned() {
        return NewOutput.at(target.toString(), new Configuration());
    }

    /** The local path that it is written to, with something in it. */
    private static Path write(NewOutput output) throws IOException {
        Path begun = Path.of(URI.create(output.begun()).getPath());
        Files.writeString(Files.createDirectory(begun).resolve("part"), "of this run");
        return begun;
    }

    private void writeAnothers() throws IOException {
        Files.writeString(Files.createDirectory(target).resolve("part"), "of another run");
    }

    @Test
    void isInItsPlaceOnceItIsPublished() throws Exception {
        NewOutput output = planned();
        Path begun = write(output);
        assertThat(target).doesNotExist();
        output.publish();
        assertThat(target.resolve("part")).hasContent("of this run");
        assertThat(begun).doesNotExist();
    }

    @Test
    void whatIsThereIsRefused() throws Exception {
        writeAnothers();
        assertThatThrownBy(this::planned)
                .isInstanceOf(UserError.class)
                .hasMessage(
                        "output '" + target + "' is already there: remove it, or name another folder with --output");
    }

    @Test
    void whatAppearsMeanwhileIsLeftAsItIs() throws Exception {
        NewOutput output = planned();
        Path begun = write(output);
        writeAnothers();
        assertThatThrownBy(output::publish)
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith(
                        "output '" + target + "' has come to be there since this job began, and is left")
                .hasMessageContaining(begun.toString())
                .hasMessageEndingWith("; move it, or remove it");
        assertThat(target.resolve("part")).hasContent("of another run");
        assertThat(begun.resolve("part")).hasContent("of this run");
    }

    @Test
    void discardRemovesWhatThisRunHasMadeAndNothingElse() throws Exception {
        NewOutput output = planned();
        Path begun = write(output);
        writeAnothers();
        output.discard(new IllegalStateException("the job failed"));
        assertThat(begun).doesNotExist();
        assertThat(target.resolve("part")).hasContent("of another run");
    }

    @Test
    void twoRunsWriteToTwoPlaces() {
        assertThat(planned().begun()).isNotEqualTo(planned().begun());
    }

    @Test
    void whatCannotBeRemovedDoesNotHideWhyTheJobFailed() {
        Configuration hadoop = new Configuration();
        hadoop.setClass("fs.kept.impl", WithoutDelete.class, org.apache.hadoop.fs.FileSystem.class);
        NewOutput output = NewOutput.at("kept://" + target, hadoop);
        IllegalStateException failure = new IllegalStateException("the job failed");
        output.discard(failure);
        assertThat(failure.getSuppressed())
                .singleElement()
                .isInstanceOf(IOException.class)
                .extracting(Throwable::getMessage)
                .isEqualTo("kept");
    }
}
