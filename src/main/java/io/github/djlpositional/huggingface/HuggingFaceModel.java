package io.github.djlpositional.huggingface;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.JsonUtils;
import com.google.gson.JsonParseException;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A published language model, from its folder as Hugging Face's transformers save it.
 *
 * <pre>{@code
 * TransformerStackBlock model = HuggingFaceModel.load(Path.of("Llama-3.2-1B"), manager);
 * }</pre>
 *
 * <p>The folder has {@code config.json}, and {@code model.safetensors} or {@code model.safetensors.index.json} with the
 * files that it names. What the configuration or the weights have and the blocks of this library do not is rejected by
 * its name.
 */
public final class HuggingFaceModel {

    private static final String ONE_FILE = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";

    /** Tensors of older files that are no weights: masks, positions and frequencies. */
    private static final String[] BUFFERS = {
        "*.attn.bias", "*.attn.masked_bias", "*.attention.bias", "*.attention.masked_bias", "*inv_freq", "*position_ids"
    };

    private HuggingFaceModel() {}

    /**
     * Loads a model in FLOAT32: token ids (B, T) to the scores of the next token, (B, T, V), or without an output layer
     * in the folder to the last hidden states, (B, T, D). Files in BF16 or F16 are converted tensor by tensor.
     *
     * @param folder the folder, whose files may be untrusted
     * @param manager owns the parameters
     * @return a new block, whose parameters are trained in training; the caller closes the manager
     * @throws IllegalArgumentException if the model type or a value of the configuration is not known or cannot be
     *     computed, a file is missing, or tensors do not fit the configuration
     * @throws MalformedModelException if a file is damaged
     * @throws IOException if a file cannot be read
     */
    public static TransformerStackBlock load(Path folder, NDManager manager)
            throws IOException, MalformedModelException {
        Check.that(
                Files.isDirectory(folder),
                () -> folder + " is not a folder: expected the folder of a model, with config.json; pass its path");
        HuggingFaceConfig config = HuggingFaceConfig.read(folder);
        ModelLayers layers = new ModelLayers(config);
        List<WeightFile> files = files(folder);
        Set<String> names = new TreeSet<>();
        files.forEach(file -> names.addAll(file.getTensors().keySet()));
        TensorNames tensorNames = layers.names();
        String prefix = layers.prefix(names);
        TransformerStackBlock.Builder builder = layers.stack(null);
        boolean isTied = layers.isTied();
        boolean hasHead = isTied || names.contains(tensorNames.getHead() + ".weight");
        TransformerStackBlock stack = (hasHead ? layers.withHead(builder) : builder).build();
        WeightLoader loader = WeightLoader.ofAll(files).oneByOne();
        if (isTied) {
            loader.tied(prefix + layers.names().getTokens(), tensorNames.getHead() + ".weight");
        }
        stack.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        loader.module(prefix, stack, tensorNames)
                .allowMissing(layers.missing())
                .allowUnused(BUFFERS)
                .addOne(layers.storedMinusOne())
                .load(stack);
        return stack;
    }

    private static List<WeightFile> files(Path folder) throws IOException, MalformedModelException {
        Path index = folder.resolve(INDEX);
        if (!Files.exists(index)) {
            Check.that(
                    Files.exists(folder.resolve(ONE_FILE)),
                    () -> folder + " has neither " + ONE_FILE + " nor " + INDEX
                            + ": expected one of them; download the files of the model in this format");
            return List.of(WeightFile.open(folder.resolve(ONE_FILE)));
        }
        List<WeightFile> files = new ArrayList<>();
        for (String name : shards(index)) {
            Path shard = folder.resolve(name).normalize();
            Check.that(
                    folder.normalize().equals(shard.getParent()),
                    () -> index + " names the file " + name + ": expected files of its folder; correct the index");
            Check.that(
                    Files.exists(shard),
                    () -> "the file " + name + " of " + index + " is missing: expected all files of the model; download"
                            + " it");
            files.add(WeightFile.open(shard));
        }
        return files;
    }

    private static Set<String> shards(Path index) throws IOException, MalformedModelException {
        try (Reader reader = Files.newBufferedReader(index)) {
            Object map = JsonUtils.GSON.fromJson(reader, Map.class).get("weight_map");
            Set<String> files = new TreeSet<>();
            ((Map<?, ?>) map).values().forEach(file -> files.add(file.toString()));
            return files;
        } catch (JsonParseException | ClassCastException | NullPointerException e) {
            throw new MalformedModelException(
                    index + " has no weight_map: expected the file of each tensor; download it again", e);
        }
    }
}
