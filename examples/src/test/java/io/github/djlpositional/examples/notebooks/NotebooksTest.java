package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.SmallEncoder;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What all chapters have in common; each has a test of its numbers and pictures. */
class NotebooksTest {

    @TempDir
    private static Path folder;

    private static final Map<String, Notebook> NOTEBOOKS = new LinkedHashMap<>();

    @BeforeAll
    static void runAllWithATinyModel() {
        Path model = folder.resolve("model.zip");
        SmallEncoder.saveTo(model, "PyTorch", "--encoding", "none,sinusoidal");
        Book.CHAPTERS.forEach((name, page) -> {
            PrintStream unused = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
            Notebook notebook = new Notebook(unused, folder, model, 600);
            Book.write(page, notebook);
            NOTEBOOKS.put(name, notebook);
        });
    }

    @Test
    void noPictureIsEmpty() throws Exception {
        for (Map.Entry<String, Notebook> notebook : NOTEBOOKS.entrySet()) {
            assertThat(notebook.getValue().pictures()).as(notebook.getKey()).isNotEmpty();
            for (Part.Picture each : notebook.getValue().pictures()) {
                BufferedImage picture =
                        ImageIO.read(folder.resolve(each.file() + ".png").toFile());
                int width = picture.getWidth();
                assertThat(width).as(each.file()).isGreaterThan(900);
                // some pixels of all rows
                assertThat(IntStream.range(0, width * picture.getHeight() / 13)
                                .map(i -> picture.getRGB(13 * i % width, 13 * i / width))
                                .distinct()
                                .count())
                        .as(each.file())
                        .isGreaterThan(3);
            }
        }
    }

    /** The smallest letters of page.html leave space for 57 on a screen of 390 pixels; results may wrap. */
    @Test
    void rowsOfOutputFitAPhone() {
        NOTEBOOKS.forEach((name, notebook) -> assertThat(notebook.parts().stream()
                        .filter(Part.Output.class::isInstance)
                        .map(part -> ((Part.Output) part).text())
                        .filter(text -> !text.contains("\n  -> ")))
                .as(name)
                .allMatch(row -> row.length() <= 57, "at most 57 characters"));
    }
}
