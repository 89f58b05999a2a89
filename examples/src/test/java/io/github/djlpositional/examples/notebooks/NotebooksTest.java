package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.SmallEncoder;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NotebooksTest {

    @TempDir
    private static Path model;

    @TempDir
    private Path folder;

    @BeforeAll
    static void trainATinyModel() {
        SmallEncoder.saveTo(model, "PyTorch", "--encoding", "none,sinusoidal");
    }

    private Notebook notebook(ByteArrayOutputStream printed) {
        return new Notebook(new PrintStream(printed, true, StandardCharsets.UTF_8), folder, model);
    }

    private String printed(Notebook.Page page) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        Notebook.write(page, notebook(printed));
        return printed.toString(StandardCharsets.UTF_8);
    }

    private void requirePictures(String... names) throws Exception {
        for (String name : names) {
            BufferedImage picture = ImageIO.read(folder.resolve(name + ".png").toFile());
            assertThat(picture.getWidth()).as(name).isGreaterThan(900);
            // not an empty sheet
            assertThat(IntStream.range(0, picture.getWidth())
                            .map(x -> picture.getRGB(x, picture.getHeight() / 2))
                            .distinct()
                            .count())
                    .as(name)
                    .isGreaterThan(3);
            assertThat(Files.readString(folder.resolve(name + ".svg"))).as(name).contains("<svg");
        }
    }

    @Test
    void gettingStarted() throws Exception {
        assertThat(printed(GettingStarted::write))
                .contains("-> (2, 10, 512)", "-> (1, 50, 64)", "-> (4, 120, 512)", "-> (4, 90, 512)");
        requirePictures("getting-started");
    }

    @Test
    void sinusoidsByHand() throws Exception {
        assertThat(printed(SinusoidsByHand::write))
                .contains("angle 3/1 = 3.0000", "angle 3/100 = 0.0300", "sin = 0.1411200081, cos = -0.9899924966");
        requirePictures("sinusoids-by-hand");
    }

    @Test
    void whySinusoids() throws Exception {
        assertThat(printed(WhySinusoids::write))
                .contains(
                        "greatest value of a sequence of 5000: counting 4999, sinusoids 1.000",
                        " 7 ->  8: binary distance 2.000",
                        "similarity at distance  0: 32.000 of 32");
        requirePictures(
                "why-steps", "why-heat-map", "why-dimensions", "why-similarity", "why-dials", "why-perturbation");
    }

    @Test
    void shiftByRotation() throws Exception {
        String printed = printed(ShiftByRotation::write);
        // of T(k) · PE(t) - PE(t + k): a few roundings of numbers up to 1
        assertThat(printed.lines().filter(line -> line.contains("greatest error")))
                .hasSize(6)
                .allMatch(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))) < 1e-14);
        requirePictures("shift-matrix", "shift-sine-alone");
    }

    @Test
    void conventions() throws Exception {
        assertThat(printed(Conventions::write)).contains("DDPM                0.84147  0.04640  0.00215");
        requirePictures("convention-paper", "convention-ddpm", "convention-own-frequencies");
    }

    @Test
    void precision() throws Exception {
        List<String> last = printed(Precision::write)
                .lines()
                .filter(line -> line.startsWith("    999999"))
                .toList();
        assertThat(last).hasSize(1);
        String[] errors = last.get(0).trim().split(" +", -1);
        assertThat(Double.parseDouble(errors[2])).isGreaterThan(1e-2);
        assertThat(Double.parseDouble(errors[4])).isLessThan(0x1p-24);
        requirePictures("precision");
    }

    @Test
    void lengthExtrapolation() throws Exception {
        assertThat(printed(LengthExtrapolation::write))
                .contains("transformer_xl", "none                0.500    0.500");
        requirePictures("length-extrapolation");
    }

    @Test
    void trainingCurves() throws Exception {
        String printed = printed(TrainingCurves::write);
        assertThat(printed).contains("none           10 trained steps", "sinusoidal     10 trained steps");
        assertThat(printed.lines().filter(line -> line.contains("head 1:"))).hasSize(3);
        AttentionMaps maps = AttentionMaps.of(model, List.of("one small word")).get(0);
        for (int from = 0; from < 3; from++) {
            int looks = from;
            assertThat(IntStream.range(0, 3)
                            .mapToDouble(to -> maps.weight(1, 2, looks, to))
                            .sum())
                    .isCloseTo(1, within(1e-6));
        }
        requirePictures("training-loss", "training-accuracy", "attention-in-order", "attention-shuffled");
    }

    @Test
    void galleryNeedsNothingElse() throws Exception {
        Gallery.write(notebook(new ByteArrayOutputStream()));
        String page = Files.readString(folder.resolve("index.html"));
        assertThat(page.split("<img ", -1)).hasSizeGreaterThan(20);
        assertThat(page).doesNotContain("http", "<script", "<link").contains("prefers-color-scheme: dark", "viewport");
        Gallery.pages().keySet().forEach(name -> assertThat(page).contains("<h2>" + name + "</h2>"));
    }
}
