package io.github.djlpositional.transformer;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tokens are the bytes of a text, and a decoder continues the first bytes of a text with the others. */
class TextGeneratorTest extends OnEachEngine {

    /** Gives the highest score to the byte that follows in a text. Its attention only counts the tokens in a cache. */
    private static final class Recital extends AbstractBlock {

        private final byte[] text;
        private final MultiHeadAttentionBlock attention;
        private int position;

        Recital(String text, int position) {
            this.text = text.getBytes(StandardCharsets.UTF_8);
            this.position = position;
            attention = addChildBlock(
                    "attention",
                    MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(2)
                            .setHeadCount(1)
                            .optCausal(true)
                            .build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDManager manager = inputs.head().getManager();
            long count = inputs.head().getShape().get(1);
            attention.forward(store, new NDList(manager.ones(new Shape(1, count, 2))), training, params);
            int next = position < text.length ? text[position] & 0xFF : 0;
            position++;
            NDArray scores = manager.create(new int[] {next}).oneHot(256).reshape(1, 1, 256);
            return new NDList(scores.repeat(1, count));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            attention.initialize(manager, dataType, new Shape(1, 1, 2));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(256)};
        }
    }

    private static long[] bytes(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return IntStream.range(0, bytes.length).mapToLong(i -> bytes[i] & 0xFF).toArray();
    }

    private static String text(long... ids) {
        byte[] bytes = new byte[ids.length];
        for (int i = 0; i < ids.length; i++) {
            bytes[i] = (byte) ids[i];
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** The pieces of a text of which one character is the prompt, and then the result. */
    private List<String> pieces(String text, int most, Function<long[], String> decode) {
        Recital decoder = new Recital(text, bytes(text.substring(0, 1)).length);
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        TokenGenerator tokens = TokenGenerator.builder()
                .setDecoder(decoder)
                .optEndTokens(List.of(0L))
                .build();
        List<String> pieces = new ArrayList<>();
        pieces.add(TextGenerator.of(tokens, TextGeneratorTest::bytes, decode)
                .generate(text.substring(0, 1), most, pieces::add));
        return pieces;
    }

    @Test
    void charactersAppearWholeUnlessTheTextEnds() {
        assertThat(pieces("aü€😀a", 20, TextGeneratorTest::text))
                .containsExactly("", "ü", "", "", "€", "", "", "", "😀", "a", "ü€😀a");
        assertThat(pieces("aü€😀a", 3, TextGeneratorTest::text)).containsExactly("", "ü", "\uFFFD", "ü\uFFFD");
    }

    @Test
    void textEndsWithAHalfCharacterIfTheModelEndsItThere() {
        assertThat(pieces("a", 5, ids -> ids.length == 1 ? "" : "?")).containsExactly("");
        assertThat(pieces("ab\u0000", 5, ids -> ids.length == 1 ? "" : "\uFFFD"))
                .containsExactly("", "\uFFFD", "\uFFFD");
    }

    /** Tokenizers of SentencePiece drop the space before the first word of what they decode. */
    @Test
    void wordsKeepTheSpacesBetweenThem() {
        assertThat(pieces("a cat", 20, ids -> text(ids).stripLeading())).containsExactly(" ", "c", "a", "t", " cat");
    }

    @Test
    void saysWhatIsMissing() {
        TokenGenerator tokens =
                TokenGenerator.builder().setDecoder(new Recital("a", 0)).build();
        TextGenerator empty = TextGenerator.of(tokens, text -> new long[0], ids -> "");
        assertAll(
                rejected(() -> empty.generate("", 1, piece -> {}), "the prompt is empty"),
                rejected(
                        NullPointerException.class,
                        () -> TextGenerator.of(null, TextGeneratorTest::bytes, TextGeneratorTest::text),
                        "a TokenGenerator"));
    }
}
