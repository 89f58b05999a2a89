package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.PairLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A comparison says something only if both sides compute the same numbers. */
class EqualResultsTest {

    private interface Call<S> {
        void of(S setting) throws Exception;
    }

    /** The first array that a call returns. */
    private static <S extends Setting> float[] numbers(S setting, Call<S> call) throws Exception {
        setting.engine = "PyTorch";
        setting.device = "cpu";
        setting.type = DataType.FLOAT32;
        List<float[]> results = new ArrayList<>();
        setting.setUp();
        try {
            setting.results = result -> results.add(result.toFloatArray());
            call.of(setting);
        } finally {
            setting.tearDown();
        }
        return results.get(0);
    }

    /** The numbers are below 10, after a few hundred operations in FLOAT32. */
    private static void requireEqual(float[] own, float... peer) {
        assertThat(peer).usingComparatorWithPrecision(1e-3f).containsExactly(own);
        assertThat(Arrays.equals(own, new float[own.length])).as("only zeros").isFalse();
    }

    private static <S extends AdditionBenchmark.Input> S addition(S input) {
        input.shape = "2x16x64";
        input.allocator = Allocator.ofProcess();
        return input;
    }

    @Test
    void encodingsAreThoseOfTheBook() throws Exception {
        requireEqual(
                numbers(addition(new AdditionBenchmark.Library()), new AdditionBenchmark()::library),
                numbers(addition(new AdditionBenchmark.D2l()), new AdditionBenchmark()::d2l));
    }

    private static <S extends EmbeddingBenchmark.Tokens> S tokens(S tokens, boolean scaled) {
        tokens.shape = "2x16x64";
        tokens.scaled = scaled;
        return tokens;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void embeddingsAreThoseOfTheBook(boolean scaled) throws Exception {
        requireEqual(
                numbers(tokens(new EmbeddingBenchmark.Library(), scaled), new EmbeddingBenchmark()::library),
                numbers(tokens(new EmbeddingBenchmark.D2l(), scaled), new EmbeddingBenchmark()::d2l));
    }

    private static <S extends TableBenchmark.Input> S table(S input) {
        input.shape = "200x64";
        return input;
    }

    @Test
    void tablesAreThoseOfTheBook() throws Exception {
        requireEqual(
                numbers(table(new TableBenchmark.Library()), new TableBenchmark()::library),
                numbers(table(new TableBenchmark.Input()), new TableBenchmark()::d2l));
    }

    private static <S extends RotaryBenchmark.Input> S rotation(S input, PairLayout layout) {
        input.shape = "2x4x16x8";
        input.layout = layout;
        return input;
    }

    @ParameterizedTest
    @EnumSource(names = {"INTERLEAVED", "CONCATENATED"})
    void rotationsAreThoseOfTheUsualFormula(PairLayout layout) throws Exception {
        requireEqual(
                numbers(rotation(new RotaryBenchmark.Library(), layout), new RotaryBenchmark()::library),
                numbers(rotation(new RotaryBenchmark.Tables(), layout), new RotaryBenchmark()::djl));
    }

    private static float[] attention(AttentionKind kind) throws Exception {
        AttentionBenchmark.Library attention = new AttentionBenchmark.Library();
        attention.positions = kind;
        attention.shape = "2x16x64";
        return numbers(attention, new AttentionBenchmark()::library);
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ALIBI", "PADDING", "PACKED", "CAUSAL", "WINDOW"})
    void attentionsAreThoseOfDjl(AttentionKind kind) throws Exception {
        AttentionBenchmark.Djl djl = new AttentionBenchmark.Djl();
        djl.positions = kind;
        djl.shape = "2x16x64";
        requireEqual(attention(kind), numbers(djl, new AttentionBenchmark()::djl));
    }

    @ParameterizedTest
    @EnumSource(names = {"NONE", "ALIBI"})
    void trainedAttentionsAreThoseOfDjl(AttentionKind kind) throws Exception {
        AttentionTrainingBenchmark.Library own = new AttentionTrainingBenchmark.Library();
        AttentionTrainingBenchmark.Djl djl = new AttentionTrainingBenchmark.Djl();
        own.positions = kind;
        djl.positions = kind;
        own.shape = "2x16x64";
        djl.shape = "2x16x64";
        requireEqual(
                numbers(own, new AttentionTrainingBenchmark()::library),
                numbers(djl, new AttentionTrainingBenchmark()::djl));
    }

    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ALIBI", "T5", "KERPLE", "SANDWICH", "GAUSSIAN", "DISTANCE_NETWORK", "FIRE"})
    void realPositionsThatAreIndicesChangeNothing(AttentionKind kind) throws Exception {
        RealPositionsBenchmark.Library at = new RealPositionsBenchmark.Library();
        at.positions = kind;
        at.shape = "2x16x64";
        at.limit = 0;
        requireEqual(attention(kind), numbers(at, new RealPositionsBenchmark()::library));
    }

    private static <S extends DocumentsBenchmark.Packed> S packed(S attention, AttentionKind kind) {
        attention.positions = kind;
        attention.shape = "1x32x64";
        return attention;
    }

    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ALIBI"})
    void packedDocumentsAreThoseOfAMask(AttentionKind kind) throws Exception {
        requireEqual(
                numbers(packed(new DocumentsBenchmark.Library(), kind), new DocumentsBenchmark()::library),
                numbers(packed(new DocumentsBenchmark.Masked(), kind), new DocumentsBenchmark()::mask));
    }

    private static <S extends TrainingBenchmark.Library> S encoder(S encoder) {
        encoder.shape = "4x16";
        return encoder;
    }

    @Test
    void trainingLosesTheSame() throws Exception {
        requireEqual(
                numbers(encoder(new TrainingBenchmark.Library()), new TrainingBenchmark()::library),
                numbers(encoder(new TrainingBenchmark.D2l()), new TrainingBenchmark()::d2l));
    }

    @Test
    void everyEncodingIsMeasured() {
        List<String> measured = Arrays.stream(AttentionKind.values())
                .map(kind -> plain(kind.name()))
                .toList();
        assertThat(RelativeEncoding.names())
                .allSatisfy(name -> assertThat(measured).contains(plain(name)));
    }

    private static String plain(String name) {
        return name.toLowerCase(Locale.ROOT).replaceAll("[ _-]", "");
    }
}
