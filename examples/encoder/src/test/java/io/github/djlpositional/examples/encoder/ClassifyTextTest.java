package io.github.djlpositional.examples.encoder;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Scanner;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClassifyTextTest {

    @TempDir
    private Path temporary;

    private Path file;
    private Path folder;

    @BeforeEach
    void nameFiles() {
        file = temporary.resolve("a file.tsv");
        folder = temporary.resolve("a model");
    }

    /** Sentences of 2 to 9 words, whose label is the kind of the word beside "the". */
    private void writeSentences(int count) throws Exception {
        List<String> animals = List.of("cat", "dog", "cow", "hen");
        List<String> tools = List.of("saw", "axe", "file", "drill");
        Random random = new Random(1);
        List<String> lines = IntStream.range(0, count)
                .mapToObj(i -> {
                    String word = (i % 2 == 0 ? animals : tools).get(random.nextInt(4));
                    return (i % 2 == 0 ? "animal" : "tool") + "\tThe " + word + ", old ".repeat(random.nextInt(8));
                })
                .toList();
        Files.write(file, lines);
    }

    private Run run(String engine, String... sentences) throws Exception {
        List<String> args = new ArrayList<>(List.of(file.toString(), folder.toString()));
        args.addAll(List.of(sentences));
        return Run.of(engine, List.of(), ClassifyText.class, args.toArray(String[]::new));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void learnsLabelsOfAFileAndLabelsOtherSentences(String engine) throws Exception {
        writeSentences(4000);
        String out = run(engine, "the dog", "the axe, old old").success();
        assertThat(out)
                .contains("4000 sentences with 2 labels; " + engine)
                .containsPattern("Accuracy (1[.,]0000|0[.,]9\\d{3}) for 400 held-out")
                .containsPattern("\"animal\".*the dog")
                .containsPattern("\"tool\".*axe");
        assertThat(folder.resolve("classes.txt")).hasContent("animal\ntool");
        assertThat(run(engine, "the dog").error()).contains(folder.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            ""                                   | labels
            "a\tone\na\ttwo"                     | [a]
            "a\tone\nno tab\na\tb"               | line 2
            "a\tone\na\ttwo\nb\tthree"           | 'b'
            "a\tone\na\t…\nb\tthree\nb\tfour"    | 0 words
            "\tone\na\ttwo"                      | line 1
            """)
    void saysWhatIsWrongInAFile(String content, String expected) throws Exception {
        Files.writeString(file, content);
        assertThat(run("PyTorch", "the dog").error()).contains(expected);
        assertThat(temporary).isDirectoryNotContaining("glob:**.saving");
    }

    @Test
    void saysWhichArgumentsItExpects() throws Exception {
        assertThat(run("PyTorch").error()).contains("FILE FOLDER SENTENCE");
    }

    @Test
    void saysThatAFileIsMissingOrNoText() throws Exception {
        assertThat(run("PyTorch", "the dog").error()).contains(file.toString());
        Files.write(file, new byte[] {'a', '\t', (byte) 0xFF});
        assertThat(run("PyTorch", "the dog").error()).contains("UTF-8");
    }

    @Test
    void saysThatASentenceIsLongerThanThePositions() throws Exception {
        writeSentences(10);
        assertThat(run("PyTorch", "word ".repeat(101)).error()).contains("101", "100");
        Files.writeString(file, "a\t" + "word ".repeat(102));
        assertThat(run("PyTorch", "the dog").error()).contains("102", "100");
    }

    @Test
    void saysThatAFolderCannotBeWritten() throws Exception {
        writeSentences(10);
        folder = file.resolve("folder");
        assertThat(run("PyTorch", "the dog").error()).contains(folder.toString());
    }

    @Test
    void neverSavesHalfAModel() throws Exception {
        writeSentences(20_000);
        Process process = Run.prepare(
                        "PyTorch", List.of(), ClassifyText.class, file.toString(), folder.toString(), "the dog")
                .redirectErrorStream(true)
                .start();
        try (Scanner out = new Scanner(process.getInputStream(), StandardCharsets.UTF_8)) {
            assertThat(out.findWithinHorizon("Training:", 0)).isNotNull();
            process.destroyForcibly().waitFor();
        }
        assertThat(folder).doesNotExist();
        writeSentences(100);
        run("PyTorch", "the dog").success();
        assertThat(folder).isDirectoryContaining("glob:**/vocabulary.txt");
    }
}
