package io.github.djlpositional.examples.llama;

import ai.djl.MalformedModelException;
import ai.djl.util.JsonUtils;
import com.google.gson.JsonParseException;
import com.google.gson.reflect.TypeToken;
import io.github.djlpositional.examples.UserError;
import io.github.djlpositional.weights.WeightFile;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The folder of a published model: {@code config.json}, {@code tokenizer.json}, and the weights in
 * {@code model.safetensors} or in several files, the shards, that {@code model.safetensors.index.json} names.
 */
final class ModelFolder {

    private static final String WEIGHTS = "model.safetensors";
    private static final String INDEX = "model.safetensors.index.json";

    private final Path folder;

    ModelFolder(Path folder) {
        this.folder = folder;
    }

    /** Returns the path of a file, which must exist. */
    Path file(String name) {
        Path file = folder.resolve(name);
        if (!Files.isRegularFile(file)) {
            throw new UserError("model folder '" + folder + "' has no file " + name
                    + ": expected config.json, tokenizer.json, and model.safetensors or the files that "
                    + INDEX + " names; download what is missing, or give another folder");
        }
        return file;
    }

    /** Reads a file of JSON whose root is an object. */
    Map<String, Object> json(String name) throws IOException {
        try (Reader reader = Files.newBufferedReader(file(name))) {
            Map<String, Object> values =
                    JsonUtils.GSON.fromJson(reader, new TypeToken<LinkedHashMap<String, Object>>() {});
            return values == null ? Map.of() : values;
        } catch (JsonParseException | CharacterCodingException e) {
            throw new UserError(
                    "file '" + folder.resolve(name) + "' is damaged: expected one JSON object; download it again", e);
        }
    }

    /** Opens the files of the weights. */
    Collection<WeightFile> weights() throws IOException, MalformedModelException {
        if (!Files.exists(folder.resolve(INDEX))) {
            return List.of(WeightFile.open(file(WEIGHTS)));
        }
        if (!(json(INDEX).get("weight_map") instanceof Map<?, ?> places) || places.isEmpty()) {
            throw new UserError("file '" + folder.resolve(INDEX)
                    + "' has no weight_map: expected the file of each tensor; download it again");
        }
        Map<String, WeightFile> shards = new TreeMap<>();
        for (Object place : places.values()) {
            String shard = String.valueOf(place);
            if (!shard.matches("[\\w.-]+")) { // would lead to another folder
                throw new UserError("file '" + folder.resolve(INDEX) + "' names the file '" + shard
                        + "': expected files in its folder; download it again");
            }
            if (!shards.containsKey(shard)) {
                shards.put(shard, WeightFile.open(file(shard)));
            }
        }
        return shards.values();
    }
}
