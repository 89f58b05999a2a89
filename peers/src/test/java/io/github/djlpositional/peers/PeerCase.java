package io.github.djlpositional.peers;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What a package computed for some arguments and arrays. */
final class PeerCase {

    private final WeightFile file;
    private final String prefix;
    private final JsonObject entry;

    private PeerCase(WeightFile file, String prefix, JsonObject entry) {
        this.file = file;
        this.prefix = prefix;
        this.entry = entry;
    }

    /** Reads the cases of a part. */
    static List<PeerCase> of(Path folder, String part) throws IOException, MalformedModelException {
        WeightFile file = WeightFile.open(folder.resolve(part + ".safetensors"));
        List<PeerCase> cases = new ArrayList<>();
        try (Reader reader = Files.newBufferedReader(folder.resolve(part + ".json"))) {
            for (JsonElement entry : JsonUtils.GSON.fromJson(reader, JsonArray.class)) {
                cases.add(new PeerCase(file, cases.size() + "/", entry.getAsJsonObject()));
            }
        }
        return cases;
    }

    String kind() {
        return entry.get("kind").getAsString();
    }

    /** The library's block that it is about. */
    String block() {
        return entry.get("block").getAsString();
    }

    String peer() {
        return entry.get("package").getAsString();
    }

    /** Whether the case has an argument, and not None. */
    boolean has(String name) {
        JsonElement argument = entry.getAsJsonObject("arguments").get(name);
        return argument != null && !argument.isJsonNull();
    }

    int integer(String name) {
        return argument(name).getAsInt();
    }

    double number(String name) {
        return argument(name).getAsDouble();
    }

    boolean is(String name) {
        return argument(name).getAsBoolean();
    }

    String text(String name) {
        return argument(name).getAsString();
    }

    double[] numbers(String name) {
        return argument(name).getAsJsonArray().asList().stream()
                .mapToDouble(JsonElement::getAsDouble)
                .toArray();
    }

    int[] integers(String name) {
        return argument(name).getAsJsonArray().asList().stream()
                .mapToInt(JsonElement::getAsInt)
                .toArray();
    }

    private JsonElement argument(String name) {
        JsonElement argument = entry.getAsJsonObject("arguments").get(name);
        if (argument == null) {
            throw new AssertionError(this + " has no argument " + name);
        }
        return argument;
    }

    boolean hasArray(String name) {
        return file.getTensors().containsKey(prefix + name);
    }

    NDArray array(NDManager manager, String name) throws IOException, MalformedModelException {
        return file.read(manager, prefix + name);
    }

    /** The values of the block's parameters by name. */
    Map<String, NDArray> parameters(NDManager manager) throws IOException, MalformedModelException {
        String start = prefix + "p.";
        Map<String, NDArray> parameters = new TreeMap<>();
        for (String name : file.getTensors().keySet()) {
            if (name.startsWith(start)) {
                parameters.put(name.substring(start.length()), file.read(manager, name));
            }
        }
        return parameters;
    }

    /** Loads a table of the opposite order of rows, which are columns if it has three axes. */
    void loadReversed(String name, Parameter parameter) throws IOException, MalformedModelException {
        String tensor = prefix + name;
        WeightLoader loader = WeightLoader.of(file).reverseRows(tensor).allowUnused("*");
        boolean areColumns = file.getTensors().get(tensor).shape().dimension() == 3;
        (areColumns
                        ? loader.columnsAsRows(tensor, 0, parameter.getShape().get(0), parameter)
                        : loader.table(tensor, parameter))
                .load();
    }

    @Override
    public String toString() {
        return peer() + " " + kind() + " " + entry.get("arguments");
    }
}
