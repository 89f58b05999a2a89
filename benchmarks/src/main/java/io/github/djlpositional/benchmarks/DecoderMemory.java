package io.github.djlpositional.benchmarks;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/** Prints the resident memory of a process that decodes, with the JVM and the engine; on Linux only. */
public final class DecoderMemory {

    private static final int PROMPT = 512;
    private static final int STEPS = 64;
    private static final int TOKENS = 10_000;
    private static final int SIZE = 256;
    private static final int HEADS = 4;
    private static final int WINDOW = 256;
    private static final int VOCABULARY = 1000;

    private DecoderMemory() {}

    /**
     * Decodes in this process.
     *
     * @param args the folder of the small Llama, which continues a prompt; nothing for a decoder with a window, which
     *     generates 10,000 tokens
     */
    public static void main(String[] args) throws IOException, MalformedModelException {
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch")) {
            if (args.length > 0) {
                prompt(HuggingFaceModel.load(Path.of(args[0]), PROMPT + STEPS, manager));
            } else {
                window(manager);
            }
        }
    }

    private static void prompt(TransformerStackBlock llama) {
        long[] ids = LongStream.range(0, PROMPT).toArray();
        TokenGenerator.builder().setDecoder(llama).build().generate(ids, STEPS);
        System.out.printf(
                "Llama, a prompt of %d tokens and %d steps: %.0f MB at the peak%n",
                PROMPT, STEPS, PeakMemory.megabytes("VmHWM"));
    }

    private static void window(NDManager manager) {
        TransformerStackBlock decoder = decoder();
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        AtomicInteger count = new AtomicInteger();
        TokenGenerator.builder().setDecoder(decoder).build().generate(new long[] {1}, TOKENS, token -> {
            switch (count.incrementAndGet()) {
                case 1000, 5000, TOKENS ->
                    System.out.printf(
                            "a window of %d, after %,d tokens: %.0f MB%n",
                            WINDOW, count.get(), PeakMemory.megabytes("VmRSS"));
                default -> {
                    // only these
                }
            }
            return true;
        });
    }

    /** With ALiBi, since the tables of a rotary encoding grow with the positions, by 0.5 kB for a head of 64. */
    private static TransformerStackBlock decoder() {
        return TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(SIZE)
                        .optNoPositions()
                        .build())
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(SIZE)
                                        .setHeadCount(HEADS)
                                        .optCausal(true)
                                        .optWindow(WINDOW)
                                        .optRelativeEncoding(AlibiBiasBlock.builder()
                                                .setHeadCount(HEADS)
                                                .build())
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(SIZE)
                                        .setHiddenSize(4 * SIZE)
                                        .build()))
                .optTiedOutput(true)
                .build();
    }
}
