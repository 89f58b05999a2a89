package io.github.djlpositional.examples.pictures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.EngineTest;
import io.github.djlpositional.examples.Engines;
import io.github.djlpositional.examples.ProgramRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ComparePicturesTest {

    @TempDir
    private Path folder;

    @Test
    void quickFormPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("PyTorch");
    }

    @Test
    @Tag("slow")
    void quickFormOnMxnetPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("MXNet");
    }

    private void requireEveryKind(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        String out = ProgramRun.of("compare-pictures --quick --seeds 1 --engine " + engine + " --out " + folder)
                .success();
        List<String> kinds = Stream.of(PictureEncoding.values())
                .map(PictureEncoding::toString)
                .toList();
        String table = out.substring(out.indexOf("positions "));
        assertThat(table.lines().skip(1).limit(kinds.size()).map(line -> line.substring(0, line.indexOf(' '))))
                .isEqualTo(kinds);
        List<String> rows = Files.readAllLines(folder.resolve("comparison.csv"));
        assertThat(rows).hasSize(1 + kinds.size());
        assertThat(rows.get(0)).startsWith("positions,mean 8 x 8,least 8 x 8,greatest 8 x 8,mean 12 x 12");
        assertThat(rows.get(1)).startsWith("none,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,");
        assertThat(folder.resolve("comparison.png")).exists();
    }

    @Test
    void readsTheDigitsOfScikitLearn() throws Exception {
        List<Picture> pictures = Picture.readAll();
        // sklearn.datasets.load_digits().images
        assertThat(pictures).hasSize(1797).allMatch(picture -> picture.side() == 8);
        assertThat(DoubleStream.of(pictures.get(0).pixels()).map(pixel -> 16 * pixel))
                .startsWith(0., 0., 5., 13., 9., 1., 0., 0., 0., 0., 13., 15., 10., 15., 5., 0.);
        assertThat(pictures.stream()
                        .flatMapToDouble(picture -> DoubleStream.of(picture.pixels()))
                        .map(pixel -> 16 * pixel)
                        .sum())
                .isEqualTo(SUM);
    }

    /** {@code load_digits().data.sum()}. */
    private static final double SUM = 561718;

    @Test
    void shuffledPicturesHaveTheSameRowsAndColumnsInAnotherOrder() {
        Picture picture =
                new Picture(3, IntStream.range(1, 10).mapToDouble(i -> i / 10.0).toArray());
        Picture shuffled = picture.shuffled(new Random(1));
        assertThat(shuffled.pixels()).isNotEqualTo(picture.pixels()).containsExactlyInAnyOrder(picture.pixels());
        for (int row = 0; row < 3; row++) {
            double[] sorted = Arrays.copyOfRange(shuffled.pixels(), 3 * row, 3 * row + 3);
            Arrays.sort(sorted);
            // a row of the picture has neighboring numbers
            assertThat(sorted[2] - sorted[0]).isCloseTo(0.2, within(1e-12));
        }
    }

    @EngineTest
    void resizedEncoderHasTheSameWeights(String engine) {
        Engines.assumeAvailable(engine);
        for (PictureEncoding encoding : PictureEncoding.values()) {
            try (NDManager manager = NDManager.newBaseManager(engine)) {
                PictureEncoder encoder = new PictureEncoder(encoding, 8);
                encoder.initialize(manager, DataType.FLOAT32, new Shape(1, 8, 8));
                NDArray pictures = manager.randomUniform(0, 1, new Shape(2, 8, 8));
                float[] scores = scores(encoder, pictures);
                assertThat(scores(encoder.resized(8, manager), pictures))
                        .as(encoding.toString())
                        .isEqualTo(scores);
                // a picture of one color has the same mean over any number of pixels without positions
                float[] larger = scores(encoder.resized(12, manager), manager.ones(new Shape(2, 12, 12)));
                assertThat(larger).hasSize(4).doesNotContain(Float.NaN);
                if (encoding == PictureEncoding.NONE) {
                    float[] small = scores(encoder, manager.ones(new Shape(2, 8, 8)));
                    for (int i = 0; i < 4; i++) {
                        assertThat(larger[i]).isCloseTo(small[i], within(1e-4f));
                    }
                }
            }
        }
    }

    private static float[] scores(PictureEncoder encoder, NDArray pictures) {
        ParameterStore store = new ParameterStore(pictures.getManager(), false);
        return encoder.forward(store, new NDList(pictures), false)
                .singletonOrThrow()
                .toFloatArray();
    }

    @Test
    void rejectsInvalidOptions() {
        assertThat(ProgramRun.of("compare-pictures --epochs 0").error(2))
                .startsWith("error: --epochs 0: expected 1 or more");
    }
}
