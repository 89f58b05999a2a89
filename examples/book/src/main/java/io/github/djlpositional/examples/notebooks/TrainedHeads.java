package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.TrainingLog;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Which heads look at a place: in a published model with and without its positions, and in a small one from scratch.
 */
final class TrainedHeads {

    /** Words are repeated, so that the same word stands at several places. */
    private static final List<String> REPETITIONS = List.of(
            "a rose is a rose is a rose",
            "the dog that chased the cat that ate the mouse sat on the mat",
            "the old man and the old dog walked along the old road",
            "what you see is what you get and what you get is what you want",
            "time after time and day after day the rain fell",
            "the more we learn the more we know and the more we forget");

    /** Definitions in order. */
    static final List<String> SENTENCES = List.of(
            "a small domesticated animal that is kept as a pet",
            "the act of moving from one place to another",
            "a person who writes books",
            "a room where food is prepared",
            "the process of becoming larger or longer",
            "a building where people live together");

    /** The greatest distance of two words that is drawn. */
    private static final int REACH = 4;

    /** A head, counted from 0. */
    record Head(int layer, int head) {

        static List<Head> of(AttentionMaps maps) {
            return IntStream.range(0, maps.layers().size())
                    .boxed()
                    .flatMap(layer ->
                            IntStream.range(0, maps.layers().get(layer).size()).mapToObj(head -> new Head(layer, head)))
                    .toList();
        }

        String title() {
            return "Layer " + (layer + 1) + ", head " + (head + 1);
        }
    }

