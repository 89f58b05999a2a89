package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.Shape;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A comparison says something only if both sides compute the same numbers. */
class CasesTest {

    private static final Shape SHAPE = new Shape(2, 16, 64);

    /** Longer than the distances that have vectors of their own. */
    private static final Shape LONG = new Shape(1, 140, 64);

    private static final Shape STEP = new Shape(1, 16, 64);

    /** The masks that DJL's block gets from learned numbers, which are different. */
    private static final Set<String> LEARNED = Set.of("t5", "kerple");

    static Stream<Row> rows() {
        Stream<Row> attentions = AttentionKind.ALL.stream()
                .map(kind -> Case.of(Attentions.ATTEND, SHAPE).with(kind))
                .map(own -> own.kind().isMask() && !LEARNED.contains(own.kind().text())
                        ? Row.of(own, Attentions.ATTEND_NOT_FUSED, Attentions.ATTEND_DJL_MASK)
                        : Row.of(own, Attentions.ATTEND_NOT_FUSED));
        Stream<Row> times = AttentionKind.ALL.stream()
                .filter(AttentionKind::takesTimes)
                .map(kind ->
                        Row.of(Case.of(Attentions.ATTEND_AT_TIMES, SHAPE).with(kind), Attentions.ATTEND_AT_INDICES));
        Stream<Row> others = Stream.of(
                Row.of(Case.of(Encodings.ADD, SHAPE), Encodings.ADD_LIKE_BOOK),
                Row.of(Case.of(Encodings.EMBED, SHAPE), Encodings.EMBED_LIKE_BOOK),
                Row.of(Case.of(Encodings.EMBED_SCALED, SHAPE), Encodings.EMBED_SCALED_LIKE_BOOK),
                Row.of(Case.of(Encodings.FIRST_FORWARD, SHAPE), Encodings.FIRST_FORWARD_LIKE_BOOK),
                Row.of(Case.of(Rotations.ROTATE, new Shape(2, 4, 16, 8)), Rotations.ROTATE_AS_USUAL),
                Row.of(Case.of(Attentions.ATTEND, SHAPE).with(AttentionKind.NONE), Attentions.ATTEND_DJL),
                Row.of(Case.of(Attentions.ATTEND, LONG).with(AttentionKind.SHAW), Attentions.ATTEND_IN_ONE_CALL),
                Row.of(Case.of(Attentions.ATTEND, LONG).with(AttentionKind.DEBERTA), Attentions.ATTEND_IN_ONE_CALL),
                Row.of(Case.of(Generation.GENERATE, STEP).with(AttentionKind.NONE), Generation.GENERATE_IN_ONE_CALL),
                Row.of(Case.of(Generation.GENERATE, STEP).with(AttentionKind.ROTARY), Generation.GENERATE_IN_ONE_CALL),
                Row.of(
                        Case.of(Attentions.TRAIN_ATTENTION, SHAPE).with(AttentionKind.NONE),
                        Attentions.TRAIN_ATTENTION_DJL));
        return Stream.of(attentions, times, others).flatMap(rows -> rows);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void peersComputeTheSameNumbers(Row row) throws Exception {
        for (Case peer : row.peers().values()) {
            assertThat(numbers(peer)).usingComparatorWithPrecision(1e-3f).containsExactly(numbers(row.own()));
        }
    }

    private static float[] numbers(Case measured) throws Exception {
        try (Setting setting = Setting.of(measured);
                NDResource result =
                        measured.operation().preparation().of(setting).call()) {
            return result.getResourceNDArrays().get(0).toFloatArray();
        }
    }
}
