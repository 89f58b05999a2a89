package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The published conventions of sinusoids, told apart by what differs: layout, order, frequencies, and odd sizes. */
final class Conventions {

    private Conventions() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Which sinusoids does a model use?",
                "Many programs, six conventions: what differs, and what that changes.");
        notebook.question("""
                You want to run a published model with sinusoids. [The formula](SinesAsAClock.html) is in the paper; is it the one
                of the model?""");
        notebook.heading("Six conventions");
        notebook.text("""
                Every program computes "the" sinusoidal encoding, but not the same one. Here are published conventions at size 8.
                Those with equal numbers are in one group. The numbers are those of position 1.""");
        Map<SinusoidalEncoding, List<String>> groups = published(8).entrySet().stream()
                .collect(Collectors.groupingBy(
                        Map.Entry::getValue,
                        LinkedHashMap::new,
                        Collectors.mapping(Map.Entry::getKey, Collectors.toList())));
        groups.forEach((encoding, users) -> {
            users.forEach(user -> notebook.row("%s:", user));
            notebook.row(" %s", rounded(encoding, 1));
        });

        notebook.text("""
                These are six conventions. They differ in only three things: where the two halves of a pair are, which of
                them comes first, and by what the exponents of the frequencies are divided. With *n* = *d*/2 pairs, the paper
                divides *k* by *n*, so that its slowest hand is faster than 1/10000: 1/1000 at size 8, about 1/9650 at size 512. Others divide by
                *n* - 1, and the slowest hand has exactly this frequency.""");
        notebook.formula("\\omega_k = 10000^{-k/n} \\text{ or } \\omega_k = 10000^{-k/(n-1)}");
        notebook.row("%-12s %-8s %-8s %s", "pairs", "first", "slowest", "for example");
        groups.forEach((encoding, users) -> notebook.row(
                "%-12s %-8s %-8s %s",
                encoding.frequency(0) == encoding.frequency(1) ? "neighbors" : "halves",
                encoding.value(0, 0) == 0 ? "sine" : "cosine",
                String.format(Locale.ROOT, "1/%.0f", 1 / encoding.frequency(7)),
                users.get(0).replaceFirst(",.*", "")));

        notebook.heading("Where the numbers are");
        notebook.text("The four arrangements of the same numbers: 16 dimensions, with the frequencies of the paper.");
        List<HeatMapChart> arrangements = new ArrayList<>();
        for (PairLayout layout : List.of(PairLayout.INTERLEAVED, PairLayout.CONCATENATED)) {
            for (boolean cosineFirst : new boolean[] {false, true}) {
                SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                        .setEmbeddingSize(16)
                        .optLayout(layout)
                        .optCosineFirst(cosineFirst)
                        .build();
                String title = (layout == PairLayout.INTERLEAVED ? "Neighbors, " : "Halves, ")
                        + (cosineFirst ? "cosine first" : "sine first");
                arrangements.add(HeatMapChart.of(title, "dimension", "position", 32, 16, encoding::value));
            }
        }
        notebook.pictures(
                "conventions-arrangements", "The arrangements differ in the order of columns", 2, arrangements);

        notebook.heading("How fast they turn");
        notebook.text("""
                Frequencies are the other difference. At large sizes those of the paper and of tensor2tensor are close; other ones can be given
                for each pair, for example powers of one half.""");
        LineChart frequencies = LineChart.of("Frequencies of 16 dimensions", "pair", "radians per position");
        frequencies.yLogarithmic();
        Map<String, SinusoidalEncoding> curves = new LinkedHashMap<>();
        curves.put("divided by n, the paper", SinusoidalEncoding.xTransformers(16));
        curves.put("divided by n - 1, tensor2tensor", SinusoidalEncoding.tensor2tensor(16, 1, 10_000));
        curves.put(
                "powers of one half",
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(16)
                        .optLayout(PairLayout.CONCATENATED)
                        .optFrequencies(Frequencies.of(each(8, pair -> Math.pow(2, -pair))))
                        .build());
        curves.forEach((name, encoding) -> frequencies.line(name, 8, encoding::frequency));
        notebook.picture("conventions-frequencies", "The frequency of each pair, on a logarithmic axis", frequencies);

        notebook.heading("Odd sizes");
        notebook.text("""
                At an odd size, one half of a pair has no place. Some keep the odd size in the exponent and end with a sine. Some
                compute one dimension more and leave it out. Some compute one less and append a zero. Position 1 at size 5:""");
        List<HeatMapChart> oddSizes = new ArrayList<>();
        for (OddSize oddSize : OddSize.values()) {
            String title = oddSize.name().toLowerCase(Locale.ROOT).replace('_', ' ');
            SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                    .setEmbeddingSize(5)
                    .optOddSize(oddSize)
                    .build();
            notebook.row("%-17s %s", title, rounded(encoding, 1));
            oddSizes.add(HeatMapChart.of("Odd size: " + title, "dimension", "position", 100, 5, encoding::value));
        }
        notebook.pictures(
                "conventions-odd-sizes", "Five dimensions: the waves of the last three columns differ", 3, oddSizes);

        notebook.heading("What a wrong convention costs");
        notebook.text("""
                A model must run with the convention that it was trained with. With another one, its positions are other vectors:
                for 100 positions of 512 dimensions, this is the mean cosine of the angle between the vectors of the paper and
                those of other conventions. It is 1 for the same vector.""");
        SinusoidalEncoding paper = SinusoidalEncoding.vaswani(512);
        published(512).forEach((users, other) -> notebook.row("%.3f  %s", meanCosine(paper, other), users));

        notebook.text("""
                A wrong convention raises no error. Shapes and ranges are the same, and the model answers, only worse. So compare
                the numbers of one position with those of the original program. The factory methods of `SinusoidalEncoding` have
                the names of the programs.""");
        notebook.recap("""
                Sinusoids differ in the place of the halves, their order and the divisor of the exponents; use those of the
                training.""");
        notebook.exercise("""
                A checkpoint has the encoding of position 1 at size 8: 0.8415, 0.0464, 0.0022, 0.0001, 0.5403, 0.9989, 1.0000,
                1.0000. Which convention is it?""", """
                Halves, sines first. The second sine is 0.0464 = sin(10000^(-1/3)): the exponents are divided by *n* - 1 = 3,
                and the slowest is 1/10000. This is tensor2tensor's.""");
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017)](https://arxiv.org/abs/1706.03762)",
                "[Ho et al., Denoising Diffusion Probabilistic Models (2020)](https://arxiv.org/abs/2006.11239)",
                "[tensor2tensor](https://github.com/tensorflow/tensor2tensor)");
    }

    /** Returns published conventions by who uses them. */
    private static Map<String, SinusoidalEncoding> published(int size) {
        Map<String, SinusoidalEncoding> published = new LinkedHashMap<>();
        published.put("Vaswani et al., D2L, PyTorch's tutorial, KerasHub", SinusoidalEncoding.vaswani(size));
        published.put("Géron (2nd edition), multidim-positional-encoding", SinusoidalEncoding.roundedUp(size));
        published.put("bert4keras", SinusoidalEncoding.bert4keras(size, 10_000));
        published.put("tensor2tensor, Whisper", SinusoidalEncoding.tensor2tensor(size, 1, 10_000));
        published.put("fairseq", SinusoidalEncoding.fairseq(size));
        published.put("DDPM", SinusoidalEncoding.diffusion(size));
        published.put("x-transformers", SinusoidalEncoding.xTransformers(size));
        published.put("improved-diffusion, Stable Diffusion", SinusoidalEncoding.diffusion(size, 0, 1, true));
        published.put("DiT in diffusers", SinusoidalEncoding.diffusion(size, 1, 1, true));
        published.put(
                "some texts",
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(size)
                        .optCosineFirst(true)
                        .build());
        return published;
    }

    private static String rounded(SinusoidalEncoding encoding, int position) {
        StringBuilder row = new StringBuilder();
        for (int i = 0; i < encoding.getEmbeddingSize(); i++) {
            row.append(String.format(Locale.ROOT, " %.4f", encoding.value(position, i)));
        }
        return row.substring(1);
    }

    /** Returns the mean over 100 positions; all vectors of both encodings have the same length. */
    private static double meanCosine(SinusoidalEncoding a, SinusoidalEncoding b) {
        int size = a.getEmbeddingSize();
        double sum = 0;
        for (int t = 0; t < 100; t++) {
            for (int i = 0; i < size; i++) {
                sum += a.value(t, i) * b.value(t, i);
            }
        }
        return sum / 100 / (size / 2.0);
    }
}
