package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.Engines;
import io.github.djlpositional.FileDamage;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

@ParameterizedClass
@ValueSource(strings = {"PyTorch", "MXNet"})
class DefinitionIndexTest {

    @Parameter
    private String engine;

    @TempDir
    private Path folder;

    private Path file;
    private NDManager manager;
    private SentenceEncoder encoder;

    @BeforeEach
    void load() throws IOException {
        manager = Engines.newManager(engine);
        encoder = SentenceEncoder.load(Engine.getEngine(engine), Device.cpu());
        file = folder.resolve("vectors.safetensors");
    }

    @AfterEach
    void close() {
        if (encoder != null) { // null if the test was skipped
            encoder.close();
            manager.close();
        }
    }

    private DefinitionIndex index(int count, String checksum) throws IOException {
        return new DefinitionIndex(file, Definition.read(count), checksum);
    }

    private static void assertRefused(DefinitionIndex index) {
        assertThatThrownBy(index::isCurrent)
                .isInstanceOf(UserError.class)
                .hasMessageContainingAll("vectors.safetensors", ": expected ", "; ");
    }

    @Test
    void nearestAreThoseOfAllPairs() throws Exception {
        List<Definition> definitions = Definition.read(100);
        index(100, "a").write(encoder, manager);
        float[][] vectors =
                encoder.encode(definitions.stream().map(Definition::text).toList());
        float[][] queries = encoder.encode(List.of("a large cat", "to go by boat"));
        List<List<DefinitionIndex.Hit>> found = index(100, "a").nearest(queries, 10, manager);
        for (int query = 0; query < queries.length; query++) {
            float[] wanted = queries[query];
            double[] products = IntStream.range(0, vectors.length)
                    .mapToDouble(i -> IntStream.range(0, wanted.length)
                            .mapToDouble(d -> wanted[d] * (double) vectors[i][d])
                            .sum())
                    .toArray();
            List<Integer> order = IntStream.range(0, products.length)
                    .boxed()
                    .sorted(Comparator.comparingDouble(i -> -products[i]))
                    .toList();
            assertThat(found.get(query)).hasSize(10);
            for (int i = 0; i < 10; i++) {
                DefinitionIndex.Hit hit = found.get(query).get(i);
                assertThat(hit.definition()).isEqualTo(definitions.get(order.get(i)));
                assertThat(hit.similarity()).isCloseTo(products[order.get(i)], within(1e-5));
            }
        }
    }

    @Test
    void isReplacedIfItsChecksumChanges() throws Exception {
        assertThat(index(3, "a").isCurrent()).isFalse();
        index(3, "a").write(encoder, manager);
        assertThat(index(3, "a").isCurrent()).isTrue();
        assertThat(index(3, "b").isCurrent()).isFalse();
        index(5, "b").write(encoder, manager);
        assertThat(index(5, "b").isCurrent()).isTrue();
        assertThat(index(5, "b")
                        .nearest(encoder.encode(List.of("a")), 10, manager)
                        .get(0))
                .hasSize(5);
    }

    @Test
    void anotherProgramsFileIsRefused() throws Exception {
        Files.writeString(file, "no tensors");
        assertRefused(index(3, "a"));
        try (NDArray zeros = manager.zeros(new Shape(3, SentenceEncoder.SIZE))) {
            Safetensors.write(file, Map.of("weight", zeros));
            assertRefused(index(3, "a"));
            Safetensors.write(file, Map.of("definitions a", zeros));
        }
        float[][] queries = encoder.encode(List.of("a"));
        assertThatThrownBy(() -> index(3, "a").nearest(queries, 10, manager)).isInstanceOf(UserError.class);
        assertThatThrownBy(() -> index(4, "a").nearest(queries, 10, manager)).isInstanceOf(UserError.class);
    }

    @Test
    void damagedFilesAreReadOrRefused() throws Exception {
        DefinitionIndex index = index(1, "a");
        index.write(encoder, manager);
        byte[] whole = Files.readAllBytes(file);
        float[][] queries = encoder.encode(List.of("a"));
        RandomCases.check(300, random -> {
            Files.write(file, FileDamage.of(random, whole));
            try {
                if (index.isCurrent()) {
                    assertThat(index.nearest(queries, 1, manager).get(0)).hasSize(1);
                }
            } catch (UserError e) {
                assertThat(e.getMessage()).hasLineCount(1).contains(": expected ", "; ");
            }
        });
    }
}
