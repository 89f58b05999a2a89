package io.github.djlpositional.peers;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;

/** A model that a package saved, with what it computed. */
final class ModelCase implements AutoCloseable {

    private final Path folder;
    private final JsonObject config;
    private final NDManager manager;
    private final ParameterStore store;
    private final WeightFile expected;

    ModelCase(Path folder, String engine) throws IOException, MalformedModelException {
        this.folder = folder;
        config = JsonUtils.GSON.fromJson(Files.readString(folder.resolve("config.json")), JsonObject.class);
        expected = WeightFile.open(folder.resolve("expected.safetensors"));
        manager = NDManager.newBaseManager(Device.cpu(), engine);
        store = new ParameterStore(manager, false);
    }

    NDManager manager() {
        return manager;
    }

    /** The family that {@code models.py} names. */
    static String family(Path folder) {
        return folder.getFileName().toString().replaceFirst("-\\d+$", "");
    }

    /** The number of tokens or patches. */
    static int length(Path folder) {
        return Integer.parseInt(folder.getFileName().toString().replaceFirst(".*-", ""));
    }

    int length() {
        return length(folder);
    }

    Path folder() {
        return folder;
    }

    /** The package's class. */
    String modelClass() {
        return config.getAsJsonArray("architectures").get(0).getAsString();
    }

    int size(String key) {
        return value(key).getAsInt();
    }

    double number(String key) {
        return value(key).getAsDouble();
    }

    boolean is(String key) {
        return value(key).getAsBoolean();
    }

    JsonArray list(String key) {
        return value(key).getAsJsonArray();
    }

    private JsonElement value(String key) {
        JsonElement value = config.get(key);
        if (value == null) {
            throw new AssertionError(folder + "/config.json has no " + key);
        }
        return value;
    }

    WeightLoader loader() throws IOException, MalformedModelException {
        return WeightLoader.of(weights());
    }

    NDArray weight(String name) throws IOException, MalformedModelException {
        return weights().read(manager, name);
    }

    private WeightFile weights() throws IOException, MalformedModelException {
        return WeightFile.open(folder.resolve("model.safetensors"));
    }

    boolean has(String name) {
        return expected.getTensors().containsKey(name);
    }

    /** An input or output of the package. */
    NDArray array(String name) throws IOException, MalformedModelException {
        return expected.read(manager, name);
    }

    <B extends Block> B initialize(B block, Shape... shapes) {
        block.initialize(manager, DataType.FLOAT32, shapes);
        return block;
    }

    /** The output for inputs, of which null stands for none. */
    NDArray forward(Block block, PairList<String, Object> params, NDArray... inputs) {
        NDList present = new NDList(Stream.of(inputs).filter(Objects::nonNull).toList());
        return block.forward(store, present, false, params).singletonOrThrow();
    }

    @Override
    public void close() {
        manager.close();
    }
}
