package io.github.djlpositional.examples.llama;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.ToIntFunction;

/** Continues a text with the model of a folder, and prints it as it is generated. */
final class TextGeneration {

    private final Path folder;
    private final NDManager manager;
    private final PrintWriter out;

    TextGeneration(Path folder, NDManager manager, PrintWriter out) {
        this.folder = folder;
        this.manager = manager;
        this.out = out;
    }

    void run(String prompt, int tokens, ToIntFunction<float[]> choice) throws IOException {
        try (HuggingFaceTokenizer tokenizer = tokenizer()) {
            long[] ids = tokenizer.encode(prompt).getIds();
            LlamaDecoder decoder = LlamaDecoder.load(folder, manager);
            requireFits(decoder, tokens, ids);
            out.print(prompt);
            generate(decoder, tokenizer, tokens, choice, ids);
        }
    }

    private HuggingFaceTokenizer tokenizer() throws IOException {
        Path file = new ModelFolder(folder).file("tokenizer.json");
        try {
            return HuggingFaceTokenizer.builder()
                    .optTokenizerPath(file)
                    .optTruncation(false) // by default, texts are cut to 512 tokens
                    .optPadding(false)
                    .build();
        } catch (RuntimeException e) { // of the native library
            throw new UserError(
                    "file '" + file + "' cannot be read (" + e.getMessage()
                            + "): expected a tokenizer of Hugging Face; download it again",
                    e);
        }
    }

    private static void requireFits(LlamaDecoder decoder, int tokens, long... ids) {
        if (ids.length == 0) {
            throw new UserError("the prompt has no tokens: expected at least one; enter a longer prompt");
        }
        if ((long) ids.length + tokens > decoder.getLongestSequence()) {
            throw new UserError("a prompt of " + ids.length + " tokens with --tokens " + tokens
                    + ": expected at most " + decoder.getLongestSequence()
                    + " in total, the limit of the model; use fewer with --tokens, or a shorter prompt");
        }
        long greatest = Arrays.stream(ids).max().orElseThrow();
        if (greatest >= decoder.getVocabularySize()) {
            throw new UserError("token " + greatest + " of tokenizer.json: expected ids below the vocab_size of"
                    + " config.json, " + decoder.getVocabularySize() + "; download both files of one model");
        }
    }

    private void generate(
            LlamaDecoder decoder,
            HuggingFaceTokenizer tokenizer,
            int tokens,
            ToIntFunction<float[]> choice,
            long... ids) {
        out.flush();
        GeneratedText text = new GeneratedText(some -> tokenizer.decode(some, true), ids);
        TokenTimes times = new TokenTimes();
        decoder.generate(ids, choice, id -> {
            times.add();
            if (decoder.getEndTokens().contains(id)) {
                return false;
            }
            out.print(text.add(id));
            out.flush();
            return times.count < tokens;
        });
        out.println(text.rest());
        out.println();
        out.println(times);
    }

    /** The number of generated tokens, and their times. */
    private static final class TokenTimes {

        private final long start = System.nanoTime();
        private double secondsToFirst;
        private double seconds;
        private int count;

        void add() {
            seconds = (System.nanoTime() - start) / 1e9;
            secondsToFirst = count == 0 ? seconds : secondsToFirst;
            count++;
        }

        /** The first token takes a forward of the whole prompt. */
        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%d tokens in %.2f s, %.1f tokens per second; the first after %.2f s",
                    count,
                    seconds,
                    count / seconds,
                    secondsToFirst);
        }
    }
}
