package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Computes the positions of texts with images and videos, for the encodings {@link RotaryPresets#qwen2Vl},
 * {@link RotaryPresets#qwen3Vl} and {@link RotaryPresets#ernie45Vl}: the rule of Qwen2-VL (Wang et al.,
 * <em>Qwen2-VL</em>, 2024, section 2.1) and of Qwen2.5-VL (Bai et al., <em>Qwen2.5-VL Technical Report</em>, 2025,
 * section 2.1.2), as in {@code get_rope_index} of Hugging Face transformers 5.23.
 *
 * <pre>{@code
 * MropePositions mrope = MropePositions.builder()
 *         .setImageToken(151_655)
 *         .optVideoToken(151_656)
 *         .build();
 * MropePositions.Prompts prompts = mrope.of(ids, mask, List.of(Grid.of(1, 16, 24)), List.of());
 * NDArray positions = prompts.positions(manager);               // (3, B, T)
 * NDArray next = prompts.positions(manager, length, 1);         // (3, B, 1), of the first token after the prompts
 * }</pre>
 *
 * <p>The axes are time, row and column. In each sequence, a position c is counted from 0:
 *
 * <ul>
 *   <li>A token of text has the coordinates (c, c, c), and c grows by 1.
 *   <li>The tokens of an image or video are those of its grid after m × m patches are merged: frame by frame, row by
 *       row. The coordinates of a token are (c + f · s, c + row, c + column), with the frame f. Then c grows by the
 *       number of rows or of columns, whichever is larger. For images, and without {@link Builder#optTokensPerSecond},
 *       s is 1. Otherwise it is the {@linkplain Grid#seconds() seconds} of the video times the tokens per second, and f
 *       · s is rounded down; the products are computed in FLOAT32, as in transformers.
 *   <li>A token that the mask hides is skipped: its coordinates are 0.
 * </ul>
 *
 * <p>Tokens after the prompt continue after the largest coordinate. The text after a video may begin at a smaller
 * position, before the end of the video. In the paper and in transformers 4.57, it also continues after the largest
 * coordinate: {@link Builder#optAfterLargest}. For images, both are the same.
 *
 * <p>In Qwen3-VL, text with a time stamp comes before each frame, so that each frame of a video is a grid of its own:
 * pass {@code Collections.nCopies(frames, Grid.of(1, rows, columns))} for the video, and no tokens per second. ERNIE
 * 4.5 VL merges two frames of a video: pass half the number of frames.
 *
 * @see <a href="https://arxiv.org/abs/2409.12191">Qwen2-VL: Enhancing Vision-Language Model's Perception of the World
 *     at Any Resolution</a>
 * @see <a href="https://arxiv.org/abs/2502.13923">Qwen2.5-VL Technical Report</a>
 */
public final class MropePositions {

    /** Time, row and column. */
    private static final int AXES = 3;

    record Options(
            long imageToken,
            Long videoToken,
            @Default("2") @Range(min = 1) int mergeSize,
            @Range(above = 0) Double tokensPerSecond,
            @Default("false") boolean afterLargest) {

        Options {
            Check.that(
                    videoToken == null || videoToken != imageToken,
                    "imageToken and videoToken are both " + imageToken
                            + ": expected different ids; set those of the model's configuration");
        }
    }

    /**
     * The patches of an image or video, before they are merged: a row of the processor's {@code image_grid_thw} or
     * {@code video_grid_thw}.
     *
     * @param frames 1 for an image; for a video the number of temporal patches, each of two frames of the video in
     *     Qwen2-VL; at most 1,048,576
     * @param rows a multiple of {@link Builder#optMergeSize}, at most 1,048,576
     * @param columns a multiple of {@link Builder#optMergeSize}, at most 1,048,576
     * @param seconds the time between two temporal patches of a video, the processor's {@code second_per_grid_ts}; no
     *     effect without {@link Builder#optTokensPerSecond}
     */
    public record Grid(int frames, int rows, int columns, double seconds) {

        /** More than any image or video has; the product of three sizes fits a long. */
        private static final int MAX_SIZE = 1 << 20;

        /**
         * Creates a grid.
         *
         * @throws IllegalArgumentException if a number is out of range
         */
        public Grid {
            Check.between("frames", frames, 1, MAX_SIZE);
            Check.between("rows", rows, 1, MAX_SIZE);
            Check.between("columns", columns, 1, MAX_SIZE);
            Check.positive("seconds", seconds, "1 if the processor has none");
        }

        /**
         * {@return a grid of an image, or of a video with one second between its temporal patches}
         *
         * @param frames 1 for an image
         * @param rows the number of rows of patches
         * @param columns the number of columns of patches
         * @throws IllegalArgumentException if a number is out of range
         */
        public static Grid of(int frames, int rows, int columns) {
            return new Grid(frames, rows, columns, 1);
        }

        private String sizes() {
            return frames + " × " + rows + " × " + columns;
        }
    }

    /** The images or the videos of a batch, in the order of their tokens. */
    private static final class Media {

        private final String name;

        /** Null for none. */
        private final Long token;

        private final List<Grid> grids;
        private int used;

        Media(String name, Long token, List<Grid> grids, int mergeSize) {
            this.name = name;
            this.token = token;
            this.grids = List.copyOf(Check.present(name + "s", grids));
            for (int i = 0; i < grids.size(); i++) {
                Grid grid = grids.get(i);
                String what = name + " " + i;
                Check.that(
                        grid.rows % mergeSize == 0 && grid.columns % mergeSize == 0,
                        () -> what + " has a grid of " + grid.sizes()
                                + " patches: expected multiples of the merge size "
                                + mergeSize + " as rows and columns; pass the processor's " + name
                                + "_grid_thw, which counts patches before they are merged, or set optMergeSize");
            }
        }

        boolean has(double id) {
            return token != null && token == id;
        }

        Grid next(String place) {
            Check.that(
                    used < grids.size(),
                    () -> "the " + name + " token " + token + " " + place + " has no grid, since the number of " + name
                            + " grids is " + used + ": expected a grid for each " + name + "; pass the grids of all "
                            + name + "s of the batch, one sequence after another");
            return grids.get(used++);
        }

        void requireAllUsed() {
            Check.that(
                    used == grids.size(),
                    () -> "the number of " + name + " grids is " + grids.size() + ", but the ids have tokens of " + used
                            + ": expected the same number; pass only the grids of this batch, and check the " + name
                            + " token " + token);
        }
    }

    private final Options options;

    private MropePositions(Options options) {
        this.options = options;
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the positions of a batch of prompts} The arrays are read, which waits for a GPU, and may be closed
     * afterwards.
     *
     * @param ids (B, T), of any numeric type, with a token for each cell of a merged grid
     * @param mask (B, T), 0 for padding, on any side; null for none
     * @param images the grids of the images of all sequences, in the order of their tokens
     * @param videos the grids of the videos of all sequences, in the order of their tokens
     * @throws IllegalArgumentException if the ids are not (B, T), the mask has another shape, the grids do not match
     *     the tokens, or a position is 2<sup>29</sup> or more
     */
    public Prompts of(NDArray ids, NDArray mask, List<Grid> images, List<Grid> videos) {
        Shape shape = ids.getShape();
        Check.that(
                shape.dimension() == 2 && shape.size() > 0,
                () -> "ids of shape " + shape + ": expected (B, T) with at least one token; use expandDims(0) for one"
                        + " sequence");
        Check.that(
                mask == null || mask.getShape().equals(shape),
                () -> "mask of shape " + mask.getShape() + " with ids " + shape
                        + ": expected the shape of the ids, 1 for tokens and 0 for padding; pass the processor's"
                        + " attention_mask, or null for no padding");
        Media ofImages = new Media("image", options.imageToken, images, options.mergeSize);
        Media ofVideos = new Media("video", options.videoToken, videos, options.mergeSize);
        Check.that(
                options.videoToken != null || videos.isEmpty(),
                () -> "the number of video grids is " + videos.size()
                        + ", but there is no video token: expected its id; set optVideoToken");
        double[] tokens = HostData.doubles(ids);
        double[] isVisible = mask == null ? null : HostData.doubles(mask);
        Prompts prompts = new Prompts((int) shape.get(0), (int) shape.get(1));
        for (int row = 0; row < prompts.batch; row++) {
            int first = row * prompts.length;
            int[] visible = IntStream.range(first, first + prompts.length)
                    .filter(i -> isVisible == null || isVisible[i] != 0)
                    .toArray();
            Sequence sequence = new Sequence(prompts, tokens, visible);
            while (sequence.index < visible.length) {
                double token = tokens[visible[sequence.index]];
                if (ofImages.has(token)) {
                    sequence.add(ofImages, null);
                } else if (ofVideos.has(token)) {
                    sequence.add(ofVideos, options.tokensPerSecond);
                } else {
                    sequence.addText();
                }
            }
            prompts.ends[row] = sequence.end;
            prompts.offsets[row] = (long) sequence.end - visible.length;
        }
        ofImages.requireAllUsed();
        ofVideos.requireAllUsed();
        return prompts;
    }

    /** Sets the coordinates of the tokens of a sequence, one after another. */
    private final class Sequence {

        private final int[][] coordinates;
        private final int length;

        /** The ids of all sequences. */
        private final double[] tokens;

        /** The indices of the tokens of this sequence, without padding. */
        private final int[] visible;

        /** The next of the visible tokens. */
        private int index;

        /** c, the position of the next token if it is text. */
        private int next;

        /** One more than the largest coordinate. */
        private int end;

        Sequence(Prompts prompts, double[] tokens, int... visible) {
            coordinates = prompts.coordinates;
            length = prompts.length;
            this.tokens = tokens;
            this.visible = visible;
        }

        void addText() {
            for (int[] axis : coordinates) {
                axis[visible[index]] = next;
            }
            index++;
            next++;
            end = Math.max(end, next);
        }

        /** Adds an image or a video, whose seconds are so many positions; null for one position a frame. */
        void add(Media media, Double positionsPerSecond) {
            String place = "of sequence " + visible[index] / length + " at index " + visible[index] % length;
            Grid grid = media.next(place);
            int rows = grid.rows / options.mergeSize;
            int columns = grid.columns / options.mergeSize;
            long cells = (long) grid.frames * rows * columns;
            requireTokens(media, grid, place, cells);
            float step = positionsPerSecond == null ? 1 : positionsPerSecond.floatValue() * (float) grid.seconds;
            int side = Math.max(rows, columns);
            long after = next + 1L + Math.max(time(grid.frames - 1, step), side - 1);
            Check.that(
                    after <= ForwardParameters.UNLIMITED,
                    () -> "the " + media.name + " " + place + ", whose " + grid.frames + " frames are " + step
                            + " positions apart, ends before position " + after + ": expected at most "
                            + ForwardParameters.UNLIMITED
                            + "; check the seconds of its grid and the tokens per second");
            for (int cell = 0; cell < cells; cell++) {
                int at = visible[index + cell];
                coordinates[0][at] = next + time(cell / columns / rows, step);
                coordinates[1][at] = next + cell / columns % rows;
                coordinates[2][at] = next + cell % columns;
            }
            index += (int) cells;
            end = Math.max(end, (int) after);
            next = options.afterLargest ? (int) after : next + side;
        }

        private void requireTokens(Media media, Grid grid, String place, long cells) {
            long found = IntStream.range(index, visible.length)
                    .limit(cells)
                    .takeWhile(i -> media.has(tokens[visible[i]]))
                    .count();
            Check.that(
                    found == cells,
                    () -> "the " + media.name + " " + place + " has " + found + " tokens, but its grid of "
                            + grid.sizes()
                            + " patches has " + cells + " after " + options.mergeSize + " × " + options.mergeSize
                            + " are merged: expected the same number; pass the grids in the order of the tokens, and"
                            + " ids with one " + media.name + " token for each merged cell");
        }

        /** The time of a frame, which is rounded down; 2^31 - 1 for a larger one. */
        private static int time(int frame, float step) {
            return (int) ((float) frame * step);
        }
    }

    /**
     * The positions of a batch of prompts, and of the tokens that are generated after them. An object has no array of
     * an engine, and can be used by several threads.
     */
    public static final class Prompts {

        private final int batch;
        private final int length;

        /** Of the tokens of all sequences, (3, B · T). */
        private final int[][] coordinates;

        /** For each sequence, one more than the largest coordinate. */
        private final int[] ends;

        private final long[] offsets;

        private Prompts(int batch, int length) {
            this.batch = batch;
            this.length = length;
            coordinates = new int[AXES][batch * length];
            ends = new int[batch];
            offsets = new long[batch];
        }

        /**
         * {@return the positions of the prompts, a new array (3, B, T), INT32, on the device of the manager, which owns
         * it}
         *
         * @param manager the manager of the result
         */
        public NDArray positions(NDManager manager) {
            return positions(manager, 0, length);
        }

        /**
         * {@return the positions of some consecutive tokens, a new array (3, B, count), INT32, on the device of the
         * manager, which owns it} A token of the prompts has its index in them, padding included, and T, T + 1, … are
         * the tokens after the prompts, on whichever side the padding is. So the positions of a step with a cache begin
         * at the length of the cache:
         *
         * <pre>{@code
         * PairList<String, Object> params = cache.nextStep();
         * params.add(PositionalEncodingBlock.POSITIONS, prompts.positions(manager, cache.getLength(), count));
         * }</pre>
         *
         * @param manager the manager of the result
         * @param first the index of the first token, at least 0
         * @param count the number of tokens, at least 1
         * @throws IllegalArgumentException if a number is out of range
         */
        public NDArray positions(NDManager manager, int first, int count) {
            Check.between("first", first, 0, ForwardParameters.UNLIMITED);
            Check.between("count", count, 1, ForwardParameters.UNLIMITED);
            return HostData.integers(
                    manager,
                    manager.getDevice(),
                    new Shape(AXES, batch, count),
                    i -> position(i / count / batch, i / count % batch, first + i % count));
        }

        private int position(int axis, int row, int index) {
            return index < length ? coordinates[axis][row * length + index] : ends[row] + index - length;
        }

        /**
         * {@return for each sequence, Δ: one more than the largest coordinate, minus the number of its tokens without
         * padding; transformers' {@code rope_deltas}} The i-th token of a sequence after its prompt, counted with the
         * prompt and without padding, has the position i + Δ on each axis.
         */
        public long[] offsets() {
            return offsets.clone();
        }
    }

    /** Builds a {@link MropePositions}. */
    public static final class Builder extends BlockBuilder<MropePositions, Builder> {

        private Builder() {
            super(Options.class, MropePositions::new);
        }

        /** Sets the id of the tokens that stand for an image: {@code image_token_id} of the configuration. */
        public Builder setImageToken(long imageToken) {
            return set("imageToken", imageToken);
        }

        /**
         * Sets the id of the tokens that stand for a video: {@code video_token_id} of the configuration (default: no
         * videos).
         */
        public Builder optVideoToken(long videoToken) {
            return set("videoToken", videoToken);
        }

        /**
         * Sets m, at least 1, where m × m patches become one token: {@code spatial_merge_size} of the configuration
         * (default: 2).
         */
        public Builder optMergeSize(int mergeSize) {
            return set("mergeSize", mergeSize);
        }

        /**
         * Sets the number of positions in a second of video, positive: {@code tokens_per_second} of Qwen2.5-VL's
         * configuration (default: one position for each temporal patch, as in Qwen2-VL).
         */
        public Builder optTokensPerSecond(double tokensPerSecond) {
            return set("tokensPerSecond", tokensPerSecond);
        }

        /**
         * Sets whether text after a video continues after its largest coordinate, as in the paper and in transformers
         * 4.57 (default: false, as in transformers 5.23).
         */
        public Builder optAfterLargest(boolean afterLargest) {
            return set("afterLargest", afterLargest);
        }
    }
}
