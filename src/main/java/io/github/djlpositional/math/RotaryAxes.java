package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The axis of the position for each pair of a rotary embedding whose positions have several coordinates, such as time,
 * row and column. Each pair has a frequency and an axis: it is rotated by its frequency times the coordinate on its
 * axis. If there are as many axes as dimensions, they belong to the dimensions instead, each of which then has its own
 * angle.
 *
 * @param axes the axis of each pair, or of each dimension, counted from 0; at least one, each below 16
 */
public record RotaryAxes(List<Integer> axes) {

    private static final int MAX_AXES = 16;

    /**
     * Creates the axes of a list.
     *
     * @param axes the axis of each pair or dimension, from 0 to 15
     * @throws IllegalArgumentException if there is none, or an axis is outside its range
     */
    public RotaryAxes {
        axes = List.copyOf(Check.present("axes", axes));
        Check.between("number of pairs", axes.size(), 1, Frequencies.MAX_COUNT);
        axes.forEach(axis -> Check.between("axis", axis, 0, MAX_AXES - 1L));
    }

    /**
     * {@return the axes of a list}
     *
     * @param axes the axis of each pair or dimension, from 0 to 15
     * @throws IllegalArgumentException if there is none, or an axis is outside its range
     */
    public static RotaryAxes of(int... axes) {
        return new RotaryAxes(IntStream.of(axes).boxed().toList());
    }

    /**
     * Returns consecutive sections of pairs or dimensions, one for each axis: Qwen2-VL's {@code mrope_section} (16, 24,
     * 24) for time, rows and columns.
     *
     * @param pairs the number of pairs or dimensions of each axis, at least 1
     * @return the axes
     * @throws IllegalArgumentException if there is no section, there are more than 16, or one is empty
     */
    public static RotaryAxes sections(int... pairs) {
        requireSections(pairs);
        return new RotaryAxes(IntStream.range(0, pairs.length)
                .flatMap(axis -> IntStream.range(0, pairs[axis]).map(pair -> axis))
                .boxed()
                .toList());
    }

    /**
     * Returns axes that alternate, as in Qwen3-VL: of n axes, axis a &gt; 0 has the pairs a, a + n, a + 2n, … below n ·
     * sections[a], and axis 0 has the others. With 64 pairs, (24, 20, 20) gives {@code THW} twenty times, then
     * {@code TTTT}.
     *
     * @param pairs the number of pairs
     * @param sections the number of pairs of each axis, at least 1; the model's {@code mrope_section}
     * @return the axes
     * @throws IllegalArgumentException if there is no section, there are more than 16, one is empty, or the sections do
     *     not fit the pairs
     */
    public static RotaryAxes interleaved(int pairs, int... sections) {
        Check.between("number of pairs", pairs, 1, Frequencies.MAX_COUNT);
        requireSections(sections);
        int axes = sections.length;
        int[] axisOfPair = IntStream.range(0, pairs)
                .map(pair -> pair < axes * sections[pair % axes] ? pair % axes : 0)
                .toArray();
        for (int axis = 0; axis < axes; axis++) {
            int thisAxis = axis;
            long placed = IntStream.of(axisOfPair).filter(of -> of == thisAxis).count();
            Check.that(
                    placed == sections[axis],
                    () -> "sections " + Arrays.toString(sections) + " assign " + placed + " of " + pairs
                            + " pairs to axis " + thisAxis + ": expected " + sections[thisAxis]
                            + "; pass the number of pairs and the sections of the model");
        }
        return of(axisOfPair);
    }

    private static void requireSections(int... sections) {
        Check.between("number of sections", sections.length, 1, MAX_AXES);
        for (int pairs : sections) {
            Check.between("section", pairs, 1, Frequencies.MAX_COUNT);
        }
    }

    /** {@return the number of axes, one more than the largest axis} */
    public int axisCount() {
        return 1 + axes.stream().mapToInt(axis -> axis).max().orElseThrow();
    }
}
