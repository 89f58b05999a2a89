package io.github.djlpositional.examples.sentences;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.examples.EngineCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.lucene.util.VectorUtil;
import org.knowm.xchart.XYChart;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * What happens if an encoder of 512 positions is stretched to 1024? Each document is a list of definitions of about
 * 1000 tokens. The vector of a definition should be nearer to that of its document than to those of the others.
 */
@Command(
        name = "stretch",
        description = "Stretch the position table of the published sentence encoder all-MiniLM-L6-v2 from 512 to 1024"
                + " positions, and find definitions in documents of about 1000 tokens: with the first 512 tokens, with the"
                + " stretched table, and with the mean of its parts of 512 or of 256 tokens. Print the fraction that is found by the place of"
                + " the definition, and draw it.")
public final class StretchPositions extends EngineCommand {

    private static final int LENGTH = BertEncoder.Sizes.MINI_LM.positions();
    private static final int STRETCHED = 2 * LENGTH;

    /** The publisher cuts texts to this number of tokens. */
    private static final int CUT = 256;

    /**
     * A document has the tokens of four parts of the publisher's length, each with two special tokens, and two of its
     * own.
     */
    private static final int DOCUMENT = STRETCHED / CUT * (CUT - 2) + 2;

    /** The place of a definition in a document is one of this number of equal parts. */
    private static final int PARTS = 8;

    /** A definition is found if its document is among the nearest of this part of all documents. */
    private static final int TWENTIETH = 20;

    private static final int TEXTS_OF_EACH_LENGTH = 40;

    @Option(names = "--documents", description = "The number of documents.")
    private int count = 100;

    @Option(names = "--out", description = "The picture, a PNG.")
    private Path file = Path.of("stretch.png");

    /**
     * Documents.
     *
     * @param ids the token ids of each document
     * @param definitions for each part of the documents, the token ids of the first definition that begins in it, of
     *     each document
     */
    private record Documents(List<long[]> ids, List<List<long[]>> definitions) {}

    @Override
    protected void checkOptions() {
        Check.between("--documents", count, 2, 1000);
    }

    @Override
    protected void run(PrintWriter out) throws IOException {
        Engine engine = startEngine();
        Device device = deviceOf(engine);
        AtomicFile.prepare(file);
        Documents documents = documents();
        NDManager manager = engine.newBaseManager(device);
        NDManager ofStretched = engine.newBaseManager(device);
        BertEncoder published = SentenceEncoder.published(manager);
        try (SentenceEncoder encoder = new SentenceEncoder(manager, published);
                SentenceEncoder stretched =
                        new SentenceEncoder(ofStretched, published.stretched(STRETCHED, ofStretched))) {
            printSimilarities(out, documents, encoder, stretched);
            List<long[]> whole = documents.ids;
            Map<String, float[][]> methods = new LinkedHashMap<>();
            methods.put("first 512", encoder.encodeIds(beginnings(whole, LENGTH)));
            methods.put("stretched", stretched.encodeIds(whole));
            for (int length : new int[] {LENGTH, CUT}) {
                methods.put("parts of " + length, sumsOfParts(encoder, whole, length));
            }
            printFound(out, documents, methods, encoder);
        }
    }

    /** Joins definitions in random order to documents. */
    private Documents documents() throws IOException {
        List<String> texts = new ArrayList<>(
                Definition.readAll().stream().map(Definition::text).distinct().toList());
        Collections.shuffle(texts, new Random(1));
        Documents documents = new Documents(
                new ArrayList<>(),
                IntStream.range(0, PARTS)
                        .<List<long[]>>mapToObj(part -> new ArrayList<>())
                        .toList());
        try (HuggingFaceTokenizer tokenizer = SentenceEncoder.tokenizer(LENGTH)) {
            // a document has less than 200 definitions, one of which begins in each part
            List<long[]> definitions =
                    SentenceEncoder.ids(tokenizer, texts.subList(0, Math.min(texts.size(), 200 * count))).stream()
                            .filter(ids -> ids.length < STRETCHED / PARTS)
                            .toList();
            int next = 0;
            while (documents.ids.size() < count) {
                int part = 0;
                long[] ids = new long[DOCUMENT];
                // the first and the last token are special
                ids[0] = definitions.get(next)[0];
                int end = 1;
                while (end + definitions.get(next).length - 2 < DOCUMENT) {
                    long[] definition = definitions.get(next++);
                    int length = definition.length - 2;
                    System.arraycopy(definition, 1, ids, end, length);
                    if (end * PARTS >= part * STRETCHED) {
                        documents.definitions.get(part++).add(definition);
                    }
                    end += length;
                }
                ids[end] = definitions.get(next)[definitions.get(next).length - 1];
                documents.ids.add(Arrays.copyOf(ids, end + 1));
            }
        }
        return documents;
    }

