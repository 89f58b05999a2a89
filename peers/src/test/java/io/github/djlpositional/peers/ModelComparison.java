package io.github.djlpositional.peers;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.training.loss.Loss;
import ai.djl.training.loss.SoftmaxCrossEntropyLoss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.transformer.VisionTransformerBlock;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Compares the library's models with the outputs that the functions of {@code models.py} describe. */
record ModelComparison(ModelCase peer, Comparison comparison) {

    /** Of the relative error: four layers round some hundred times, 6e-8 each. */
    private static final double ROUNDING = 1e-5;

    /**
     * transformers has rotary angles in FLOAT32: up to 1 radian for each position, whose frequency and product are
     * rounded. The library computes them in FLOAT64.
     */
    private static final double ROUNDING_OF_ANGLE = 0x1p-23;

    /** A whole model: ids (B, T), and a mask or null, to y. */
    interface Forward {
        NDArray forward(NDArray ids, NDArray mask, PairList<String, Object> params);
    }

    void decoder(TransformerStackBlock stack, Forward model) throws Exception {
        forward(stack, model);
        NDArray ids = peer.array("left.ids");
        NDArray mask = peer.array("left.mask");
        // relative positions do not need to skip padding, unless they are rounded
        if (stack.getInput().getPositionalEncoding() == null
                && !stack.toString().contains("roundedByKey")) {
            require(model.forward(ids, mask, null), "left.y");
        }
        require(model.forward(ids, mask, positions(peer.array("left.positions"))), "left.y");
        if (peer.has("axes")) {
            require(model.forward(peer.array("ids"), null, positions(peer.array("axes"))), "axes.y");
        }
        pieces(stack, model);
        for (String prefix : new String[] {"greedy", "batch"}) {
            generation(model, prefix, peer.array(prefix + ".ids"), peer.array(prefix + ".mask"));
        }
        training(stack);
    }

    void encoder(TransformerStackBlock stack, Forward model) throws Exception {
        forward(stack, model);
        training(stack);
    }

    private void forward(TransformerStackBlock stack, Forward model) throws Exception {
        NDArray ids = peer.array("ids");
        NDArray last = layers("hidden", stack, peer.forward(stack.getInput(), null, ids));
        require(last, "hidden." + count("hidden"));
        require(model.forward(ids, null, null), "y");
        require(model.forward(peer.array("right.ids"), peer.array("right.mask"), null), "right.y");
        if (peer.has("types")) {
            PairList<String, Object> types =
                    new PairList<>(Map.of(InputEmbeddingBlock.TOKEN_TYPES, peer.array("types")));
            require(model.forward(ids, null, types), "types.y");
        }
    }

    void sequenceToSequence(TransformerStackBlock encoder, TransformerStackBlock decoder) throws Exception {
        NDArray ids = peer.array("source.ids");
        NDArray mask = peer.array("source.mask");
        NDArray memory = layers("encoder", encoder, peer.forward(encoder.getInput(), null, ids), mask);
        require(memory, "encoder." + count("encoder"));
        NDArray target = peer.array("target");
        NDArray noMask = peer.manager().create(new Shape(target.getShape().get(0), 0));
        NDArray embedded = peer.forward(decoder.getInput(), null, target);
        NDArray last = layers("decoder", decoder, embedded, memory, noMask, mask);
        require(last, "decoder." + count("decoder"));
        require(decoder(encoder, decoder, "source").forward(target, null, null), "y");
        NDArray start = target.get(":, :1");
        generation(decoder(encoder, decoder, "greedy"), "greedy", start, start.onesLike());
    }

    private Forward decoder(TransformerStackBlock encoder, TransformerStackBlock decoder, String source)
            throws Exception {
        NDArray mask = peer.array(source + ".mask");
        NDArray memory = peer.forward(encoder, null, peer.array(source + ".ids"), mask);
        NDArray noMask = peer.manager().create(new Shape(mask.getShape().get(0), 0));
        return (ids, targetMask, params) -> peer.forward(decoder, params, ids, memory, noMask, mask);
    }

    void vision(VisionTransformerBlock model) throws Exception {
        require(peer.forward(model, null, peer.array("pixels")), "y");
    }

