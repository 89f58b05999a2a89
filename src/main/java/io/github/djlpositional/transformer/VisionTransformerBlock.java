package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.CoordinateAugmentation;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * A vision transformer: an image is split into patches, which pass through the layers of a stack, as in Dosovitskiy et
 * al., <em>An Image is Worth 16x16 Words</em> (2021).
 *
 * <pre>{@code
 * VisionTransformerBlock encoder = VisionTransformerBlock.builder()
 *         .setInput(PatchEmbeddingBlock.builder()
 *                 .setPatchSize(16, 16)
 *                 .setEmbeddingSize(384)
 *                 .optClassToken(true)
 *                 .build())
 *         .setStages(TransformerStackBlock.builder()
 *                 .setLayers(12, () -> TransformerLayerBlock.builder()
 *                         .setAttention(MultiHeadAttentionBlock.builder()
 *                                 .setEmbeddingSize(384)
 *                                 .setHeadCount(6)
 *                                 .optRelativeEncoding(RotaryPresets.dinov3(64).build())
 *                                 .build())
 *                         .optFeedForward(FeedForwardBlock.builder()
 *                                 .setEmbeddingSize(384)
 *                                 .setHiddenSize(1536)
 *                                 .build())
 *                         .optNormPlacement(NormPlacement.BEFORE_PART))
 *                 .build())
 *         .optCoordinates(Coordinates.CENTERS)
 *         .build();                       // (B, 3, H, W) -> (B, 1 + H / 16 · W / 16, 384)
 * }</pre>
 *
 * <p>The input is that of a {@link PatchEmbeddingBlock}. The output is that of the last stack: (B, T, D), or with its
 * pooling and output layer (B, D) or (B, classes).
 *
 * <h2>Windows</h2>
 *
 * Layers whose encoding has a {@linkplain RelativeEncoding#getWindow window}, such as a {@code WindowBiasBlock}, attend
 * within windows of its size. In every second layer, the windows are shifted by half of their size, on axes with more
 * than one of them, as in Liu et al., <em>Swin Transformer</em> (2021). An image must consist of whole windows; others
 * are rejected. If there are tokens before the patches, as in BEiT, the window must be the whole image.
 *
 * <h2>Stages</h2>
 *
 * Before each stack but the first, the vectors of 2 by 2 patches are joined, projected to half of their size, and
 * normalized like the parts of its layers, as in Liu et al., <em>Swin Transformer V2</em> (2022): sizes double from
 * stack to stack, and the number of patches is a quarter.
 *
 * @see <a href="https://arxiv.org/abs/2010.11929">An Image is Worth 16x16 Words: Transformers for Image Recognition at
 *     Scale</a>
 * @see <a href="https://arxiv.org/abs/2103.14030">Swin Transformer: Hierarchical Vision Transformer using Shifted
 *     Windows</a>
 * @see <a href="https://arxiv.org/abs/2111.09883">Swin Transformer V2: Scaling Up Capacity and Resolution</a>
 */
public final class VisionTransformerBlock extends OptionsBlock {

    /** The positions of patches on two axes, rows and columns, for rotary encodings. Other tokens are at 0. */
    public enum Coordinates {
        /** The numbers of row and column, from 0. */
        INDICES,
        /** The center of a patch, from -1 to 1 across the picture: 2 · (index + 0.5) / count - 1, as in DINOv3. */
        CENTERS;

        /**
         * The coordinates of all tokens, (2, 1, T), computed where x is.
         *
         * @param change changes the coordinates of the patches
         */
        private NDArray of(NDArray x, int prefixTokens, Shape grid, UnaryOperator<NDArray> change) {
            Shape shape = new Shape(1, 1, grid.get(0), grid.get(1));
            NDArray rows = onAxis(x, grid.get(0)).reshape(1, 1, -1, 1).broadcast(shape);
            NDArray columns = onAxis(x, grid.get(1)).reshape(1, 1, 1, -1).broadcast(shape);
            NDArray cells = change.apply(rows.concat(columns, 0).reshape(2, 1, grid.size()));
            return prefixTokens == 0
                    ? cells
                    : x.getManager()
                            .zeros(new Shape(2, 1, prefixTokens), DataType.FLOAT64, x.getDevice())
                            .concat(cells, 2);
        }

        private NDArray onAxis(NDArray x, long count) {
            NDArray indices = Indices.range(x, 0, Math.toIntExact(count), DataType.FLOAT64);
            return this == INDICES
                    ? indices
                    : Arithmetic.add(Arithmetic.multiply(indices, 2.0 / count), 1.0 / count - 1);
        }
    }

    record Options(
            PatchEmbeddingBlock input,
            List<TransformerStackBlock> stages,
            Coordinates coordinates,
            @NotSaved CoordinateAugmentation augmentation,
            @Range(min = 1) List<Integer> trainedGrid) {

        Options {
            Check.present("input", input);
            Check.that(
                    stages != null && !stages.isEmpty(),
                    "stages are missing: expected at least one stack of layers; set them with setStages");
            stages = List.copyOf(stages);
            Check.that(
                    augmentation == null || coordinates != null,
                    "augmentation " + augmentation + " without coordinates: expected both; set optCoordinates, or leave"
                            + " it out");
            Check.that(
                    trainedGrid == null || trainedGrid.size() == 2,
                    "trainedGrid " + trainedGrid + ": expected rows and columns; set it with optTrainedGrid(int, int)");
            trainedGrid = trainedGrid == null ? null : List.copyOf(trainedGrid);
        }
    }

    /** Of the augmentation of two axes. */
    private static final int RANDOM_NUMBERS = 5;

    private final Options options;
    private final PatchEmbeddingBlock input;
    private final List<TransformerStackBlock> stages;

    /** Before each stage but the first. */
    private final List<Linear> merges = new ArrayList<>();

    private final List<Block> mergeNorms = new ArrayList<>();

    private VisionTransformerBlock(Options options) {
        super(options);
        this.options = options;
        input = addChild("input", options.input);
        stages = options.stages;
        for (int i = 0; i < stages.size(); i++) {
            requireFitting(i);
            if (i > 0) {
                int size = size(i);
                merges.add(addProjection("merge" + i, 2 * size, size, false));
                mergeNorms.add(addChildBlock(
                        "mergeNorm" + i, stages.get(i).getLayers().get(0).newNorm()));
            }
            addChild("stage" + i, stages.get(i));
        }
    }

    private int size(int stage) {
        return stages.get(stage).getLayers().get(0).getAttention().getEmbeddingSize();
    }

    private void requireFitting(int stage) {
        TransformerStackBlock stack = stages.get(stage);
        int expected = stage == 0 ? input.getEmbeddingSize() : 2 * size(stage - 1);
        Check.that(
                size(stage) == expected,
                () -> "stage " + stage + " has layers of size " + size(stage) + ": expected " + expected
                        + (stage == 0 ? ", the size of the input" : ", twice that of the stage before")
                        + "; build them with this size");
        Check.that(
                stack.getInput() == null
                        && stack.getLayers().get(0).getCrossAttention() == null
                        && (stage == stages.size() - 1 || stack.returnsSequences()),
                () -> "stage " + stage + " has an input, a cross-attention, or a result of other shape before the last"
                        + " stage: expected layers from (B, T, D) to the same shape; build it without them");
        Check.that(
                stack.getLayers().stream()
                        .map(VisionTransformerBlock::window)
                        .allMatch(window -> window == null || window.dimension() == 2),
                () -> "stage " + stage + " has windows of "
                        + stack.getLayers().stream()
                                .map(VisionTransformerBlock::window)
                                .toList()
                        + ": expected rows and columns; build its encodings with setWindow(height, width)");
        Check.that(
                options.coordinates == null || stack.getLayers().stream().allMatch(layer -> window(layer) == null),
                () -> "coordinates " + options.coordinates + " for stage " + stage
                        + " with windows: expected none, since"
                        + " the layers see one window at a time; leave optCoordinates out, or build layers without"
                        + " windows");
        Check.that(
                stages.size() == 1 || input.getPrefixTokens() == 0,
                () -> "stages " + stages.size() + " after an input with " + input.getPrefixTokens()
                        + " tokens before the patches: expected none, since patches are merged; build the input without a"
                        + " class token and registers, or one stage");
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static VisionTransformerBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Map<String, Object> getArguments() {
        TransformerLayerBlock.requireOwnEncodings(
                stages.stream().flatMap(stage -> stage.getLayers().stream()).toList());
        return super.getArguments();
    }

    /** {@return the block that makes vectors of pictures} */
    public PatchEmbeddingBlock getInput() {
        return input;
    }

    /** {@return the stacks of layers, from the first to the last; unmodifiable} */
    public List<TransformerStackBlock> getStages() {
        return stages;
    }

    /** {@return the projections, from 4 · D to 2 · D, before each stage but the first; unmodifiable} */
    public List<Linear> getMerges() {
        return Collections.unmodifiableList(merges);
    }

    /** {@return the norms after these projections, with parameters of (2 · D); unmodifiable} */
    public List<Block> getMergeNorms() {
        return Collections.unmodifiableList(mergeNorms);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        try (Temporaries temporaries = new Temporaries()) {
            Shape grid = input.getGrid(inputs.head().getShape());
            NDArray x = temporaries.add(
                    input.forward(parameterStore, inputs, training).singletonOrThrow());
            NDArray random = training && options.augmentation != null
                    ? temporaries.add(x.getManager()
                            .randomUniform(-1, 1, new Shape(RANDOM_NUMBERS), DataType.FLOAT32, x.getDevice()))
                    : null;
            for (int i = 0; i < stages.size(); i++) {
                if (i > 0) {
                    x = merged(temporaries, x, grid, i - 1, parameterStore, training);
                    grid = new Shape(grid.get(0) / 2, grid.get(1) / 2);
                }
                TransformerStackBlock stage = stages.get(i);
                PairList<String, Object> all = withCoordinates(temporaries, x, grid, random, params);
                InWindows windows = new InWindows(x.getShape(), grid, trainedGrid(grid, i));
                x = temporaries.add(
                        stage.forward(parameterStore, new NDList(x), training, all, layer -> windows.of(stage, layer)));
            }
            return new NDList(temporaries.remove(x));
        }
    }

    private PairList<String, Object> withCoordinates(
            Temporaries temporaries, NDArray x, Shape grid, NDArray random, PairList<String, Object> params) {
        if (options.coordinates == null
                || (params != null && params.contains(PositionalEncodingBlock.POSITIONS))
                || x.getShape().size() == 0) {
            return params;
        }
        PairList<String, Object> all = new PairList<>();
        if (params != null) {
            all.addAll(params);
        }
        UnaryOperator<NDArray> change = cells -> random == null ? cells : options.augmentation.apply(cells, 0, random);
        all.add(
                PositionalEncodingBlock.POSITIONS,
                temporaries.addResult(() -> options.coordinates.of(x, input.getPrefixTokens(), grid, change)));
        return all;
    }

    /** The vectors of 2 by 2 patches as one, (B, T / 4, 2 · D). */
    private NDArray merged(
            Temporaries temporaries, NDArray x, Shape grid, int index, ParameterStore store, boolean training) {
        Shape shape = x.getShape();
        NDArray joined = temporaries.addResult(
                () -> x.reshape(shape.get(0), grid.get(0) / 2, 2, grid.get(1) / 2, 2, shape.get(2))
                        .transpose(0, 1, 3, 4, 2, 5) // row by row within a column
                        .reshape(shape.get(0), grid.size() / 4, 4 * shape.get(2)));
        NDArray projected = temporaries.add(
                merges.get(index).forward(store, new NDList(joined), training).singletonOrThrow());
        return temporaries.add(mergeNorms
                .get(index)
                .forward(store, new NDList(projected), training)
                .singletonOrThrow());
    }

    /** The size of the windows of a layer; null for none. */
    private static Shape window(TransformerLayerBlock layer) {
        return layer.getAttention().getRelativeEncodings().stream()
                .map(RelativeEncoding::getWindow)
                .filter(window -> window != null)
                .findFirst()
                .orElse(null);
    }

    /** The grid that decides about shifts, of a stage. */
    private Shape trainedGrid(Shape grid, int stage) {
        return options.trainedGrid == null
                ? grid
                : new Shape(options.trainedGrid.get(0) >> stage, options.trainedGrid.get(1) >> stage);
    }

    /** Calls attentions for each window of pictures, x of (B, R · C, D). */
    private record InWindows(Shape x, Shape grid, Shape trainedGrid) {

        TransformerLayerBlock.Attend of(TransformerStackBlock stage, int index) {
            Shape window = window(stage.getLayers().get(index));
            return window == null || window.equals(grid)
                    ? (temporaries, inputs, attention) -> attention.apply(inputs)
                    : (temporaries, inputs, attention) ->
                            attend(temporaries, inputs.head(), attention, window, index % 2 == 1);
        }

        private NDArray attend(
                Temporaries temporaries,
                NDArray cells,
                Function<NDList, NDArray> attention,
                Shape window,
                boolean isShifted) {
            long rows = isShifted ? shift(0, window) : 0;
            long columns = isShifted ? shift(1, window) : 0;
            Shape pictures = new Shape(x.get(0), grid.get(0), grid.get(1), x.get(2));
            NDList windows = new NDList(temporaries.addResult(
                    cells,
                    () -> Windows.split(
                            Windows.roll(Windows.roll(cells.reshape(pictures), rows, 1), columns, 2), window)));
            if (rows + columns > 0) {
                windows.add(temporaries.addResult(
                        () -> Windows.mask(cells.reshape(pictures), new Shape(rows, columns), window)));
            }
            NDArray y = attention.apply(windows);
            return temporaries.addResult(() -> {
                NDArray merged = Windows.roll(Windows.merge(y, pictures, window), grid.get(0) - rows, 1);
                return Windows.roll(merged, grid.get(1) - columns, 2).reshape(x);
            });
        }

        private long shift(int axis, Shape window) {
            return trainedGrid.get(axis) <= window.get(axis) ? 0 : window.get(axis) / 2;
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape x = input.getOutputShapes(inputShapes)[0];
        int last = stages.size() - 1;
        long tokens = x.get(1) == -1 ? -1 : x.get(1) >> (2 * last);
        return stages.get(last).getOutputShapes(new Shape[] {new Shape(x.get(0), tokens, size(last))});
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        input.getOutputShapes(inputShapes);
        Shape grid = input.getGrid(inputShapes[0]);
        for (int i = 0; i < stages.size(); i++) {
            long rows = grid.get(0) >> i;
            long columns = grid.get(1) >> i;
            int stage = i;
            Check.that(
                    grid.get(0) < 0 || grid.get(1) < 0 || (rows << i == grid.get(0) && columns << i == grid.get(1)),
                    () -> "pictures of " + grid + " patches for " + stages.size() + " stages: expected multiples of "
                            + (1 << stage) + " patches, since each stage merges 2 by 2 of them; resize or crop the"
                            + " pictures");
            stages.get(i).getLayers().forEach(layer -> requireWindows(window(layer), stage, rows, columns));
        }
    }

    private void requireWindows(Shape window, int stage, long rows, long columns) {
        boolean isOne = input.getPrefixTokens() > 0;
        Check.that(
                window == null
                        || rows < 0
                        || columns < 0
                        || (isOne
                                ? rows == window.get(0) && columns == window.get(1)
                                : rows % window.get(0) == 0 && columns % window.get(1) == 0),
                () -> "pictures of " + rows + " by " + columns + " patches in stage " + stage + " with windows of "
                        + window + ": expected " + (isOne ? "one window, since it has a class token" : "whole windows")
                        + "; resize or crop the pictures");
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        initializeChild(input, manager, dataType, inputShapes);
        Shape x = input.getOutputShapes(inputShapes)[0];
        for (int i = 0; i < stages.size(); i++) {
            Shape shape = new Shape(x.get(0), x.get(1) == -1 ? -1 : x.get(1) >> (2 * i), size(i));
            if (i > 0) {
                initializeChild(merges.get(i - 1), manager, dataType, new Shape(-1, 2L * size(i)));
                initializeChild(mergeNorms.get(i - 1), manager, dataType, shape);
            }
            initializeChild(stages.get(i), manager, dataType, shape);
        }
    }

    /** Builds a {@link VisionTransformerBlock}. */
    public static final class Builder extends BlockBuilder<VisionTransformerBlock, Builder> {

        private Builder() {
            super(Options.class, VisionTransformerBlock::new);
        }

        /** Sets the block that makes vectors of pictures. */
        public Builder setInput(PatchEmbeddingBlock input) {
            return setChild("input", input);
        }

        /** Sets the stacks of layers, at least one, without inputs; the sizes of their layers double. */
        public Builder setStages(TransformerStackBlock... stages) {
            Check.notNull("stages", stages, "stacks of layers");
            Arrays.stream(stages).forEach(stage -> Check.notNull("a stage", stage, "a TransformerStackBlock"));
            return setChild("stages", List.of(stages));
        }

        /** Passes the positions of patches on two axes to the encodings of the layers (default: none). */
        public Builder optCoordinates(Coordinates coordinates) {
            return set("coordinates", coordinates);
        }

        /**
         * Changes these positions at random in each forward in training, for all pictures in the same way (default:
         * none).
         */
        public Builder optAugmentation(CoordinateAugmentation augmentation) {
            return set("augmentation", augmentation);
        }

        /**
         * Sets the rows and columns of patches that a model was trained with, each at least 1: windows are shifted on
         * the axes on which these are more than one window, as in Hugging Face's transformers (default: those of each
         * picture, as in torchvision).
         */
        public Builder optTrainedGrid(int rows, int columns) {
            return set("trainedGrid", List.of(rows, columns));
        }
    }
}
