package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import io.github.djlpositional.examples.PartOfSpeech;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DefinitionIndexTest {

    private static SentenceEncoder encoder;
    private static List<Definition> definitions;

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() throws IOException {
        encoder = SentenceEncoder.load(Engine.getEngine("PyTorch"), Device.cpu());
        definitions = Definition.read(200);
    }

    @AfterAll
    static void close() {
        encoder.close();
    }

    @Test
    void nearestAreThoseOfAllPairs() throws Exception {
        DefinitionIndex.write(folder, "a", definitions, encoder);
        float[][] vectors =
                encoder.encode(definitions.stream().map(Definition::text).toList());
        float[] query = encoder.encode(List.of("a large cat"))[0];
        double[] products = new double[vectors.length];
        for (int i = 0; i < vectors.length; i++) {
            for (int d = 0; d < query.length; d++) {
                products[i] += query[d] * (double) vectors[i][d];
            }
        }
        List<Integer> order = IntStream.range(0, products.length)
                .boxed()
                .sorted(Comparator.comparingDouble(i -> -products[i]))
                .limit(10)
                .toList();
        try (DefinitionIndex index = DefinitionIndex.open(folder)) {
            List<DefinitionIndex.Hit> hits = index.nearest(query, 10);
            // 100 candidates of 200 include the nearest ten
            assertThat(hits)
                    .extracting(DefinitionIndex.Hit::definition)
                    .isEqualTo(order.stream().map(definitions::get).toList());
            for (int i = 0; i < 10; i++) {
                // vectors from batches of other lengths, rounded
                assertThat(hits.get(i).similarity()).isCloseTo(products[order.get(i)], within(1e-5));
            }
        }
    }

    @Test
    void findsMeaningsNotWords() throws Exception {
        List<Definition> few = List.of(
                new Definition(PartOfSpeech.NOUN, "kitten", "young domestic feline"),
                new Definition(PartOfSpeech.NOUN, "cat", "a whip with nine knotted cords"),
                new Definition(PartOfSpeech.VERB, "sail", "travel on water propelled by wind"));
        DefinitionIndex.write(folder, "a", few, encoder);
        try (DefinitionIndex index = DefinitionIndex.open(folder)) {
            assertThat(index.nearest(encoder.encode(List.of("a baby cat"))[0], 3))
                    .extracting(hit -> hit.definition().word())
                    .startsWith("kitten");
            assertThat(index.nearest(encoder.encode(List.of("to go by boat"))[0], 3))
                    .extracting(hit -> hit.definition().word())
                    .startsWith("sail");
        }
    }

    @Test
    void isCurrentOnlyWithItsChecksum() throws Exception {
        assertThat(DefinitionIndex.isCurrent(folder, "a")).isFalse();
        DefinitionIndex.write(folder, "a", definitions.subList(0, 3), encoder);
        assertThat(DefinitionIndex.isCurrent(folder, "a")).isTrue();
        assertThat(DefinitionIndex.isCurrent(folder, "b")).isFalse();
    }

    @Test
    void replacesAnOldIndex() throws Exception {
        DefinitionIndex.write(folder, "a", definitions.subList(0, 3), encoder);
        DefinitionIndex.write(folder, "b", definitions.subList(0, 5), encoder);
        assertThat(DefinitionIndex.isCurrent(folder, "b")).isTrue();
        try (DefinitionIndex index = DefinitionIndex.open(folder)) {
            assertThat(index.nearest(encoder.encode(List.of("a"))[0], 10)).hasSize(5);
        }
    }

    @Test
    void refusesADamagedIndex() throws Exception {
        DefinitionIndex.write(folder, "a", definitions.subList(0, 3), encoder);
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(each -> each.getFileName().toString().startsWith("segments_"))
                    .toList()) {
                Files.writeString(file, "damaged, and too long to be the end of a valid file of this kind");
            }
        }
        assertThatThrownBy(() -> DefinitionIndex.isCurrent(folder, "a"))
                .isInstanceOf(UserError.class)
                .hasMessageContaining(folder.toString());
    }

    @Test
    void anUnfinishedIndexChangesNothing() throws Exception {
        DefinitionIndex.write(folder, "a", definitions.subList(0, 3), encoder);
        try (Directory directory = FSDirectory.open(folder);
                IndexWriter writer = new IndexWriter(
                        directory, new IndexWriterConfig().setOpenMode(IndexWriterConfig.OpenMode.CREATE))) {
            writer.flush();
            assertThat(DefinitionIndex.isCurrent(folder, "a")).isTrue();
            writer.rollback();
        }
    }

    @Test
    void refusesAFolderThatAnotherProgramWrites() throws Exception {
        try (Directory directory = FSDirectory.open(folder);
                IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig())) {
            assertThat(writer.isOpen()).isTrue();
            assertThatThrownBy(() -> DefinitionIndex.write(folder, "a", definitions.subList(0, 3), encoder))
                    .isInstanceOf(UserError.class)
                    .hasMessageContaining(folder.toString());
        }
    }
}