    /** Compares the input of each layer, and returns the normalized output of the last one. */
    private NDArray layers(String prefix, TransformerStackBlock stack, NDArray... inputs) throws Exception {
        NDArray[] layerInputs = inputs.clone();
        List<TransformerLayerBlock> layers = stack.getLayers();
        for (int i = 0; i < count(prefix); i++) {
            require(layerInputs[0], prefix + "." + i);
            // ALBERT repeats one layer
            layerInputs[0] = peer.forward(layers.get(i % layers.size()), null, layerInputs);
        }
        return stack.getFinalNorm() == null ? layerInputs[0] : peer.forward(stack.getFinalNorm(), null, layerInputs[0]);
    }

    private int count(String prefix) {
        return (int) IntStream.iterate(1, i -> peer.has(prefix + "." + i), i -> i + 1)
                .count();
    }

    /** The whole sequence in three steps with a cache. */
    private void pieces(TransformerStackBlock stack, Forward model) throws Exception {
        NDArray ids = peer.array("ids");
        NDList outputs = new NDList();
        try (KeyValueCache cache = new KeyValueCache(peer.manager())) {
            int[] ends = {5, 6, (int) ids.getShape().get(1)};
            for (int end : ends) {
                int start = cache.getLength();
                NDArray piece = ids.get(":, {}:{}", start, end);
                PairList<String, Object> params = cache.nextStep();
                if (stack.getInput().getPositionalEncoding() != null) { // OPT's does not see padding of earlier steps
                    NDArray positions = peer.manager().arange(start, end).reshape(1, -1);
                    params.add(
                            PositionalEncodingBlock.POSITIONS,
                            positions.repeat(0, ids.getShape().get(0)));
                }
                outputs.add(model.forward(piece, null, params));
            }
        }
        require(NDArrays.concat(outputs, 1), "y");
    }

    /** Chooses tokens with a cache. Their scores are compared first: tokens alone say little about an error. */
    private void generation(Forward model, String prefix, NDArray prompt, NDArray promptMask) throws Exception {
        NDArray expectedTokens = peer.array(prefix + ".tokens");
        NDArray ids = prompt;
        NDArray mask = promptMask;
        NDArray places = mask.cumSum(1).sub(1).mul(mask);
        NDList scores = new NDList();
        NDList tokens = new NDList();
        try (KeyValueCache cache = new KeyValueCache(peer.manager())) {
            for (int step = 0; step < expectedTokens.getShape().get(1); step++) {
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, places);
                NDArray next = model.forward(ids, mask, params).get(":, -1");
                scores.add(next);
                ids = next.argMax(1).toType(DataType.INT64, false).expandDims(1);
                tokens.add(ids);
                mask = ids.onesLike();
                places = places.max(new int[] {1}, true).add(1);
            }
        }
        require(NDArrays.stack(scores), prefix + ".scores");
        comparison.requireEqual(NDArrays.concat(tokens, 1), expectedTokens, 0);
    }

    /** Trains a loaded model as a user does, if the package did, and compares the losses. */
    private void training(TransformerStackBlock stack) throws Exception {
        if (!peer.has("train.losses")) {
            return;
        }
        NDArray ids = peer.array("train.ids");
        NDArray labels = peer.array("train.labels");
        Loss loss = new SoftmaxCrossEntropyLoss();
        stack.freezeParameters(false);
        String engine = peer.manager().getEngine().getEngineName();
        try (Model model = Model.newInstance("tuned", Device.cpu(), engine)) {
            model.setBlock(stack);
            TrainingConfig config = new DefaultTrainingConfig(loss)
                    .optDevices(new Device[] {Device.cpu()})
                    .optOptimizer(Optimizer.sgd()
                            .setLearningRateTracker(Tracker.fixed(0.01f))
                            .build());
            float[] losses = new float[6];
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(ids.getShape());
                for (int step = 0; step < losses.length; step++) {
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        NDArray scores = trainer.forward(new NDList(ids)).singletonOrThrow();
                        NDArray rows = scores.reshape(-1, scores.getShape().getLastDimension());
                        NDArray value = loss.evaluate(new NDList(labels.reshape(-1)), new NDList(rows));
                        losses[step] = value.getFloat();
                        collector.backward(value);
                    }
                    trainer.step();
                }
            }
            require(peer.manager().create(losses), "train.losses");
        }
    }

    private void require(NDArray result, String name) throws Exception {
        try {
            comparison.requireEqual(result, peer.array(name), ROUNDING + peer.length() * ROUNDING_OF_ANGLE);
        } catch (AssertionError e) {
            throw new AssertionError(name + ": " + e.getMessage(), e);
        }
    }

    private static PairList<String, Object> positions(NDArray positions) {
        return new PairList<>(Map.of(PositionalEncodingBlock.POSITIONS, positions));
    }
}
