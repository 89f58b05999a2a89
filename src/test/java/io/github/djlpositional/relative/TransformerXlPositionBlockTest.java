package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.NaiveAttention.dot;
import static io.github.djlpositional.attention.NaiveAttention.plus;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.array;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.requireTerms;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Projected sinusoids of the distance, and two biases that are added to the query. */
class TransformerXlPositionBlockTest extends OnEachEngine {

    private static final Shape HEADS = new Shape(-1, 2, -1, 4);

    private static TransformerXlPositionBlock.Builder transformerXl() {
        return TransformerXlPositionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    /** The sizes of a head of W R, for the sinusoids R of a distance. */
    private static double[] projected(TransformerXlPositionBlock block, int head, double... sinusoids) {
        return Arrays.copyOfRange(linear(block, "projection", null, sinusoids), 4 * head, 4 * head + 4);
    }

    /** Section 3.3 of the paper, the terms (b) and (d): (q + v) · W R(i - j), with all sines before the cosines. */
    @Test
    void theTermOfThePositionsIsTheProductOfTheQueryAndProjectedSinusoids() {
        TransformerXlPositionBlock block = filled(manager, transformerXl().build(), DataType.FLOAT64, HEADS);
        double[][] positionBias = rows(block, "positionBias");
        requireTerms(manager, block, (head, q, k, i, j) -> {
            double[] sinusoids = IntStream.range(0, 8)
                    .mapToDouble(dimension -> {
                        double angle = (i - j) / Math.pow(10_000, dimension % 4 / 4.0);
                        return dimension < 4 ? Math.sin(angle) : Math.cos(angle);
                    })
                    .toArray();
            return dot(plus(q, positionBias[head]), projected(block, head, sinusoids));
        });
    }

    @Test
    void theSinusoidsMayHaveAnotherSize() {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(6, 100);
        TransformerXlPositionBlock block =
                filled(manager, transformerXl().optEncoding(encoding).build(), DataType.FLOAT64, HEADS);
        assertThat(array(block, "projection").getShape()).isEqualTo(new Shape(8, 6));
        double[][] positionBias = rows(block, "positionBias");
        requireTerms(manager, block, (head, q, k, i, j) -> {
            double[] sinusoids = IntStream.range(0, 6)
                    .mapToDouble(dimension -> encoding.value(i - j, dimension))
                    .toArray();
            return dot(plus(q, positionBias[head]), projected(block, head, sinusoids));
        });
    }

    /** With one frequency, a projection of the cosine only, and v = 1, the term of a query of 0 is the cosine. */
    @Test
    void theTermDependsOnTheDistanceWithoutAQueryToo() {
        TransformerXlPositionBlock block = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(2)
                .setHeadCount(1)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 1, -1, 2));
        set(block, "positionBias", 1, 0);
        set(block, "projection", 0, 1, 0, 0);
        NDArray terms = infer(manager, block, zeros(manager, DataType.FLOAT64, 1, 1, 3, 2));
        requireClose(terms.get("0, 0, 2"), new double[] {Math.cos(2), Math.cos(1), 1}, 1e-14);
    }

    @Test
    void hasTheSinusoidsOfThePublishedCodeByDefault() {
        SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                .setEmbeddingSize(8)
                .optLayout(PairLayout.CONCATENATED)
                .build();
        assertThat(transformerXl().build().getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "TransformerXlPositionBlock",
                        "embeddingSize",
                        8,
                        "headCount",
                        2,
                        "encoding",
                        encoding.getArguments()));
    }

    /** TermPeersTest compares Wav2Vec2-Conformer, FastSpeech2-Conformer, SeamlessM4T, Parakeet and Nemotron. */
    @Test
    void sinesAndCosinesAlternateInAConformer() {
        assertThat(TransformerXlPositionBlock.conformer(8, 2).build().getArguments())
                .isEqualTo(transformerXl()
                        .optEncoding(SinusoidalEncoding.vaswani(8))
                        .build()
                        .getArguments());
    }

    @Test
    void rejectsSizesThatAreNoHeads() {
        TransformerXlPositionBlock block = transformerXl().build();
        assertAll(
                rejected(transformerXl().setHeadCount(3)::build, "embeddingSize 8", "headCount 3"),
                rejected(() -> block.requireFits(3, 3, 4, 12), "3 heads of size 4", "setHeadCount(3)", block),
                rejected(() -> block.requireFits(2, 2, 6, 12), "2 heads of size 6", "setEmbeddingSize(12)", block));
    }

    @Test
    void rejectsQueriesOfAnotherShape() {
        TransformerXlPositionBlock block = filled(manager, transformerXl().build(), DataType.FLOAT32, HEADS);
        ScoreTerms.requireRejected(manager, block, "(B, 2, T, 4)", new Shape(1, 3, 8), new Shape(1, 3, 3, 4));
    }
}
