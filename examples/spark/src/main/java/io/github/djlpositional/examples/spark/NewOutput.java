package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The output folder of a run. The run writes to a folder with a unique name next to it, which is renamed at the end. So
 * the output of another run that appears in the meantime is neither mixed with this one nor removed.
 */
final class NewOutput {

    private final String name;
    private final FileSystem files;
    private final Path target;
    private final Path unfinished;

    /**
     * Plans a folder.
     *
     * @param name the folder; must not exist
     * @param hadoop the configuration of the file systems
     * @throws UserError if the folder exists or cannot be reached
     */
    NewOutput(String name, Configuration hadoop) {
        this.name = name;
        try {
            files = new Path(name).getFileSystem(hadoop);
            if (files.exists(new Path(name))) {
                throw new UserError(
                        "output '" + name + "' already exists: remove it, or name another folder with --output");
            }
        } catch (IOException e) {
            throw new UserError("output '" + name + "' cannot be reached (" + e + "): name another with --output", e);
        }
        target = files.makeQualified(new Path(name));
        // readers of the parent folder ignore names that begin with "_"
        unfinished = new Path(target.getParent(), "_" + target.getName() + "-" + UUID.randomUUID());
    }

    /** Returns the folder to write to. */
    String unfinished() {
        return unfinished.toString();
    }

    /** Renames the folder that was written. */
    void publish() {
        try {
            // renaming to an existing folder would move this one into it
            if (files.exists(target)) {
                throw new UserError("output '" + name + "' was created by another program since this job began, and is"
                        + " not changed: the result is in '" + unfinished + "'; move or remove it");
            }
            if (!files.rename(unfinished, target)) {
                throw new IOException("it could not be renamed");
            }
        } catch (IOException e) {
            throw new UserError(
                    "output '" + name + "' cannot be written (" + e + "): the result is in '" + unfinished
                            + "'; move or remove it",
                    e);
        }
    }

    /** Removes the folder that was written; if that fails, adds the exception to the failure of the job. */
    void discard(Throwable reason) {
        try {
            files.delete(unfinished, true);
        } catch (IOException | RuntimeException e) {
            reason.addSuppressed(e);
        }
    }
}