    private TrainedHeads() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What do trained heads look at?",
                "A head of a published model looks at the word before; without positions it cannot.");
        notebook.question("""
                The picture of a trained head has a diagonal. Does the head look at a place, or at a word?""");
        notebook.text("""
                [A shift is a rotation](ShiftAsRotation.html) showed that a head *can* learn to look three words back.
                Do heads learn such things? The published sentence encoder all-MiniLM-L6-v2 has 6 layers of 12 heads,
                and [a learned table](LearnedTables.html) of positions. Instead of choosing one, we measure all 72
                heads: the mean attention of a token to the token before it, over six sentences. Then again after one
                change: all tokens get the same position vector, the mean of the table. Nothing is trained.""");
        notebook.heading("A head for the word before");
        List<AttentionMaps> with = SentenceEncoder.attention(REPETITIONS, true);
        List<AttentionMaps> without = SentenceEncoder.attention(REPETITIONS, false);
        List<Head> heads = Head.of(with.get(0));
        List<Head> byBefore = heads.stream()
                .sorted(Comparator.comparingDouble(head -> -at(with, head, -1)))
                .toList();
        notebook.row("%-19s %16s %18s", "to the one before", "with positions", "the same for all");
        for (Head head : byBefore.subList(0, 5)) {
            notebook.row("%-19s %16.3f %18.3f", head.title(), at(with, head, -1), at(without, head, -1));
        }
        Head before = byBefore.get(0);
        notebook.pictures(
                "trained-heads-before",
                "The mean attention to the token before, from 0 to 1 (red), of all heads of the published model; layers"
                        + " and heads are counted from 0 here: layer 1, head 3 is row 0, column 2",
                2,
                List.of(ofHeads("With positions", with), ofHeads("The same position for all", without)));

        notebook.text("""
                One head gives the token before *all* of its attention, wherever it is, and without positions 0.106 of
                it is left, little more than equal weights would give. This is the head with "a rose is a rose is a
                rose". With positions, each word (row) attends to the one before it (column). Without them, the three
                rows of *rose* are equal, and they must be: the head gets the same vector three times.""");
        notebook.pictures(
                "trained-heads-rose",
                before.title() + " of the published model, with positions and with the same position for all",
                2,
                List.of(
                        wordMap(with.get(0), before, "With positions"),
                        wordMap(without.get(0), before, "The same position for all")));

        notebook.heading("A diagonal is not yet a place");
        notebook.text("""
                It is often said that without positions there can be no diagonal. There can: if the query and the key of a word are
                similar, each word attends to itself (beside the first token, `[CLS]`, where many heads put what they do not
                need). The next head does this best *without* positions. Repeated words tell the
                two kinds of diagonals apart: a head that knows words only must give a word and its repetitions the same weight.
                *Itself* is the mean weight of repeated words to themselves, *repetition* to the other places of the same
                word. Without positions both are the same, so this head looks at words. With positions it prefers
                the repetitions to the word itself: it looks for the same word at *another* place, and uses both.""");
        Head self = heads.stream()
                .max(Comparator.comparingDouble(head -> at(without, head, 0)))
                .orElseThrow();
        notebook.row("%-28s %10s %10s", self.title(), "itself", "repetition");
        notebook.row("%-28s %10.4f %10.4f", "with positions", same(with, self, true), same(with, self, false));
        notebook.row("%-28s %10.4f %10.4f", "the same for all", same(without, self, true), same(without, self, false));
        notebook.pictures(
                "trained-heads-itself",
                self.title()
                        + ", which attends most to the word itself without positions: with words that occur once it would look"
                        + " like a head of places",
                2,
                List.of(
                        wordMap(with.get(1), self, "With positions"),
                        wordMap(without.get(1), self, "The same position for all")));

        notebook.heading("How a model learns to use positions");
        notebook.text("""
                The example's encoders learn to tell definitions of WordNet from shuffled ones. Without positions a sentence is a
                bag of words ([Why order is lost](WhyOrderIsLost.html)), and the accuracy stays at 0.5, so a hundred steps are
                enough. The table has the means of the last tenth of the steps.""");
        TrainingLog log = TrainedModel.log(notebook, Encoding.NONE, Encoding.SINUSOIDAL);
        Map<Encoding, List<TrainingLog.Line>> trainings = log.lines().stream()
                .collect(Collectors.groupingBy(TrainingLog.Line::encoding, LinkedHashMap::new, Collectors.toList()));
        int window =
                window(trainings.values().stream().mapToInt(List::size).max().orElseThrow());
        notebook.row("%-14s %6s %7s %9s", "positions", "steps", "loss", "accuracy");
        trainings.forEach((encoding, lines) -> notebook.row(
                "%-14s %6d %7.3f %9.3f",
                encoding.title(),
                lines.size(),
                lastMean(lines, TrainingLog.Line::loss),
                lastMean(lines, TrainingLog.Line::accuracy)));
        notebook.pictures(
                "trained-heads-training",
                "The loss and the accuracy in training, without and with positions; each point is the mean of " + window
                        + " steps",
                1,
                List.of(
                        curves("Loss", "cross entropy", trainings, window, TrainingLog.Line::loss),
                        curves("Accuracy", "fraction correct", trainings, window, TrainingLog.Line::accuracy)));

        notebook.text("""
                What have its heads learned? The mean attention by place, over six definitions: -1 is the word before.
                The lines are the three heads with the highest peaks. The value at a place is the mean over the words
                that have a neighbor there, so a line does not add up to 1.""");
        List<AttentionMaps> own = TrainedModel.attention(notebook, SENTENCES, Encoding.NONE, Encoding.SINUSOIDAL);
        List<Head> peaks = Head.of(own.get(0)).stream()
                .sorted(Comparator.comparingDouble(
                        head -> -Arrays.stream(byPlace(own, head)).max().orElseThrow()))
                .limit(3)
                .toList();
        LineChart byPlace = LineChart.of("Where the heads of the small model look", "place", "mean attention");
        for (Head head : peaks) {
            double[] means = byPlace(own, head);
            byPlace.line(head.title(), LineChart.each(means.length, i -> i - REACH), means);
            notebook.row(
                    "%-17s before %.3f, itself %.3f, after %.3f",
                    head.title(), means[REACH - 1], means[REACH], means[REACH + 1]);
        }
        byPlace.yRange(0.0, Double.NaN);
        notebook.picture(
                "trained-heads-places",
                "The mean attention by the place of the attended word, in the small model",
                byPlace);

        notebook.text("""
                No head of the small model looks at the word before only: to tell a sentence from a shuffled one, it need not find
                a neighbor. But its heads know the direction. The first of these gives nothing to the words after,
                and most to those that are far before.""");
        notebook.recap("""
                To find out whether a head looks at places, change the positions and keep the words: what changes was about
                places.""");
        notebook.exercise("""
                In "a rose is a rose is a rose", which entries of a map must be equal in *every* model without
                positions and without a causal mask?""", """
                Leaving out [CLS] and [SEP], all rows of equal words, and within a row all columns of equal words: of
                8 words only 3 are different, so the 64 weights have at most 9 different values.""");
        notebook.sources(
                "[Clark et al., What Does BERT Look At? (2019)](https://arxiv.org/abs/1906.04341)",
                "[Olsson et al., In-context Learning and Induction Heads (2022)](https://arxiv.org/abs/2209.11895)");
        notebook.text("""
                Heads use the positions that they get. Which positions should your model get? That is
                [Which to use](WhichToUse.html).""");
    }

    private static double lastMean(List<TrainingLog.Line> lines, ToDoubleFunction<TrainingLog.Line> number) {
        int first = lines.size() - Math.max(1, Math.floorDiv(lines.size(), 10));
        return lines.stream().skip(first).mapToDouble(number).average().orElseThrow();
    }

    /**
     * The number of steps that one point of a curve stands for: 50 to 100 points, or every step of a short training.
     */
    private static int window(int steps) {
        return steps < 500 ? 1 : 10 * Math.floorDiv(steps, 500);
    }

    /** Draws points that are each the mean of several steps. */
    private static LineChart curves(
            String title,
            String yTitle,
            Map<Encoding, List<TrainingLog.Line>> trainings,
            int window,
            ToDoubleFunction<TrainingLog.Line> number) {
        LineChart chart = LineChart.of(title, "step", yTitle);
        trainings.forEach((encoding, lines) -> {
            int points = Math.floorDiv(lines.size(), window);
            chart.line(
                    encoding.title(),
                    LineChart.each(
                            points, point -> lines.get((point + 1) * window - 1).step()),
                    LineChart.each(
                            points,
                            point -> lines.subList(point * window, (point + 1) * window).stream()
                                    .mapToDouble(number)
                                    .average()
                                    .orElseThrow()));
        });
        return chart;
    }

    /** The mean weight of a word to the word at a place relative to it. */
    private static double at(List<AttentionMaps> sentences, Head head, int place) {
        return byPlace(sentences, head)[REACH + place];
    }

    /** The mean weights of the places -4 to 4. */
    static double[] byPlace(List<AttentionMaps> sentences, Head head) {
        return LineChart.each(
                2 * REACH + 1,
                i -> sentences.stream()
                        .flatMapToDouble(maps -> IntStream.range(0, maps.words().size())
                                .filter(from -> from + i - REACH >= 0
                                        && from + i - REACH < maps.words().size())
                                .mapToDouble(from -> maps.weight(head.layer(), head.head(), from, from + i - REACH)))
                        .average()
                        .orElseThrow());
    }

    /** The mean weight of the words that are repeated: to themselves, or to the same word at other places. */
    static double same(List<AttentionMaps> sentences, Head head, boolean itself) {
        return sentences.stream()
                .flatMapToDouble(maps -> IntStream.range(0, maps.words().size())
                        .filter(from ->
                                Collections.frequency(maps.words(), maps.words().get(from)) > 1)
                        .mapToDouble(from -> IntStream.range(0, maps.words().size())
                                .filter(to ->
                                        maps.words().get(to).equals(maps.words().get(from)))
                                .filter(to -> (to == from) == itself)
                                .mapToDouble(to -> maps.weight(head.layer(), head.head(), from, to))
                                .average()
                                .orElseThrow()))
                .average()
                .orElseThrow();
    }

    private static HeatMapChart ofHeads(String title, List<AttentionMaps> sentences) {
        AttentionMaps first = sentences.get(0);
        return HeatMapChart.of(
                        title,
                        "head, from 0",
                        "layer, from 0",
                        first.layers().size(),
                        first.layers().get(0).size(),
                        (layer, head) -> at(sentences, new Head(layer, head), -1))
                .range(0, 1);
    }

    private static HeatMapChart wordMap(AttentionMaps maps, Head head, String title) {
        return HeatMapChart.ofWordRows(
                        title,
                        "attended word",
                        maps.words(),
                        maps.words().size(),
                        (row, column) -> maps.weight(head.layer(), head.head(), row, column))
                .range(0, 1);
    }
}
