package io.github.djlpositional.math;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import java.util.List;
import org.junit.jupiter.api.Test;

/** The axis of each pair of a rotary embedding. */
class RotaryAxesTest implements ValueContract<RotaryAxes> {

    @Override
    public List<RotaryAxes> distinctValues() {
        return List.of(
                RotaryAxes.of(0, 1, 2),
                RotaryAxes.of(0, 1, 1),
                RotaryAxes.interleaved(4, 2, 2),
                RotaryAxes.sections(2, 2));
    }

    @Test
    void sectionsFollowEachOther() {
        RotaryAxes axes = RotaryAxes.sections(2, 3, 1);
        assertThat(axes.axes()).containsExactly(0, 0, 1, 1, 1, 2);
        assertThat(axes.axisCount()).isEqualTo(3);
    }

    /** apply_interleaved_mrope of Qwen3-VL. */
    @Test
    void interleavedAxesAlternateAndTheFirstHasTheOtherPairs() {
        assertThat(RotaryAxes.interleaved(8, 4, 3, 1).axes()).containsExactly(0, 1, 2, 0, 1, 0, 0, 1);
        assertThat(RotaryAxes.interleaved(3, 3).axes()).containsExactly(0, 0, 0);
    }

    @Test
    void countsTheAxesUpToTheLast() {
        assertThat(RotaryAxes.of(15).axisCount()).isEqualTo(16);
    }

    @Test
    void rejectsListsWithoutPairsAndAxesOutOfRange() {
        assertAll(
                rejected(RotaryAxes::of, "number of pairs 0"),
                rejected(() -> RotaryAxes.of(0, 16), "axis", 16, 15),
                rejected(() -> RotaryAxes.of(-1), "axis", -1, 15),
                rejected(() -> new RotaryAxes(null), "axes"));
    }

    @Test
    void rejectsEmptySectionsAndNoneAndTooMany() {
        assertAll(
                rejected(() -> RotaryAxes.sections(2, 0), "section 0"),
                rejected(RotaryAxes::sections, "number of sections 0", 16),
                rejected(() -> RotaryAxes.interleaved(99, new int[17]), "number of sections", 17, 16),
                rejected(() -> RotaryAxes.interleaved(0, 1), "number of pairs 0"));
    }

    @Test
    void rejectsSectionsThatDoNotFitThePairs() {
        assertAll(
                rejected(() -> RotaryAxes.interleaved(5, 2, 2), "[2, 2]", "3 of 5", "axis 0"),
                rejected(() -> RotaryAxes.interleaved(4, 1, 3), "[1, 3]", "2 of 4", "axis 0"));
    }
}
