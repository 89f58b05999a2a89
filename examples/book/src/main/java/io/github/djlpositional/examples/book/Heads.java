// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.frame;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.numbered;
import static io.github.djlpositional.examples.Plots.numbers;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;
import static io.github.djlpositional.examples.book.Vectors.mean;
import static io.github.djlpositional.examples.book.Vectors.quantile;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jfree.chart.JFreeChart;

/** Where trained heads look, with their positions and without: in a published encoder, a small one, and a decoder. */
public final class Heads {

    public static void main(String... args) throws Exception {
        // %% before
        List<AttentionMaps> with = SentenceEncoder.attention(SENTENCES, true);
        List<AttentionMaps> without = SentenceEncoder.attention(SENTENCES, false);
        List<Head> best = heads(6, 12, head -> mean(ofBefore(with, head)));
        for (Head head : best.subList(0, 5)) {
            double[] means = {mean(ofBefore(with, head)), mean(ofBefore(without, head))};
            print("%s: %.3f, without %.3f", head, means[0], means[1]);
        }
        // ...
        display(picture(ofAll("With positions", with)));
        display(picture(ofAll("Without", without)));
        // %% members
        double[] tokens = ofBefore(with, best.get(0));
        double[] bare = ofBefore(without, best.get(0));
        // ...
        print("%d tokens, smallest weight %.4f", tokens.length, quantile(0, tokens));
        print("without: half below %.3f, largest %.3f", quantile(0.5, bare), quantile(0.999, bare));
        display(picture(map(with.get(0), best.get(0), "With positions")));
        display(picture(map(without.get(0), best.get(0), "Without")));
        // %% small
        List<AttentionMaps> small = Measured.attention();
        Function<Head, double[]> byDistance = head -> each(9, i -> mean(weights(small, head, (size, t) -> t - i + 4)));
        List<Head> peaks = heads(3, 4, head -> quantile(0.99, byDistance.apply(head)));
        // ...
        print("%-15s %5s %5s %5s %5s", "", "first", "last", "Δ=1", "Δ=4");
        for (Head head : peaks.subList(0, 3)) {
            double[] ends = each(2, i -> mean(weights(small, head, (size, t) -> i * (size - 1))));
            double[] means = byDistance.apply(head);
            print("%s %.3f %.3f %.3f %.3f", head, ends[0], ends[1], means[5], means[8]);
        }
        display(picture(map(small.get(0), peaks.get(0), "first word")));
        display(picture(map(small.get(0), peaks.get(2), "last word")));
        // %% decoder
        Map<String, double[]> rotary = Measured.heads("trained/decoder", "rotary");
        List<Head> byWeight = heads(2, 4, head -> rotary.get(head + ", mean")[1]);
        // ...
        JFreeChart chart = lines("The heads of layer 2", "distance Δ", "mean weight");
        print("%-15s %5s %5s %5s %6s", "", "mean", "10 %", "90 %", "last 4");
        for (Head head : byWeight.subList(0, 4)) {
            double[] means = rotary.get(head + ", mean");
            double low = rotary.get(head + ", 10 %")[1];
            double high = rotary.get(head + ", 90 %")[1];
            double last = Arrays.stream(means, 0, 4).sum();
            print("%s %.3f %.3f %.3f %6.3f", head, means[1], low, high, last);
            line(chart, head.toString(), 17, distance -> means[distance]);
        }
        chart.getXYPlot().getRangeAxis().setRange(0.0, 0.6);
        display(picture(chart));
    }

    private static final List<String> SENTENCES = List.of(
            "a rose is a rose is a rose",
            "the dog that chased the cat that ate the mouse sat on the mat",
            "the old man and the old dog walked along the old road",
            "what you see is what you get and what you get is what you want",
            "time after time and day after day the rain fell",
            "the more we learn the more we know and the more we forget");

    private record Head(int layer, int head) {

        @Override
        public String toString() {
            return "layer " + (layer + 1) + ", head " + (head + 1);
        }
    }

    private static List<Head> heads(int layers, int heads, ToDoubleFunction<Head> value) {
        return IntStream.range(0, layers * heads)
                .mapToObj(i -> new Head(i / heads, i % heads))
                .sorted(Comparator.comparingDouble(head -> -value.applyAsDouble(head)))
                .toList();
    }

    private static double[] weights(List<AttentionMaps> sentences, Head head, IntBinaryOperator key) {
        return sentences.stream()
                .flatMapToDouble(maps -> {
                    int size = maps.words().size();
                    return IntStream.range(0, size)
                            .filter(t -> key.applyAsInt(size, t) >= 0 && key.applyAsInt(size, t) < size)
                            .mapToDouble(t -> maps.weight(head.layer(), head.head(), t, key.applyAsInt(size, t)));
                })
                .toArray();
    }

    private static double[] ofBefore(List<AttentionMaps> sentences, Head head) {
        return weights(sentences, head, (size, t) -> t - 1);
    }

    private static JFreeChart ofAll(String title, List<AttentionMaps> sentences) {
        Plots.Cells cells = (layer, head) -> mean(ofBefore(sentences, new Head(layer, head)));
        return frame(heatMap(title, "head", "layer", 0, 1, numbers(1, 6), numbers(1, 12), cells), 0, 2);
    }

    private static JFreeChart map(AttentionMaps maps, Head head, String title) {
        Plots.Cells cells = (t, key) -> maps.weight(head.layer(), head.head(), t, key);
        List<String> keys = numbers(0, maps.words().size());
        return heatMap(title, "word attended to", "word", 0, 1, numbered(maps.words()), keys, cells);
    }
}
