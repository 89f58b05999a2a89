package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.quoted;

import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock.Coordinates;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** A published model of pictures, with what its configuration and its model type fix. */
final class VisionModel {

    private final HuggingFaceConfig config;
    private final Facts facts;

    VisionModel(HuggingFaceConfig config) {
        this.config = config;
        facts = config.facts;
        Check.that(
                isOfPictures(config),
                () -> config + ": expected a vision model, such as vit; use HuggingFaceModel.load or stack for"
                        + " text models");
    }

    static boolean isOfPictures(HuggingFaceConfig config) {
        return config.facts.value("patch_size") != null;
    }

    /**
     * The encoder.
     *
     * @param classes the number of classes of the output layer; null for none
     */
    VisionTransformerBlock.Builder encoder(Integer classes) {
        config.requireValues();
        List<HuggingFaceConfig> stages = stages();
        TransformerStackBlock[] stacks = new TransformerStackBlock[stages.size()];
        for (int i = 0; i < stacks.length; i++) {
            boolean isLast = i == stacks.length - 1;
            TransformerStackBlock.Builder stack =
                    stack(stages.get(i)).optFinalNorm(isLast && !facts.isOn("use_mean_pooling"));
            if (isLast && classes != null) {
                stack.optPooling(Pooling.valueOf(
                                facts.value("classifier_pooling").toString()))
                        .optOutputSize(classes);
            }
            stacks[i] = stack.build();
        }
        VisionTransformerBlock.Builder builder =
                VisionTransformerBlock.builder().setInput(input().build()).setStages(stacks);
        if (facts.value("depths") != null) {
            builder.optTrainedGrid(grid()[0], grid()[1]);
        }
        return positions().equals("rotary") ? builder.optCoordinates(Coordinates.CENTERS) : builder;
    }

    private static TransformerStackBlock.Builder stack(HuggingFaceConfig stage) {
        ModelLayers layers = new ModelLayers(stage);
        return TransformerStackBlock.builder()
                .setLayers(IntStream.range(0, stage.layers.count())
                        .mapToObj(i -> layers.layer(i, null).build())
                        .toList());
    }

    /** The configurations of the stages: this one, or those of Swin. */
    private List<HuggingFaceConfig> stages() {
        List<Integer> depths = wholes("depths");
        if (depths.isEmpty()) {
            return List.of(config);
        }
        List<Integer> heads = wholes("heads_of_stages");
        List<Integer> trained = wholes("pretrained_window_sizes");
        Check.that(
                heads.size() == depths.size() && trained.size() >= depths.size(),
                () -> "depths " + depths + " of " + config + " with num_heads " + heads
                        + " and pretrained_window_sizes " + trained
                        + ": expected one of each for each stage; correct the configuration");
        List<HuggingFaceConfig> stages = new ArrayList<>();
        int size = facts.requireInt("hidden_size");
        int[] grid = grid();
        Check.that(
                grid[0] == grid[1],
                () -> "image_size " + facts.value("image_size") + " of " + config
                        + ": expected square pictures, whose windows transformers does not pad; resize them");
        for (int i = 0; i < depths.size(); i++) {
            Map<String, Object> stage = new LinkedHashMap<>(config.config);
            stage.put("model_type", ModelType.WITH_STAGES.get(config.config.get("model_type")));
            stage.put("embed_dim", size << i);
            stage.put("depth", depths.get(i));
            stage.put("heads", heads.get(i));
            stage.put("window_size", Math.min(grid[0] >> i, facts.requireInt("window_size")));
            stage.put("trained_window", trained.get(i));
            stages.add(HuggingFaceConfig.of(stage));
        }
        return stages;
    }

    private List<Integer> wholes(String fact) {
        List<?> values = facts.get(fact, List.class);
        return values == null
                ? List.of()
                : values.stream()
                        .map(value -> Facts.converted(fact, value, Integer.class))
                        .toList();
    }

    PatchEmbeddingBlock.Builder input() {
        int size = facts.requireInt("hidden_size");
        int[] patch = pair("patch_size");
        PatchEmbeddingBlock.Builder builder = PatchEmbeddingBlock.builder()
                .setPatchSize(patch[0], patch[1])
                .setEmbeddingSize(size)
                .optChannels(facts.requireInt("num_channels"))
                .optClassToken(facts.isOn("class_token"))
                .optRegisters(facts.whole("num_register_tokens"));
        if (facts.isOn("input_norm")) {
            builder.optNorm(new ModelLayers(config).norm(size));
        }
        return positions().equals("input")
                ? builder.optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(size)
                        .optGrid(1, grid())
                        .optResampling(GridResampling.valueOf(
                                facts.value("position_resampling").toString()))
                        .build())
                : builder;
    }

    private String positions() {
        return facts.value("patch_positions").toString();
    }

    /** Adds the encoding of the patches' positions to the attention of a layer. */
    void addPositions(MultiHeadAttentionBlock.Builder attention, int headCount, int headSize) {
        switch (positions()) {
            case "rotary" ->
                attention.optRelativeEncoding(RotaryPresets.dinov3(headSize).build());
            case "window" -> {
                if (facts.isOn("use_relative_position_bias")) {
                    attention.optRelativeEncoding(WindowBiasBlock.builder()
                            .setHeadCount(headCount)
                            .setWindow(grid()[0], grid()[1])
                            .optClassToken(true)
                            .build());
                }
            }
            case "window_network" -> {
                int window = facts.requireInt("window_size");
                int trained = facts.whole("pretrained_window_size");
                WindowNetworkBiasBlock.Builder biases =
                        WindowNetworkBiasBlock.builder().setHeadCount(headCount).setWindow(window, window);
                attention
                        .optCosine(true)
                        .optRelativeEncoding(
                                (trained > 0 ? biases.optTrainedWindow(trained, trained) : biases).build());
            }
            default -> {}
        }
    }

    /** The number of rows of patches, and of columns. */
    private int[] grid() {
        int[] picture = pair("image_size");
        int[] patch = pair("patch_size");
        Check.that(
                picture[0] >= patch[0] && picture[1] >= patch[1],
                () -> "image_size " + facts.value("image_size") + " with patch_size " + facts.value("patch_size")
                        + " of " + config + ": expected pictures of at least one patch; correct the configuration");
        return new int[] {picture[0] / patch[0], picture[1] / patch[1]};
    }

    /** Rows and columns, which are one number if they are equal. */
    private int[] pair(String fact) {
        Object value = facts.value(fact);
        List<?> both = value instanceof List<?> list ? list : List.of(value, value);
        Check.that(
                both.size() == 2,
                () -> fact + " " + quoted(value) + ": expected one size, or two; correct the configuration");
        return both.stream()
                .mapToInt(each -> {
                    int size = Facts.converted(fact, each, Integer.class);
                    Check.between(fact, size, 1, Short.MAX_VALUE);
                    return size;
                })
                .toArray();
    }

    /** What the encoder is initialized for. */
    Shape inputShape() {
        int[] patch = pair("patch_size");
        int[] grid = grid();
        return new Shape(1, facts.requireInt("num_channels"), (long) grid[0] * patch[0], (long) grid[1] * patch[1]);
    }

    boolean mayClassify() {
        return facts.value("classifier_pooling") != null;
    }
}
