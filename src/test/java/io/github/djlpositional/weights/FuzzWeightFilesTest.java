package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.FileCorruption;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.ResourceGuard;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Weight files that were cut off, flipped, spliced or made up at random, in more than one place at once. */
class FuzzWeightFilesTest {

    private static final List<String> FILES = List.of(
            "gpt2.npz",
            "roberta.npz",
            "versions.npz",
            "zip64.npz",
            "streamed.npz",
            "bert.safetensors",
            "opt.safetensors",
            "types.safetensors");

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IllegalArgumentException.class));

    @TempDir
    private Path folder;

    @Test
    void damageIsRefusedOrHarmless() throws Exception {
        Map<String, byte[]> files = new LinkedHashMap<>();
        for (String name : FILES) {
            files.put(name, Files.readAllBytes(Weights.path(name)));
        }
        RandomCases.check(3000, random -> {
            byte[] damaged = FileCorruption.of(random, files.get(RandomCases.one(random, FILES)));
            Path path = Files.write(folder.resolve("model"), damaged);
            try (NDManager manager = NDManager.newBaseManager()) {
                Exception refusal = LOADING.refusal(damaged.length, 0, () -> Weights.loadAll(manager, path));
                if (refusal != null) {
                    assertThat(refusal).message().contains(": allowed ");
                }
            }
        });
    }
}