    /** Returns the first tokens of texts, and the last one, which is special. */
    private static List<long[]> beginnings(List<long[]> texts, int length) {
        return texts.stream()
                .map(ids -> {
                    long[] beginning = Arrays.copyOf(ids, length);
                    beginning[length - 1] = ids[ids.length - 1];
                    return beginning;
                })
                .toList();
    }

    /** Returns the sum of the vectors of each text's parts, which have special tokens at both ends. */
    private static float[][] sumsOfParts(SentenceEncoder encoder, List<long[]> texts, int length) {
        return texts.stream()
                .map(ids -> {
                    List<long[]> parts = new ArrayList<>();
                    for (int from = 1; from < ids.length - 1; from += length - 2) {
                        long[] part = new long[Math.min(length, ids.length - from + 1)];
                        System.arraycopy(ids, from, part, 1, part.length - 2);
                        part[0] = ids[0];
                        part[part.length - 1] = ids[ids.length - 1];
                        parts.add(part);
                    }
                    float[][] vectors = encoder.encodeIds(parts);
                    for (int i = 1; i < vectors.length; i++) {
                        VectorUtil.add(vectors[0], vectors[i]);
                    }
                    return vectors[0];
                })
                .toArray(float[][]::new);
    }

    /** Prints how similar the vectors of texts are that fit the published table too. */
    private static void printSimilarities(
            PrintWriter out, Documents documents, SentenceEncoder encoder, SentenceEncoder stretched) {
        out.printf("similarity of the vectors of a text with the published and with the stretched table%n%n");
        for (int length = 8; length <= LENGTH; length *= 2) {
            List<long[]> texts = beginnings(
                    documents.ids.stream().limit(TEXTS_OF_EACH_LENGTH).toList(), length);
            float[][] before = encoder.encodeIds(texts);
            float[][] after = stretched.encodeIds(texts);
            double mean = IntStream.range(0, texts.size())
                    .mapToDouble(text -> VectorUtil.cosine(before[text], after[text]))
                    .average()
                    .orElseThrow();
            out.printf(Locale.ROOT, "%4d tokens  %.3f%n", length, mean);
        }
    }

    private void printFound(
            PrintWriter out, Documents documents, Map<String, float[][]> methods, SentenceEncoder encoder)
            throws IOException {
        XYChart chart = Drawing.lines(
                "Definitions found in documents of about 1000 tokens",
                "first token of the definition",
                "fraction found among the " + nearest() + " nearest of " + count);
        out.printf("%nfraction of the definitions whose document is among the %d nearest of %d%n%n", nearest(), count);
        out.printf("%-14s", "first token");
        methods.keySet().forEach(method -> out.printf("%14s", method));
        out.println();
        Map<String, List<Double>> lines = new LinkedHashMap<>();
        List<Integer> places = IntStream.range(0, PARTS)
                .mapToObj(part -> part * STRETCHED / PARTS)
                .toList();
        for (int part = 0; part < PARTS; part++) {
            float[][] queries = encoder.encodeIds(documents.definitions.get(part));
            out.printf("from %-9d", places.get(part));
            methods.forEach((method, vectors) -> {
                double found = IntStream.range(0, queries.length)
                        .filter(query -> isFound(queries[query], query, vectors))
                        .count();
                lines.computeIfAbsent(method, name -> new ArrayList<>()).add(found / queries.length);
                out.printf(Locale.ROOT, "%14.3f", found / queries.length);
            });
            out.println();
        }
        lines.forEach((method, fractions) -> chart.addSeries(method, places, fractions));
        double chance = (double) nearest() / count;
        Drawing.line(chart, "chance", new double[] {0, places.get(PARTS - 1)}, new double[] {chance, chance});
        chart.getStyler().setYAxisMin(0.0);
        Drawing.save(chart, file);
        out.printf("%nThe picture is '%s'.%n", file);
    }

    private int nearest() {
        return Math.max(1, Math.floorDiv(count, TWENTIETH));
    }

    private boolean isFound(float[] query, int document, float[][] vectors) {
        double similarity = VectorUtil.cosine(query, vectors[document]);
        return Arrays.stream(vectors)
                        .filter(other -> VectorUtil.cosine(query, other) > similarity)
                        .count()
                < nearest();
    }
}
