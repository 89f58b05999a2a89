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

    /** A local file system that cannot delete files. */
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
        return new NewOutput(target.toString(), new Configuration());
    }

    /** Writes a file to the unfinished folder, and returns the folder. */
    private static Path write(NewOutput output) throws IOException {
        Path unfinished = Path.of(URI.create(output.unfinished()).getPath());
        Files.writeString(Files.createDirectory(unfinished).resolve("part"), "of this run");
        return unfinished;
    }

    private void writeFolderOfAnotherRun() throws IOException {
        Files.writeString(Files.createDirectory(target).resolve("part"), "of another run");
    }

    @Test
    void publishRenamesTheFolder() throws Exception {
        NewOutput output = planned();
        Path unfinished = write(output);
        assertThat(target).doesNotExist();
        output.publish();
        assertThat(target.resolve("part")).hasContent("of this run");
        assertThat(unfinished).doesNotExist();
    }

    @Test
    void existingFolderIsRefused() throws Exception {
        writeFolderOfAnotherRun();
        assertThatThrownBy(this::planned)
                .isInstanceOf(UserError.class)
                .hasMessage("output '" + target + "' already exists: remove it, or name another folder with --output");
    }

    @Test
    void folderOfAnotherRunIsNotChanged() throws Exception {
        NewOutput output = planned();
        Path unfinished = write(output);
        writeFolderOfAnotherRun();
        assertThatThrownBy(output::publish)
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("output '" + target + "' was created by another program since this job began")
                .hasMessageContaining(unfinished.toString())
                .hasMessageEndingWith("; move or remove it");
        assertThat(target.resolve("part")).hasContent("of another run");
        assertThat(unfinished.resolve("part")).hasContent("of this run");
    }

    @Test
    void discardRemovesOnlyTheFolderOfThisRun() throws Exception {
        NewOutput output = planned();
        Path unfinished = write(output);
        writeFolderOfAnotherRun();
        output.discard(new IllegalStateException("the job failed"));
        assertThat(unfinished).doesNotExist();
        assertThat(target.resolve("part")).hasContent("of another run");
    }

    @Test
    void runsWriteToDifferentFolders() {
        assertThat(planned().unfinished()).isNotEqualTo(planned().unfinished());
    }

    @Test
    void failureToDiscardIsAddedToTheFailureOfTheJob() {
        Configuration hadoop = new Configuration();
        hadoop.setClass("fs.kept.impl", WithoutDelete.class, org.apache.hadoop.fs.FileSystem.class);
        NewOutput output = new NewOutput("kept://" + target, hadoop);
        IllegalStateException failure = new IllegalStateException("the job failed");
        output.discard(failure);
        assertThat(failure.getSuppressed())
                .singleElement()
                .isInstanceOf(IOException.class)
                .extracting(Throwable::getMessage)
                .isEqualTo("kept");
    }
}
