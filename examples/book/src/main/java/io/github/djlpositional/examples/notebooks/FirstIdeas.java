package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/** Three simple ways to number positions, and what is wrong with each: integers, fractions, bits. */
final class FirstIdeas {

    private static final int SIZE = 64;
    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(SIZE);

    private FirstIdeas() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Why not just count?",
                "Integers, fractions and bits as positions, why each of them fails, and what smooth bits are.");
        notebook.question("""
                [Attention does not see order](WhyOrderIsLost.html), so each word needs a number for its place. Which number?""");
        notebook.heading("Count");
        notebook.text("""
                The first idea is to count: 0, 1, 2, and so on. Take two words, as vectors of 64 random numbers from N(0, 1), and add
                their position to the first number of both. How different are they still? The cosine of the angle between two
                vectors is near 0 for unrelated ones, and 1 for the same direction.""");
        Random random = new Random(1);
        double[] dog = each(SIZE, i -> random.nextGaussian());
        double[] man = each(SIZE, i -> random.nextGaussian());
        for (int t : new int[] {0, 10, 100, 1000}) {
            notebook.row("position %4d: cosine of both words %.4f", t, cosine(sum(dog, count(t)), sum(man, count(t))));
        }

        notebook.text("""
                At position 100 both vectors point almost to the same place: the count dwarfs the words. It has no limit, and a model
                that was trained on 100 words has never seen the numbers that come later.""");
        notebook.heading("Fractions");
        notebook.text("""
                The second idea is a fraction, from 0 for the first word to 1 for the last. It is never large. But the same
                number is another position in every sentence, and the same step has another size:""");
        LineChart fractions = LineChart.of("A position as a fraction of the sentence", "position", "fraction");
        for (int length : new int[] {5, 20, 50}) {
            notebook.row(
                    "%2d words: a step is %.3f, position 4 is %.3f", length, fraction(1, length), fraction(4, length));
            fractions.line(length + " words", length, t -> fraction(t, length));
        }
        fractions.mark("position 4", 4, 0, 1);
        notebook.picture(
                "first-ideas-fractions", "Fractions of three sentences: position 4 has three numbers", fractions);

        notebook.heading("Bits");
        notebook.text("""
                The third idea is the binary number, one bit for each dimension. It is bounded, and the same in sentences of all
                lengths. The last bit changes at every step, the bit before it at every second step, and so on.""");
        notebook.picture(
                "first-ideas-bits",
                "The first 32 positions as binary numbers: 1 is red",
                HeatMapChart.of("Positions as bits", "bit, from the left", "position", 32, 5, (t, i) -> bits(t)[i])
                        .range(0, 1));

        notebook.text("""
                But it is not smooth. From 15 to 16 all five bits change. So 16 is farther from its neighbor 15 than from 0:""");
        for (int t : new int[] {0, 14, 15, 17, 24}) {
            notebook.row("distance of 16 and %2d: %.3f", t, distance(bits(16), bits(t)));
        }

        notebook.heading("Smooth bits");
        notebook.text("""
                The rhythm of the bits is good: a fast one tells neighbors apart, slow ones tell far positions apart. Only the
                jumps are bad. So round them off. One bit repeats after 4 positions, another one after 16. Sines can have the same
                periods, and they never jump.""");
        double[] fine = each(129, i -> i / 4.0);
        LineChart jumping = LineChart.of("Two bits", "position", "bit");
        LineChart smooth = LineChart.of("Sines with the same periods", "position", "sine");
        for (int half : new int[] {2, 8}) {
            jumping.line("period " + 2 * half, fine, each(129, i -> (int) (fine[i] / half) % 2));
            smooth.line("period " + 2 * half, fine, each(129, i -> -Math.sin(Math.PI * fine[i] / half)));
        }
        notebook.pictures(
                "first-ideas-smooth",
                "Bits with the periods 4 and 16, and sines with the same periods: a bit is 1 in the half of the period that begins with a zero of its rising sine",
                2,
                List.of(jumping, smooth));

        notebook.text("""
                Move *smoothness* from 0 to 1: the bits of all positions become sines with the same periods.""");
        notebook.play("bits");

        notebook.text("""
                A sine loses one thing: it has the same value twice in each period. A cosine beside it tells the two apart
                (the [next chapter](SinesAsAClock.html) says why). These pairs of a sine and a cosine, with 32 periods from about 6 to
                about 47,000, are the *sinusoids*. They are bounded like a fraction, the same in all sentences like a count,
                different for each position, and smooth. Here they are in the same tests: the same two words, and the size of
                a step.""");
        for (int t : new int[] {0, 10, 100, 1000}) {
            notebook.row("position %4d: cosine of both words %.4f", t, cosine(sum(dog, sines(t)), sum(man, sines(t))));
        }
        for (int t : new int[] {1, 10, 100, 1000}) {
            notebook.row("step from %4d to the next: %.4f", t, distance(sines(t), sines(t + 1)));
        }
        notebook.text("""
                Sinusoids make the two words more similar, 0.41 instead of 0.11, because both get the same vector. But
                which position it is hardly matters: even at 1000 it is 0.50, and all steps are equal. These words
                have the length √64 = 8, the positions √32 = 5.7. With shorter words the positions weigh more: for
                words of N(0, 2/d), whose numbers are normally distributed with the variance 2/64 here, two words at
                one position have this mean cosine, over 1000 pairs. Similar words are not lost, however: [Added to a
                word](AddedToAWord.html) shows how such words are found again.""");
        notebook.row("mean cosine with words of N(0, 1):   %.2f", meanCosine(random, 1));
        notebook.row("mean cosine with words of N(0, 2/d): %.2f", meanCosine(random, Math.sqrt(2.0 / SIZE)));
        notebook.text("""
                And near positions are near. This is the distance of each position to position 16, relative to the greatest one.""");
        double[] byBits = relative(each(32, t -> distance(bits(16), bits(t))));
        double[] bySines = relative(each(32, t -> distance(sines(16), sines(t))));
        LineChart distances =
                LineChart.of("How far is a position from position 16?", "position", "distance / greatest distance");
        distances.line("bits", 32, t -> byBits[t]);
        distances.line("sines and cosines", 32, t -> bySines[t]);
        notebook.picture(
                "first-ideas-distances", "Bits jump; with sines and cosines, the neighbors are nearest", distances);
        notebook.recap("""
                A position needs many numbers that are bounded, repeat at different speeds like the bits of a count, and change
                smoothly.""");
        notebook.exercise(
                """
                A Gray code also numbers positions with bits, but exactly one bit changes at each step: position *t* has the bits
                of *t* xor *t*/2. Does it repair the distances? Compare 16 with 15, and with 31.""",
                String.format(
                        Locale.ROOT,
                        """
                        The step is repaired, the rest is not: the distance of 16 and 15 is %.0f, like that of all
                        neighbors. But 16 and 31 are also only %.0f apart, although they are 15 steps apart.""",
                        distance(bits(gray(16)), bits(gray(15))),
                        distance(bits(gray(16)), bits(gray(31)))));
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017), section 3.5](https://arxiv.org/abs/1706.03762)");
        notebook.text("""
                How does one read a position from such pairs? Like [a clock](SinesAsAClock.html).""");
    }

    private static int gray(int t) {
        return t ^ t >> 1;
    }

    /** Two random words at position 5, many times. */
    private static double meanCosine(Random random, double deviation) {
        double[] position = sines(5);
        double[] cosines = each(1000, pair -> {
            double[] a = each(SIZE, i -> deviation * random.nextGaussian());
            double[] b = each(SIZE, i -> deviation * random.nextGaussian());
            return cosine(sum(a, position), sum(b, position));
        });
        return Arrays.stream(cosines).average().orElseThrow();
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
        return each(SIZE, i -> ENCODING.value(t, i));
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
