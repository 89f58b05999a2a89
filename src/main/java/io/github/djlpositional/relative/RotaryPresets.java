package io.github.djlpositional.relative;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.MropePositions.Grid;
import java.util.Arrays;
import java.util.Collections;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Rotary embeddings and positions of published models whose positions have several coordinates.
 *
 * <p>Each preset returns a builder of a {@link RotaryEmbeddingBlock}, whose other options can still be set. Positions
 * are (axes, B, T), or (axes, 1, T) for all sequences; {@code manager.create(positions).expandDims(1)} converts an
 * array of this class, which has a row for each axis. All presets for images have the axes row and column, in this
 * order, except {@link #mixedPositions}. A token with the coordinates 0 is not rotated. Coordinates that are whole
 * numbers take less time as INT32. All methods throw {@link IllegalArgumentException} for sizes that are not positive
 * or not as documented.
 *
 * <pre>{@code
 * RotaryEmbeddingBlock rotary = RotaryPresets.dinov3(64).build();
 * NDArray positions = manager.create(RotaryPresets.dinov3Positions(5, 14, 14)).expandDims(1);
 * NDList rotated = rotary.forward(parameterStore, new NDList(queries, keys, positions), false);
 * }</pre>
 */
public final class RotaryPresets {

    /** More than the patches of any image or video. */
    private static final int MAX_CELLS = 1 << 24;

    private RotaryPresets() {}

    /**
     * {@return the M-RoPE of Qwen2-VL: Wang et al., <em>Qwen2-VL</em> (2024), section 2.1, and the layout of Hugging
     * Face's weights} The axes are time, row and column; text has the same position on all three:
     * {@link MropePositions}.
     *
     * @param headSize H, 128 in Qwen2-VL
     * @param base 1,000,000 in Qwen2-VL
     * @param sections the pairs of each axis; 16, 24, 24 in Qwen2-VL
     * @throws IllegalArgumentException if a section is empty
     * @see <a href="https://arxiv.org/abs/2409.12191">Qwen2-VL: Enhancing Vision-Language Model's Perception of the
     *     World at Any Resolution</a>
     */
    public static RotaryEmbeddingBlock.Builder qwen2Vl(int headSize, double base, int... sections) {
        return halves(headSize).optBase(base).optAxes(RotaryAxes.sections(sections));
    }

    /**
     * {@return the interleaved M-RoPE of Qwen3-VL (Alibaba, 2025; {@code apply_interleaved_mrope} of the published
     * code), and the layout of Hugging Face's weights} The axes are time, row and column; text has the same position on
     * all three: {@link MropePositions}.
     *
     * @param headSize H, 128 in Qwen3-VL
     * @param base 5,000,000 in Qwen3-VL
     * @param sections the pairs of each axis; 24, 20, 20 in Qwen3-VL
     * @throws IllegalArgumentException if the sections do not fit H / 2 pairs
     * @see <a href="https://arxiv.org/abs/2511.21631">Qwen3-VL Technical Report</a>
     */
    public static RotaryEmbeddingBlock.Builder qwen3Vl(int headSize, double base, int... sections) {
        return halves(headSize).optBase(base).optAxes(RotaryAxes.interleaved(headSize / 2, sections));
    }

    /**
     * {@return the M-RoPE of ERNIE 4.5 VL (Baidu, 2025; {@code Ernie4_5_VLMoeTextRotaryEmbedding} of Hugging Face
     * transformers): of the frequencies base<sup>-2i/H</sup>, the fast ones are for rows and columns in turn, and the
     * slowest ones for time} The axes are time, row and column; text has the same position on all three:
     * {@link MropePositions}.
     *
     * @param headSize H, 128 in ERNIE 4.5 VL
     * @param base 500,000 in ERNIE 4.5 VL
     * @param rowPairs the pairs of rows, as many as those of columns; 22 in ERNIE 4.5 VL
     */
    public static RotaryEmbeddingBlock.Builder ernie45Vl(int headSize, double base, int rowPairs) {
        Check.between("rowPairs", rowPairs, 1, (headSize / 2 - 1) / 2);
        return RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize)
                .optBase(base)
                .optAxes(RotaryAxes.of(IntStream.range(0, headSize / 2)
                        .map(pair -> pair < 2 * rowPairs ? 1 + pair % 2 : 0)
                        .toArray()));
    }

    /**
     * {@return the interleaved M-RoPE of GenLIP's vision transformer: Fang et al., <em>Let ViT Speak</em> (2026), and
     * {@code RotaryEmbeddingMRope} of timm, with 10,000<sup>-2i/H</sup>} Unlike those of {@link #qwen3Vl}, the sections
     * need not fill a head: the pairs 1, 4, 7, … below three times the section of rows are for rows, the pairs 2, 5, 8,
     * … below three times the section of columns are for columns, and all others for time. The coordinates of an image
     * are {@link #positions}(1, rows, columns).
     *
     * @param headSize H, even, at least 6; 72 in GenLIP-L/16
     * @param sections time, rows and columns; 8, 12, 12 in GenLIP, which are 12 pairs each of 72 dimensions. The
     *     section of time has no effect
     * @throws IllegalArgumentException if there are not three sections, or one is not positive
     * @see <a href="https://arxiv.org/abs/2605.00809">Let ViT Speak: Generative Language-Image Pre-training</a>
     */
    public static RotaryEmbeddingBlock.Builder genLip(int headSize, int... sections) {
        Check.that(
                sections.length == 3,
                () -> "sections " + Arrays.toString(sections)
                        + ": expected three, for time, rows and columns; pass the model's mrope_section");
        IntStream.of(sections).forEach(section -> Check.between("section", section, 1, MAX_CELLS));
        Check.between("headSize", headSize, 6, MAX_CELLS);
        return halves(headSize)
                .optAxes(RotaryAxes.of(IntStream.range(0, headSize / 2)
                        .map(pair -> pair < 3 * sections[pair % 3] ? pair % 3 : 0)
                        .toArray()));
    }

    /**
     * {@return the XD-RoPE of Hunyuan-VL's text model: Tencent, <em>HunyuanOCR Technical Report</em> (2025), and
     * {@code HunYuanVLRotaryEmbedding} of Hugging Face transformers} A section of dimensions, not of pairs, is rotated
     * by each axis: with four sections of 16, the first dimensions of the pairs turn by the axes 0 and 1, and the
     * second ones by the axes 2 and 3. This is no rotation where the two coordinates differ. The last three axes are
     * column, row and image, and those before count the tokens; text has the same position on all axes.
     *
     * @param headSize H, 128 in Hunyuan-VL
     * @param base {@code rope_theta}, 10,000 in Hunyuan-VL; {@link io.github.djlpositional.math.RotaryScaling#ntkAware}
     *     is its {@code alpha}
     * @param sections half the dimensions of each axis, the model's {@code mrope_section} or {@code xdrope_section};
     *     together H / 2
     * @throws IllegalArgumentException if a section is empty, or their sum is not H / 2
     * @see <a href="https://arxiv.org/abs/2511.19575">HunyuanOCR Technical Report</a>
     */
    public static RotaryEmbeddingBlock.Builder hunyuanVl(int headSize, double base, int... sections) {
        long sum = IntStream.of(sections).asLongStream().sum();
        Check.that(
                2 * sum == headSize,
                () -> "sections " + Arrays.toString(sections) + " of " + sum + " together with headSize " + headSize
                        + ": expected half the head size; pass the model's mrope_section");
        IntStream.of(sections).forEach(section -> Check.between("section", section, 1, MAX_CELLS));
        return halves(headSize)
                .optBase(base)
                .optAxes(RotaryAxes.sections(
                        IntStream.of(sections).map(section -> 2 * section).toArray()));
    }

    /**
     * {@return a rotary embedding with axes side by side: the first dimensions of a head are rotated by the first axis,
     * the next ones by the second, and so on, each with the frequencies base<sup>-2i/size</sup> of its size} Most
     * diffusion transformers are one call: their sizes are {@code axes_dims_rope} or {@code rope_axes_dim} of Hugging
     * Face diffusers, and {@code docs/rotary.md} lists them. Where the two dimensions of a pair are half a head apart,
     * as in Cosmos, set {@link PairLayout#CONCATENATED}.
     *
     * @param base the base of all axes; 10,000 in most models, 256 in HunyuanVideo and Z-Image
     * @param sizes the number of dimensions of each axis, even; together H
     * @throws IllegalArgumentException if there are no sizes or more than 16, or one is not even and positive
     */
    public static RotaryEmbeddingBlock.Builder sideBySide(double base, int... sizes) {
        return sideBySide(IntStream.of(sizes).mapToDouble(size -> base).toArray(), sizes);
    }

    /**
     * {@return a rotary embedding with axes side by side, each with a base of its own; see {@link #sideBySide(double,
     * int...)}}
     *
     * @param bases the base of each axis
     * @param sizes the number of dimensions of each axis, even; together H
     * @throws IllegalArgumentException if there is not one base for each size, there are no sizes or more than 16, or
     *     one is not even and positive
     */
    public static RotaryEmbeddingBlock.Builder sideBySide(double[] bases, int... sizes) {
        Check.that(
                bases.length == sizes.length,
                () -> bases.length + " bases for the sizes " + Arrays.toString(sizes)
                        + ": expected one for each axis; pass as many");
        for (int size : sizes) {
            Check.that(
                    size % 2 == 0 && size > 0 && size <= MAX_CELLS,
                    () -> "size " + size + " in " + Arrays.toString(sizes)
                            + ": expected an even number of dimensions for each axis; pass the model's axes_dims_rope");
        }
        RotaryAxes axes =
                RotaryAxes.sections(IntStream.of(sizes).map(size -> size / 2).toArray());
        return RotaryEmbeddingBlock.builder()
                .setHeadSize(2 * axes.axes().size())
                .optFrequencies(Frequencies.joined(IntStream.range(0, sizes.length)
                        .mapToObj(axis -> Frequencies.geometric(sizes[axis] / 2, bases[axis], sizes[axis] / 2.0))
                        .toArray(Frequencies[]::new)))
                .optAxes(axes);
    }

    /**
     * {@return the rotary embedding of FLUX.1 (Black Forest Labs, 2024; {@code EmbedND} of the published code): heads
     * of 128 with 16 dimensions for the first axis and 56 each for rows and columns, each axis with its own frequencies
     * 10,000<sup>-2i/size</sup>} Text has the position 0 on all axes, an image 0 on the first: {@link #positions}(1,
     * rows, columns).
     */
    public static RotaryEmbeddingBlock.Builder flux() {
        return sideBySide(10_000, 16, 56, 56);
    }

    /**
     * {@return the rotary embedding of FLUX.2 (Black Forest Labs, 2025; {@code Flux2PosEmbed} of Hugging Face
     * diffusers): heads of 128 with 32 dimensions each for image, row, column and token of the text, with the
     * frequencies 2000<sup>-2i/32</sup>} The coordinates are {@link #flux2Positions}.
     */
    public static RotaryEmbeddingBlock.Builder flux2() {
        return sideBySide(2_000, 32, 32, 32, 32);
    }

    /**
     * {@return the rotary embedding of Qwen-Image: Wu et al., <em>Qwen-Image Technical Report</em> (2025), and
     * {@code QwenEmbedRope} of Hugging Face diffusers: heads of 128 with 16 dimensions for frames and 56 each for rows
     * and columns, each axis with its own frequencies 10,000<sup>-2i/size</sup>} Rows and columns are counted from the
     * middle of an image: {@link #qwenImagePositions}.
     *
     * @see <a href="https://arxiv.org/abs/2508.02324">Qwen-Image Technical Report</a>
     */
    public static RotaryEmbeddingBlock.Builder qwenImage() {
        return sideBySide(10_000, 16, 56, 56);
    }

    /**
     * {@return the rotary embedding of Wan: Wan Team, <em>Wan</em> (2025), and {@code WanRotaryPosEmbed} of Hugging
     * Face diffusers: ⌊H / 6⌋ pairs each for rows and columns, and the others, which come first, for frames, each axis
     * with its own frequencies 10,000<sup>-2i/size</sup>} The coordinates are {@link #positions}(frames, rows,
     * columns). SkyReels V2 has the same encoding.
     *
     * @param headSize H, even, at least 6; 128 in Wan
     * @see <a href="https://arxiv.org/abs/2503.20314">Wan: Open and Advanced Large-Scale Video Generative Models</a>
     */
    public static RotaryEmbeddingBlock.Builder wan(int headSize) {
        requireMultiple(headSize, 2);
        Check.between("headSize", headSize, 6, MAX_CELLS);
        int rows = headSize / 6 * 2;
        return sideBySide(10_000, headSize - 2 * rows, rows, rows);
    }

    /**
     * {@return the rotary embedding of CogVideoX: Yang et al., <em>CogVideoX</em> (2024), section 2.2, and
     * {@code get_3d_rotary_pos_embed} of Hugging Face diffusers} A quarter of the dimensions is for time, and three
     * eighths each for rows and columns, each axis with its own frequencies 10,000<sup>-2i/size</sup>. Only the tokens
     * of the video are rotated: their coordinates are {@link #positions}(frames, rows, columns), and the coordinates of
     * text are 0.
     *
     * @param headSize H, a multiple of 16; 64 in CogVideoX
     * @see <a href="https://arxiv.org/abs/2408.06072">CogVideoX: Text-to-Video Diffusion Models with An Expert
     *     Transformer</a>
     */
    public static RotaryEmbeddingBlock.Builder cogVideoX(int headSize) {
        requireMultiple(headSize, 16);
        return sideBySide(10_000, headSize / 4, headSize / 8 * 3, headSize / 8 * 3);
    }

    /**
     * {@return the rotary embedding of V-JEPA 2: Assran et al., <em>V-JEPA 2</em> (2025), and
     * {@code rotate_queries_or_keys} of Hugging Face transformers} A third of a head, d dimensions, is for each of
     * frames, rows and columns; what is left does not rotate. Pairs are neighbors, but the dimension j of a third has
     * the frequency 10,000<sup>-2i/d</sup> with i = j mod d / 2, so that the two dimensions of a pair have different
     * angles: this is no rotation, and scores do not depend on distances only. The coordinates are
     * {@link #positions}(frames, rows, columns).
     *
     * @param headSize H, at least 6; 64 in V-JEPA 2 ViT-L
     * @see <a href="https://arxiv.org/abs/2506.09985">V-JEPA 2: Self-Supervised Video Models Enable Understanding,
     *     Prediction and Planning</a>
     */
    public static RotaryEmbeddingBlock.Builder vjepa2(int headSize) {
        Check.between("headSize", headSize, 6, MAX_CELLS);
        int pairs = headSize / 6;
        return RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize)
                .optRotarySize(6 * pairs)
                .optFrequencies(Frequencies.joined(Collections.nCopies(6, Frequencies.geometric(pairs, 10_000, pairs))
                        .toArray(Frequencies[]::new)))
                .optAxes(RotaryAxes.sections(pairs, pairs, pairs));
    }

    /**
     * {@return the rotary embedding of Pixtral's vision tower: Agrawal et al., <em>Pixtral 12B</em> (2024), section
     * 2.2, and {@code PixtralRotaryEmbedding} of Hugging Face transformers} Of the frequencies 10,000<sup>-2i/H</sup>,
     * frequencies with even i are for rows and the others for columns; all pairs of rows come first. The coordinates
     * are {@link #positions}(rows, columns). Mistral's own weights need {@link PairLayout#INTERLEAVED}.
     *
     * @param headSize H, a multiple of 4; 64 in Pixtral
     * @see <a href="https://arxiv.org/abs/2410.07073">Pixtral 12B</a>
     */
    public static RotaryEmbeddingBlock.Builder pixtral(int headSize) {
        Frequencies even = quarter(headSize, 10_000);
        Frequencies odd = even.scaledBy(StrictMath.pow(10_000, -2.0 / headSize));
        return rowsThenColumns(headSize, even, odd).optLayout(PairLayout.CONCATENATED);
    }

    /**
     * {@return the rotary embedding of the vision towers of Qwen2-VL and Qwen2.5-VL
     * ({@code Qwen2_5_VisionRotaryEmbedding} of Hugging Face transformers): half of the pairs for rows, then half for
     * columns, each with 10,000<sup>-2i/(H/2)</sup>} The coordinates are {@link #positions}(rows, columns), in the
     * order of the model's patches, which are grouped by the cells that are merged later.
     *
     * @param headSize H, a multiple of 4; 80 in Qwen2-VL
     * @see <a href="https://arxiv.org/abs/2409.12191">Qwen2-VL: Enhancing Vision-Language Model's Perception of the
     *     World at Any Resolution</a>
     */
    public static RotaryEmbeddingBlock.Builder qwenVision(int headSize) {
        return eva(headSize).optLayout(PairLayout.CONCATENATED);
    }

    /**
     * {@return the rope type {@code axial} of Hugging Face transformers: for each axis in turn, H / (2 · axes) pairs,
     * rounded down, with base<sup>-i/pairs</sup>; the rest of a head is not rotated} It is in the vision towers of
     * Qwen, GLM and others with the axes row and column, and of MiniMax M3 with time, row and column. The coordinates
     * are {@link #positions}, in the order of the model's patches, which are grouped by the cells that are merged
     * later.
     *
     * @param headSize H, for two axes a multiple of 4, for three at least 6
     * @param base 10,000 in these models
     * @param axes 2 or 3
     */
    public static RotaryEmbeddingBlock.Builder axial(int headSize, double base, int axes) {
        Check.between("axes", axes, 2, 3);
        requireMultiple(headSize, axes == 2 ? 4 : 1);
        Check.between("headSize", headSize, 2L * axes, MAX_CELLS);
        int pairs = headSize / (2 * axes);
        return halves(headSize)
                .optFrequencies(Frequencies.joined(Collections.nCopies(axes, Frequencies.geometric(pairs, base, pairs))
                        .toArray(Frequencies[]::new)))
                .optAxes(RotaryAxes.sections(
                        IntStream.range(0, axes).map(axis -> pairs).toArray()));
    }

    /**
     * {@return the rotary embedding of Gemma 4's vision tower (Google, 2026; {@code apply_multidimensional_rope} of
     * Hugging Face transformers): half of a head for columns, then half for rows, each with base<sup>-2i/(H/2)</sup>
     * and a layout of its own} The coordinates are {@link #positions}(rows, columns).
     *
     * @param headSize H, a multiple of 4; 64 or 72 in Gemma 4
     * @param base 100 in Gemma 4
     */
    public static RotaryEmbeddingBlock.Builder gemma4Vision(int headSize, double base) {
        return axial(headSize, base, 2)
                .optLayout(PairLayout.CONCATENATED_HALVES)
                .optAxes(columnsThenRows(headSize));
    }

    /**
     * {@return the rotary embedding of EVA-02: Fang et al., <em>EVA-02</em> (2023), and
     * {@code VisionRotaryEmbeddingFast} of the published code: half of the pairs for rows, then half for columns, each
     * with 10,000<sup>-2i/(H/2)</sup>} The coordinates are scaled to the pretraining grid: {@link #evaPositions}.
     *
     * @param headSize H, a multiple of 4; 64 in EVA-02
     * @see <a href="https://arxiv.org/abs/2303.11331">EVA-02: A Visual Representation for Neon Genesis</a>
     */
    public static RotaryEmbeddingBlock.Builder eva(int headSize) {
        Frequencies frequencies = quarter(headSize, 10_000);
        return rowsThenColumns(headSize, frequencies, frequencies);
    }

    /**
     * {@return the rotary embedding of DINOv3: Siméoni et al., <em>DINOv3</em> (2025), section 3.2, and
     * {@code RopePositionEmbedding} of the published code: half of the pairs for rows, then half for columns, each with
     * 2π · 100<sup>-2i/(H/2)</sup>} The coordinates are the centers of the patches, from -1 to 1:
     * {@link #dinov3Positions}.
     *
     * @param headSize H, a multiple of 4; 64 in DINOv3
     * @see <a href="https://arxiv.org/abs/2508.10104">DINOv3</a>
     */
    public static RotaryEmbeddingBlock.Builder dinov3(int headSize) {
        Frequencies frequencies = quarter(headSize, 100).scaledBy(2 * Math.PI);
        return rowsThenColumns(headSize, frequencies, frequencies).optLayout(PairLayout.CONCATENATED);
    }

    /**
     * {@return the rotary embedding of Llama 4's vision tower (Meta, 2025; {@code Llama4VisionRotaryEmbedding} of
     * Hugging Face transformers): half of the pairs for columns, then half for rows, each with
     * 10,000<sup>-2i/(H/2)</sup>} The coordinates are counted from 1, and the class token comes last:
     * {@link #llama4VisionPositions}.
     *
     * @param headSize H, a multiple of 4; 88 in Llama 4
     */
    public static RotaryEmbeddingBlock.Builder llama4Vision(int headSize) {
        return eva(headSize).optAxes(columnsThenRows(headSize));
    }

    /**
     * {@return the indices of the cells of a grid, row-major: an array (axes, cells) of integers from 0}
     *
     * @param sizes the number of cells on each axis, for example rows and columns
     * @throws IllegalArgumentException if a size is not positive, or there are more than 16,777,216 cells
     */
    public static double[][] positions(int... sizes) {
        return positions(0, 0, (size, index) -> index, sizes);
    }

    /**
     * {@return the coordinates of FLUX.2's tokens, (4, textTokens + cells): those of the text, then those of the
     * images, each row-major} The axes are image, row, column and token of the text. A token of the text is at (0, 0,
     * 0, token), a cell of an image at (10 · image, row, column, 0), with the images counted from 0.
     *
     * @param textTokens the number of tokens of the text, from 0
     * @param images the grid of the image that is generated, then of those that are given; each with one frame
     */
    public static double[][] flux2Positions(int textTokens, Grid... images) {
        double[][] positions = new double[4][count(textTokens, images)];
        int next = textTokens;
        Arrays.setAll(positions[3], token -> token < textTokens ? token : 0);
        for (int image = 0; image < images.length; image++) {
            Grid grid = images[image];
            Check.that(grid.frames() == 1, () -> grid + ": expected one frame; pass a grid for each image");
            next = addCells(positions, next, grid, 10 * image, 0, 0);
        }
        return positions;
    }

    /**
     * {@return the coordinates of Qwen-Image's tokens, (3, textTokens + cells): those of the text, then those of the
     * images, each frame by frame and row-major} The axes are frame, row and column. A cell is at (image + frame, row -
     * ⌈rows / 2⌉, column - ⌈columns / 2⌉), with the images counted from 0, and a token of the text at (c, c, c), where
     * c is counted from the largest ⌊rows / 2⌋ or ⌊columns / 2⌋ of all images.
     *
     * @param textTokens the number of tokens of the text, from 0
     * @param images the grid of the image that is generated, then of those that are edited
     */
    public static double[][] qwenImagePositions(int textTokens, Grid... images) {
        double[][] positions = new double[3][count(textTokens, images)];
        int first = Stream.of(images)
                .mapToInt(grid -> Math.max(grid.rows(), grid.columns()) / 2)
                .max()
                .orElse(0);
        for (double[] axis : positions) {
            Arrays.setAll(axis, token -> token < textTokens ? first + token : 0);
        }
        int next = textTokens;
        for (int image = 0; image < images.length; image++) {
            Grid grid = images[image];
            next = addCells(positions, next, grid, image, -((grid.rows() + 1) / 2), -((grid.columns() + 1) / 2));
        }
        return positions;
    }

    /** The number of tokens of a text and of images. */
    private static int count(int textTokens, Grid... images) {
        Check.between("textTokens", textTokens, 0, MAX_CELLS);
        long count = textTokens;
        for (Grid grid : images) {
            count += (long) grid.frames() * grid.rows() * grid.columns();
            Check.between("token count", count, 0, MAX_CELLS);
        }
        return (int) count;
    }

    /** Sets the coordinates of the cells of an image from a token on; returns the token after them. */
    private static int addCells(
            double[][] positions, int token, Grid grid, int firstFrame, int firstRow, int firstColumn) {
        double[][] cells = positions(grid.frames(), grid.rows(), grid.columns());
        int[] first = {firstFrame, firstRow, firstColumn};
        for (int axis = 0; axis < first.length; axis++) {
            int start = first[axis];
            for (int cell = 0; cell < cells[axis].length; cell++) {
                positions[axis][token + cell] = start + cells[axis][cell];
            }
        }
        return token + cells[0].length;
    }

    /**
     * {@return the coordinates of EVA-02's tokens, (2, leadingTokens + rows · columns): index · pretrainedSize / size}
     *
     * @param leadingTokens the number of tokens before the patches, which are not rotated: 1, the class token
     * @param pretrainedSize the number of rows, and of columns, of the pretraining grid; 16 in EVA-02
     * @param rows the number of rows of patches
     * @param columns the number of columns of patches
     */
    public static double[][] evaPositions(int leadingTokens, int pretrainedSize, int rows, int columns) {
        Check.positive("pretrainedSize", pretrainedSize);
        return positions(leadingTokens, 0, (size, index) -> (double) index * pretrainedSize / size, rows, columns);
    }

    /**
     * {@return the coordinates of DINOv3's tokens, (2, leadingTokens + rows · columns): 2 · (index + 0.5) / size - 1}
     * In training, a {@link io.github.djlpositional.CoordinateAugmentation} changes them at random.
     *
     * @param leadingTokens the number of tokens before the patches, which are not rotated: 5, the class token and 4
     *     registers
     * @param rows the number of rows of patches
     * @param columns the number of columns of patches
     */
    public static double[][] dinov3Positions(int leadingTokens, int rows, int columns) {
        return positions(leadingTokens, 0, (size, index) -> 2 * (index + 0.5) / size - 1, rows, columns);
    }

    /**
     * {@return the coordinates of the tokens of Llama 4's vision tower, (2, rows · columns + 1): index + 1, and 0 for
     * the class token, which is not rotated}
     *
     * @param rows the number of rows of patches
     * @param columns the number of columns of patches
     */
    public static double[][] llama4VisionPositions(int rows, int columns) {
        return positions(0, 1, (size, index) -> index + 1, rows, columns);
    }

    /**
     * {@return the coordinates of the tokens of a model with RoPE-Mixed (Heo et al., 2024; {@code vit_*_rope_mixed} of
     * timm), for a {@link LearnedRotaryEmbeddingBlock}, (2, leadingTokens + rows · columns)} The column comes first, in
     * the order of timm's {@code freqs}.
     *
     * @param leadingTokens the number of tokens before the patches, which are not rotated: 1, the class token
     * @param rows the number of rows of patches
     * @param columns the number of columns of patches
     */
    public static double[][] mixedPositions(int leadingTokens, int rows, int columns) {
        double[][] positions = positions(leadingTokens, 0, (size, index) -> index, rows, columns);
        return new double[][] {positions[1], positions[0]};
    }

    /** Computes the coordinate of a cell on an axis. */
    @FunctionalInterface
    private interface Coordinate {
        double of(int size, int index);
    }

    /** The coordinates of the cells of a grid, between tokens with the coordinates 0. */
    private static double[][] positions(int leadingTokens, int trailingTokens, Coordinate coordinate, int... sizes) {
        Check.between("leadingTokens", leadingTokens, 0, MAX_CELLS);
        long cellCount = 1;
        for (int size : sizes) {
            Check.positive("grid size", size);
            cellCount *= size;
            Check.between("cell count", cellCount, 1, MAX_CELLS);
        }
        int cells = (int) cellCount;
        double[][] positions = new double[sizes.length][leadingTokens + cells + trailingTokens];
        int after = cells;
        for (int axis = 0; axis < sizes.length; axis++) {
            after /= sizes[axis];
            for (int cell = 0; cell < cells; cell++) {
                positions[axis][leadingTokens + cell] = coordinate.of(sizes[axis], cell / after % sizes[axis]);
            }
        }
        return positions;
    }

    private static RotaryEmbeddingBlock.Builder halves(int headSize) {
        return RotaryEmbeddingBlock.builder().setHeadSize(headSize).optLayout(PairLayout.CONCATENATED);
    }

    /** base^(-2i / (H/2)) for a quarter of a head's dimensions. */
    private static Frequencies quarter(int headSize, double base) {
        requireMultiple(headSize, 4);
        return Frequencies.geometric(headSize / 4, base, headSize / 4.0);
    }

    private static RotaryEmbeddingBlock.Builder rowsThenColumns(
            int headSize, Frequencies ofRows, Frequencies ofColumns) {
        return RotaryEmbeddingBlock.builder()
                .setHeadSize(headSize)
                .optFrequencies(Frequencies.joined(ofRows, ofColumns))
                .optAxes(RotaryAxes.sections(headSize / 4, headSize / 4));
    }

    private static RotaryAxes columnsThenRows(int headSize) {
        return RotaryAxes.of(IntStream.range(0, headSize / 2)
                .map(pair -> pair < headSize / 4 ? 1 : 0)
                .toArray());
    }

    private static void requireMultiple(int headSize, int divisor) {
        Check.that(
                headSize > 0 && headSize % divisor == 0,
                () -> "headSize " + headSize + ": expected a positive multiple of " + divisor
                        + "; set it to the model's head size");
    }
}
