package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.util.JsonUtils;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a model of {@code make_llama.py} computes.
 *
 * @param text a text, for models with a tokenizer
 * @param continuedText the text of its greedy continuation
 * @param prompt the tokens of the text, or others
 * @param logits the logits of each token of the prompt, (T, V)
 * @param continuation the greedy continuation of the prompt, of a forward over the whole sequence for each token
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record StoredModel(String text, String continuedText, long[] prompt, float[][] logits, List<Long> continuation) {

    /** Seen from the library, or from a module in a folder of a folder. */
    private static final Path MODELS = Stream.of(Path.of(""), Path.of("..", ".."))
            .map(root -> root.resolve(Path.of("src", "test", "resources", "llama")))
            .filter(Files::isDirectory)
            .findFirst()
            .orElseThrow();

    /** Reads what a model computes. */
    public static StoredModel of(String name) throws IOException {
        return json(name + ".json", StoredModel.class);
    }

    public static <T> T json(String file, Class<T> type) throws IOException {
        try (Reader reader = Files.newBufferedReader(MODELS.resolve(file))) {
            return JsonUtils.GSON.fromJson(reader, type);
        }
    }

    /** Returns the folder of a model. */
    public static Path folder(String name) {
        return MODELS.resolve(name);
    }

    /** The names of all models. */
    static List<String> names() throws IOException {
        try (Stream<Path> folders = Files.list(MODELS).filter(Files::isDirectory)) {
            return folders.map(folder -> folder.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    /** Copies a model to an existing folder, and returns the folder. */
    public static Path copy(String name, Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder(name))) {
            for (Path file : files.toList()) {
                Files.copy(file, folder.resolve(file.getFileName()));
            }
            return folder;
        }
    }

    /** Replaces a part of a file, which must be there. */
    public static void edit(Path file, String before, String after) throws IOException {
        String text = Files.readString(file);
        assertThat(text).contains(before);
        Files.writeString(file, text.replace(before, after));
    }
}
