package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.Drawing.each;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.Random;
import org.knowm.xchart.XYChart;

/** Three simple ways to number positions, and what is wrong with each: integers, fractions, bits. */
final class FirstIdeas {

    private static final int SIZE = 64;

    private FirstIdeas() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Why not just count?", "Integers, fractions and bits as positions, and why each of them fails.");
        notebook.text("""
                Integers, fractions and bits are simple ways to number positions, but each of them has a problem.

                The first idea is to count: 0, 1, 2, and so on. Take two words, as vectors of 64 random numbers, and add their position to
                the first number of both. How different are they still? The cosine of the angle between two vectors is near 0
                for unrelated ones, and 1 for the same direction.""");
        Random random = new Random(1);
        double[] dog = each(SIZE, i -> random.nextGaussian());
        double[] man = each(SIZE, i -> random.nextGaussian());
        for (int t : new int[] {0, 10, 100, 1000}) {
            notebook.row("position %4d: cosine of both words %.4f", t, cosine(sum(dog, count(t)), sum(man, count(t))));
        }

        notebook.text("""
                At position 100 the words can hardly be told apart any more: the count hides them. It has no limit, and a model
                that was trained on 100 words has never seen the numbers that come later.

                The second idea is a fraction, from 0 for the first word to 1 for the last. It is never large. But the same
                number is another position in every sentence, and the same step has another size:""");
        XYChart fractions = Drawing.lines("A position as a fraction of the sentence", "position", "fraction");
        for (int length : new int[] {5, 20, 50}) {
            notebook.row(
                    "%2d words: a step is %.3f, position 4 is %.3f", length, fraction(1, length), fraction(4, length));
            Drawing.line(fractions, length + " words", length, t -> fraction(t, length));
        }
        Drawing.mark(fractions, "position 4", 4, 0, 1);
        notebook.picture(
                "first-ideas-fractions", "Fractions of three sentences: position 4 has three numbers", fractions);

        notebook.text("""
                The third idea is the binary number, one bit for each dimension. It is bounded, and the same in sentences of all
                lengths. The last bit changes at every step, the bit before it at every second step, and so on.""");
        notebook.picture(
                "first-ideas-bits",
                "The first 32 positions as binary numbers: 1 is red",
                Drawing.map("Positions as bits", "bit, from the left", "position", 32, 5, 0, 1, (t, i) -> bits(t)[i]));

        notebook.text("""
                But it is not smooth. From 15 to 16 all five bits change. So 16 is farther from its neighbour 15 than from 0:""");
        for (int t : new int[] {0, 14, 15, 17, 24}) {
            notebook.row("distance of 16 and %2d: %.3f", t, distance(bits(16), bits(t)));
        }

        notebook.text("""
                What is needed is bounded like a fraction, the same in all sentences like a count, different for each position,
                and smooth. The next chapter builds it from sines and cosines. Here it is, measured in the same three ways.
                All positions have the same length, so they make the words more similar, but never hide them: the cosine hardly
                exceeds 0.5. All steps are equal, and near positions are near. The picture shows each distance relative to the
                greatest one.""");
        for (int t : new int[] {0, 10, 100, 1000}) {
            notebook.row("position %4d: cosine of both words %.4f", t, cosine(sum(dog, sines(t)), sum(man, sines(t))));
        }
        for (int t : new int[] {1, 10, 100, 1000}) {
            notebook.row("step from %4d to the next: %.4f", t, distance(sines(t), sines(t + 1)));
        }
        double[] byBits = relative(each(32, t -> distance(bits(16), bits(t))));
        double[] bySines = relative(each(32, t -> distance(sines(16), sines(t))));
        XYChart distances =
                Drawing.lines("How far is a position from position 16?", "position", "distance / greatest distance");
        Drawing.line(distances, "bits", 32, t -> byBits[t]);
        Drawing.line(distances, "sines and cosines", 32, t -> bySines[t]);
        notebook.picture(
                "first-ideas-distances", "Bits jump; with sines and cosines, the neighbours are nearest", distances);
    }

    private static double[] relative(double... distances) {
        double greatest = Arrays.stream(distances).max().orElseThrow();
        return each(distances.length, i -> distances[i] / greatest);
    }

    private static double[] count(int t) {
        return each(SIZE, i -> i == 0 ? t : 0);
    }

    private static double fraction(int t, int length) {
        return t / (length - 1.0);
    }

    private static double[] bits(int t) {
        return each(5, i -> t >> (4 - i) & 1);
    }

    private static double[] sines(int t) {
        return each(SIZE, i -> SinusoidalEncoding.vaswani(SIZE).value(t, i));
    }

    private static double[] sum(double[] a, double[] b) {
        return each(a.length, i -> a[i] + b[i]);
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static double cosine(double[] a, double[] b) {
        return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
    }

    private static double distance(double[] a, double[] b) {
        double[] difference = each(a.length, i -> a[i] - b[i]);
        return Math.sqrt(dot(difference, difference));
    }
}
