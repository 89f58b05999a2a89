package io.github.djlpositional;

/** A positional encoding of sequences, as this library's blocks know it of each other. */
interface SequenceEncoding {

    /** D. */
    int getEmbeddingSize();

    /** Whether a forward adds the encodings to its input. */
    boolean isAddedToInput();

    /** The axis of the sequence in an input, negative from the end. */
    int getSequenceAxis();
}
