package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import java.io.DataInputStream;
import java.io.IOException;

/** How many there are of something in a model file. A file may claim any number, and room for so many must not be made. */
final class StoredCount {

    private StoredCount() {}

    /**
     * Reads a number.
     *
     * @param is at the number
     * @param most the most that a file of this library or of DJL's has
     * @param what what is counted, for the message
     * @throws MalformedModelException if it is negative or more
     */
    static int read(DataInputStream is, int most, String what) throws IOException, MalformedModelException {
        int count = is.readInt();
        if (count < 0 || count > most) {
            throw new MalformedModelException("the model file claims " + count + " " + what
                    + ", which no file of this library does: it is damaged or no model of this block; load another");
        }
        return count;
    }
}
