package io.github.djlpositional.examples.spark;

import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A folder that a run makes: written beside its place under a name that no other run has, and given its own once it is
 * whole. So what another run has made there meanwhile is never mixed with it, and never removed.
 */
final class NewOutput {

    private final String name;
    private final FileSystem files;
    private final Path target;
    private final Path begun;

    private NewOutput(String name, FileSystem files) {
        this.name = name;
        this.files = files;
        target = files.makeQualified(new Path(name));
        // from "_" on, it is no data to those who read the folder above
        begun = new Path(target.getParent(), "_" + target.getName() + "-" + UUID.randomUUID());
    }

    /**
     * Plans a folder.
     *
     * @param name where it will be; nothing may be there yet
     * @param hadoop knows the file systems
     */
    static NewOutput at(String name, Configuration hadoop) {
        try {
            FileSystem files = new Path(name).getFileSystem(hadoop);
            if (files.exists(new Path(name))) {
                throw new UserError(
                        "output '" + name + "' is already there: remove it, or name another folder with --output");
            }
            return new NewOutput(name, files);
        } catch (IOException e) {
            throw new UserError("output '" + name + "' cannot be reached (" + e + "): name another with --output", e);
        }
    }

    /** Where to write it. */
    String begun() {
        return begun.toString();
    }

    /** Puts what is written in its place. */
    void publish() {
        try {
            // a rename to a folder that is there would put it inside
            if (files.exists(target)) {
                throw new UserError("output '" + name + "' has come to be there since this job began, and is left as it"
                        + " is: what was judged is in '" + begun + "'; move it, or remove it");
            }
            if (!files.rename(begun, target)) {
                throw new IOException("it is not renamed");
            }
        } catch (IOException e) {
            throw new UserError(
                    "output '" + name + "' cannot be written to (" + e + "): what was judged is in '" + begun
                            + "'; move it, or remove it",
                    e);
        }
    }

    /**
     * Removes what is written.
     *
     * @param why what went wrong before; it is told what goes wrong now
     */
    void discard(Throwable why) {
        try {
            files.delete(begun, true);
        } catch (IOException | RuntimeException e) {
            why.addSuppressed(e);
        }
    }
}
