package io.github.djlpositional.examples;

import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.translate.ArgumentsUtil;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** Makes the encoder of a saved folder: what DJL calls when it loads the folder by its path. */
public final class EncoderBlockFactory implements BlockFactory {

    /**
     * The argument of DJL's {@code Criteria} that asks for the sentence's embedding beside the scores: true or false.
     */
    public static final String EMBEDDING = "embedding";

    private static final long serialVersionUID = 1L;

    /** For DJL, which names this class in {@code serving.properties}. */
    public EncoderBlockFactory() {}

    /**
     * {@inheritDoc}
     *
     * @param model not used
     * @param modelPath where {@code train-encoder} saved an encoder
     * @param arguments {@value #EMBEDDING}, if the embedding is wanted; the sizes are in {@code encoder.properties}
     * @return a new encoder without weights
     * @throws IOException if the folder does not say its sizes, or its parameters are not those that were saved, or are
     *     not the only ones there
     */
    @Override
    public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
        try {
            // DJL loads the parameters after this, and serving.properties may tell it which
            EncoderFolder.requireNoOtherParameters(modelPath);
            return new TransformerEncoder(
                    EncoderFolder.readIntact(modelPath).spec(), ArgumentsUtil.booleanValue(arguments, EMBEDDING));
        } catch (MalformedModelException e) {
            throw new IOException("model folder '" + modelPath + "' cannot be read: " + e.getMessage(), e);
        }
    }
}
