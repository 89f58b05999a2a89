package io.github.djlpositional.peers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares whole models with what Python packages computed. {@code models.py} saved them into a folder each, named
 * {@code FAMILY-LENGTH}; short sequences also run on MXNet.
 */
@WithDumps
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ModelPeersTest {

    private final List<Path> folders;
    private final Map<String, Comparison> rows = new TreeMap<>();

    ModelPeersTest() throws IOException {
        try (Stream<Path> all = Files.list(Path.of(System.getProperty("peers"), "models"))) {
            folders = all.sorted().toList();
        }
    }

    Stream<Arguments> cases() {
        return folders.stream()
                .flatMap(folder -> Stream.of("PyTorch", "MXNet")
                        .filter(engine -> engine.equals("PyTorch") || ModelCase.length(folder) < 300)
                        .map(engine -> Arguments.of(folder.getFileName().toString(), engine, folder)));
    }

    @ParameterizedTest(name = "{0} on {1}")
    @MethodSource("cases")
    void equalsThePackage(String name, String engine, Path folder) throws Exception {
        String family = ModelCase.family(folder);
        assertThat(ModelFamilies.ALL).containsKey(family);
        try (ModelCase peer = new ModelCase(folder, engine)) {
            Comparison comparison =
                    rows.computeIfAbsent("`" + family + "` | `" + peer.modelClass() + "`", row -> new Comparison());
            ModelFamilies.ALL.get(family).compare(peer, new ModelComparison(peer, comparison));
        }
    }

    @Test
    void everyFamilyHasCases() {
        assertThat(folders.stream().map(ModelCase::family)).containsAll(ModelFamilies.ALL.keySet());
    }

    /** A comparison that failed is not counted, so that the table differs, too. */
    @AfterAll
    void theTableSaysWhatWasCompared() throws IOException {
        List<List<String>> table = new ArrayList<>();
        rows.forEach((row, comparison) -> table.add(List.of(row, "" + comparison.count(), comparison.largest())));
        TrustPage.requireTable("Models", List.of("family", "class", "comparisons", "largest error"), table);
    }
}
