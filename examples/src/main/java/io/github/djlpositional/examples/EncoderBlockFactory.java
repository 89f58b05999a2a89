package io.github.djlpositional.examples;

import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** Makes the encoder of a saved folder: what DJL calls when it loads the folder by its path. */
public final class EncoderBlockFactory implements BlockFactory {

    private static final long serialVersionUID = 1L;

    /** For DJL, which names this class in {@code serving.properties}. */
    public EncoderBlockFactory() {}

    /**
     * {@inheritDoc}
     *
     * @param model not used
     * @param modelPath where {@code train-encoder} saved an encoder
     * @param arguments not used: the sizes are in {@code encoder.properties}
     * @return a new encoder without weights
     * @throws IOException if the folder does not say its sizes
     */
    @Override
    public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
        try {
            return new TransformerEncoder(EncoderFolder.readSpec(modelPath));
        } catch (MalformedModelException e) {
            throw new IOException("model folder '" + modelPath + "' cannot be read: " + e.getMessage(), e);
        }
    }
}
