package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** One position in every published convention, side by side. */
final class Conventions {

    private static final int SIZE = 8;
    private static final int DRAWN_SIZE = 40;

    private Conventions() {}

    /** Returns the conventions by name, in the given size. */
    static Map<String, SinusoidalEncoding> of(int size) {
        Map<String, SinusoidalEncoding> encodings = new LinkedHashMap<>();
        encodings.put("paper", SinusoidalEncoding.vaswani(size));
        encodings.put("tensor2tensor", SinusoidalEncoding.tensor2tensor(size, 1, 10_000));
        encodings.put("fairseq", SinusoidalEncoding.fairseq(size));
        encodings.put("rounded up", SinusoidalEncoding.roundedUp(size));
        encodings.put("bert4keras", SinusoidalEncoding.bert4keras(size, 10_000));
        encodings.put("x-transformers", SinusoidalEncoding.xTransformers(size));
        encodings.put("DDPM", SinusoidalEncoding.diffusion(size));
        encodings.put("improved diffusion", SinusoidalEncoding.diffusion(size, 0, 1, true));
        encodings.put(
                "cosine first",
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(size)
                        .optCosineFirst(true)
                        .build());
        encodings.put(
                "custom frequencies",
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(size)
                        .optFrequencies(Frequencies.of(Drawing.each(size / 2, pair -> Math.pow(2, -pair))))
                        .build());
        return encodings;
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Conventions");
        notebook.text("""
                Position 1 at size 8. The name and the idea are the same, but the numbers differ: a model needs the convention
                that it was trained with.""");
        of(SIZE).forEach((name, encoding) -> notebook.row(
                "%-18s %s",
                name,
                IntStream.range(0, SIZE)
                        .mapToObj(dimension -> String.format(Locale.ROOT, "%8.5f", encoding.value(1, dimension)))
                        .collect(Collectors.joining(" "))));
        notebook.text("Forty positions at size 40, one picture for each convention:");
        for (Map.Entry<String, SinusoidalEncoding> entry : of(DRAWN_SIZE).entrySet()) {
            String name = entry.getKey();
            notebook.picture(
                    "convention-" + name.replace(' ', '-').toLowerCase(Locale.ROOT),
                    "The convention " + name,
                    Drawing.map(name, "dimension", "position", DRAWN_SIZE, DRAWN_SIZE, entry.getValue()::value));
        }
    }
}
