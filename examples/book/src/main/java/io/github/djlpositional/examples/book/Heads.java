package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;
import static io.github.djlpositional.examples.book.Vectors.mean;
import static io.github.djlpositional.examples.book.Vectors.quantile;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** Where trained heads look, with their positions and without: in a published encoder, a small one, and a decoder. */
public final class Heads {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% before
        List<AttentionMaps> with = SentenceEncoder.attention(SENTENCES, true);
        List<AttentionMaps> without = SentenceEncoder.attention(SENTENCES, false);
        List<Head> best = heads(6, 12, head -> mean(weights(with, head, 1)));
        for (Head head : best.subList(0, 5)) {
            double bare = mean(weights(without, head, 1));
            out.print("%s: %.3f with positions, %.3f without", head, mean(weights(with, head, 1)), bare);
        }
        // ...
        out.pictures(2, ofAll("With positions", with), ofAll("Without", without));
        // %% members
        double[] tokens = weights(with, best.get(0), 1);
        double[] bare = weights(without, best.get(0), 1);
        // ...
        out.print("%d tokens, with positions: smallest weight %.4f", tokens.length, quantile(0, tokens));
        List<String> sorted = SENTENCES.stream()
                .map(words -> String.join(
                        " ", Arrays.stream(words.split(" ")).sorted().toList()))
                .toList();
        double[] inAnyOrder = weights(SentenceEncoder.attention(sorted, true), best.get(0), 1);
        out.print("the same words in alphabetical order: smallest weight %.4f", quantile(0, inAnyOrder));
        out.print(
                "without: from %.3f to %.3f, half are below %.3f",
                quantile(0, bare), quantile(0.999, bare), quantile(0.5, bare));
        double equal =
                with.stream().mapToDouble(maps -> 1 - 1.0 / maps.words().size()).sum() / tokens.length;
        out.print("equal weights would give %.3f on average", equal);
        out.pictures(2, map(with.get(0), best.get(0), "With positions"), map(without.get(0), best.get(0), "Without"));
        // %% itself
        Head self = heads(6, 12, head -> mean(weights(without, head, 0))).get(0);
        out.print(
                "%s, with positions: itself %.4f, repetition %.4f",
                self, same(with, self, true), same(with, self, false));
        out.print("without: itself %.4f, repetition %.4f", same(without, self, true), same(without, self, false));
        // ...
        out.pictures(2, map(with.get(1), self, "With positions"), map(without.get(1), self, "Without"));
        // %% small
        List<AttentionMaps> small = Measured.attention();
        Function<Head, double[]> byDistance = head -> each(9, i -> mean(weights(small, head, i - 4)));
        List<Head> peaks =
                heads(3, 4, head -> quantile(0.99, byDistance.apply(head))).subList(0, 3);
        // ...
        for (Head head : peaks) {
            double[] means = byDistance.apply(head);
            out.print(
                    "%s: before %.3f, fourth before %.3f, after %.3f, fourth after %.3f",
                    head, means[5], means[8], means[3], means[0]);
            out.print("  first word %.3f, last word %.3f", toEnd(small, head, true), toEnd(small, head, false));
        }
        out.pictures(
                2,
                map(small.get(0), peaks.get(0), peaks.get(0).toString()),
                map(small.get(0), peaks.get(2), peaks.get(2).toString()));
        // %% decoder
        Map<String, double[]> rotary = Measured.heads("trained/decoder", "rotary");
        Map<String, double[]> none = Measured.heads("trained/decoder", "none");
        List<Head> byWeight = heads(2, 4, head -> rotary.get(head + ", mean")[1]);
        // ...
        LineChart turned = LineChart.of("With rotary embeddings", "distance Δ", "mean weight");
        LineChart still = LineChart.of("The same weights, not turned", "distance Δ", "mean weight");
        for (Head head : byWeight) {
            double[] means = rotary.get(head + ", mean");
            double[] bareMeans = none.get(head + ", mean");
            double low = rotary.get(head + ", 10 %")[1];
            double high = rotary.get(head + ", 90 %")[1];
            double near = Arrays.stream(means, 0, 4).sum();
            String format = "%s: itself %.3f, before %.3f (80 %%: %.3f to %.3f), last four %.3f; without %.3f";
            out.print(format, head, means[0], means[1], low, high, near, bareMeans[1]);
            if (head.layer() == 1) {
                turned.line(head.toString(), 17, distance -> means[distance]);
                still.line(head.toString(), 17, distance -> bareMeans[distance]);
            }
        }
        out.pictures(2, turned.yRange(0, 0.6), still.yRange(0, 0.6));
    }

    /** Words are repeated, so that the same word stands at several places. */
    private static final List<String> SENTENCES = List.of(
            "a rose is a rose is a rose",
            "the dog that chased the cat that ate the mouse sat on the mat",
            "the old man and the old dog walked along the old road",
            "what you see is what you get and what you get is what you want",
            "time after time and day after day the rain fell",
            "the more we learn the more we know and the more we forget");

    /** A head; both numbers begin at 0. */
    private record Head(int layer, int head) {

        @Override
        public String toString() {
            return "layer " + (layer + 1) + ", head " + (head + 1);
        }

        double weight(AttentionMaps maps, int t, int key) {
            return maps.weight(layer, head, t, key);
        }
    }

    /** All heads, the one with the largest value first. */
    private static List<Head> heads(int layers, int heads, ToDoubleFunction<Head> value) {
        return IntStream.range(0, layers * heads)
                .mapToObj(i -> new Head(i / heads, i % heads))
                .sorted(Comparator.comparingDouble(head -> -value.applyAsDouble(head)))
                .toList();
    }

    /** The weights of the tokens at a distance before each token that has one there. */
    private static double[] weights(List<AttentionMaps> sentences, Head head, int distance) {
        return sentences.stream()
                .flatMapToDouble(maps -> {
                    int size = maps.words().size();
                    return IntStream.range(Math.max(0, distance), size + Math.min(0, distance))
                            .mapToDouble(t -> head.weight(maps, t, t - distance));
                })
                .toArray();
    }

    /** The mean weight of repeated words: to themselves, or to the same word elsewhere. */
    private static double same(List<AttentionMaps> sentences, Head head, boolean itself) {
        return mean(sentences.stream()
                .flatMapToDouble(maps -> {
                    List<String> words = maps.words();
                    return IntStream.range(0, words.size())
                            .filter(t -> Collections.frequency(words, words.get(t)) > 1)
                            .mapToDouble(t -> mean(IntStream.range(0, words.size())
                                    .filter(key -> words.get(key).equals(words.get(t)) && (key == t) == itself)
                                    .mapToDouble(key -> head.weight(maps, t, key))
                                    .toArray()));
                })
                .toArray());
    }

    /** The mean weight that all words give the first word of their sentence, or the last one. */
    private static double toEnd(List<AttentionMaps> sentences, Head head, boolean first) {
        return mean(sentences.stream()
                .flatMapToDouble(maps -> {
                    int size = maps.words().size();
                    return IntStream.range(0, size).mapToDouble(t -> head.weight(maps, t, first ? 0 : size - 1));
                })
                .toArray());
    }

    private static HeatMapChart ofAll(String title, List<AttentionMaps> sentences) {
        HeatMapChart.Cells cells = (layer, head) -> mean(weights(sentences, new Head(layer, head), 1));
        return HeatMapChart.of(title, "head", "layer", 6, 12, cells)
                .range(0, 1)
                .fromOne()
                .mark(0, 2);
    }

    private static HeatMapChart map(AttentionMaps maps, Head head, String title) {
        HeatMapChart.Cells cells = (t, key) -> head.weight(maps, t, key);
        List<String> words = maps.words();
        return HeatMapChart.ofWordRows(title, "word attended to", words, words.size(), cells)
                .range(0, 1);
    }
}
