package io.github.djlpositional.huggingface;

import ai.djl.MalformedModelException;
import ai.djl.Model;
import ai.djl.nn.Block;
import ai.djl.nn.BlockFactory;
import ai.djl.repository.zoo.Criteria;
import io.github.djlpositional.internal.options.Check;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Lets DJL load a published model from its folder, with a translator for its inputs and outputs. The translators of
 * {@code ai.djl.huggingface:tokenizers} read {@code tokenizer.json}. This turns a sentence into a vector:
 *
 * <pre>{@code
 * Criteria<String, float[]> criteria = HuggingFaceBlockFactory.criteria(String.class, float[].class, folder)
 *         .optTranslatorFactory(new TextEmbeddingTranslatorFactory())
 *         .build();
 * try (ZooModel<String, float[]> model = criteria.loadModel();
 *         Predictor<String, float[]> predictor = model.newPredictor()) {
 *     float[] vector = predictor.predict("the cat sat on the mat");
 * }
 * }</pre>
 *
 * <p>The block is the one that {@link HuggingFaceModel#load(Path, ai.djl.ndarray.NDManager)} returns, or
 * {@link HuggingFaceModel#loadVision} for a vision model. The argument {@code length} of the criteria is the maximum
 * length of the sequences, for rope types that depend on it.
 */
public final class HuggingFaceBlockFactory implements BlockFactory {

    private static final long serialVersionUID = 1L;

    private static final String LENGTH = "length";

    /**
     * {@return criteria that load the model in a folder, to which a translator is added}
     *
     * @param input the type of the translator's input
     * @param output the type of its output
     * @param folder the folder, whose files may be untrusted
     * @param <I> the type of the input
     * @param <O> the type of the output
     */
    public static <I, O> Criteria.Builder<I, O> criteria(Class<I> input, Class<O> output, Path folder) {
        return Criteria.builder()
                .setTypes(input, output)
                .optModelPath(folder)
                .optArgument("blockFactory", HuggingFaceBlockFactory.class.getName())
                .optOption("hasParameter", "false"); // a file of DJL
    }

    /**
     * {@inheritDoc} The block has its weights, which the model owns.
     *
     * @throws IllegalArgumentException as {@link HuggingFaceModel#load(Path, ai.djl.ndarray.NDManager)}
     * @throws IOException if a file cannot be read, or is damaged
     */
    @Override
    public Block newBlock(Model model, Path modelPath, Map<String, ?> arguments) throws IOException {
        Path folder = Files.isDirectory(modelPath)
                ? modelPath
                : modelPath.toAbsolutePath().getParent();
        try {
            if (VisionModel.isOfPictures(HuggingFaceModel.config(folder))) {
                return HuggingFaceModel.loadVision(folder, model.getNDManager());
            }
            if (arguments.get(LENGTH) == null) {
                return HuggingFaceModel.load(folder, model.getNDManager());
            }
            Integer length = Facts.converted(LENGTH, arguments.get(LENGTH), Integer.class);
            Check.positive(LENGTH, length);
            return HuggingFaceModel.load(folder, length, model.getNDManager());
        } catch (MalformedModelException e) {
            throw new IOException(e.getMessage(), e);
        }
    }
}
