package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.Engines;
import io.github.djlpositional.FileDamage;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.examples.UserError;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A folder with a damaged file is loaded, or refused with one line that names the folder. */
class DamagedFolderTest {

    @TempDir
    private Path folder;

    @Test
    void damagedFilesAreLoadedOrRefused() throws Exception {
        List<String> models = List.of("llama_2", "qwen_3", "rope_longrope", "rope_yarn");
        for (String model : models) {
            StoredModel.copy(model, Files.createDirectory(folder.resolve(model)));
        }
        try (NDManager manager = Engines.newManager("PyTorch")) {
            RandomCases.check(100, random -> {
                Path model = folder.resolve(models.get(random.nextInt(models.size())));
                List<Path> files = filesOf(model);
                Path file = files.get(random.nextInt(files.size()));
                byte[] whole = Files.readAllBytes(file);
                Files.write(file, FileDamage.of(random, whole));
                try (NDManager weights = manager.newSubManager()) {
                    LlamaDecoder.load(model, 20, weights);
                } catch (UserError e) {
                    assertThat(e.getMessage()).hasLineCount(1).contains(model.toString(), ": expected ", "; ");
                }
                Files.write(file, whole);
            });
        }
    }

    /** The files that the decoder reads, sorted: their order in a folder is not that of another run. */
    private static List<Path> filesOf(Path model) throws Exception {
        try (Stream<Path> files = Files.list(model)) {
            return files.filter(file -> !file.endsWith("tokenizer.json"))
                    .sorted()
                    .toList();
        }
    }
}
