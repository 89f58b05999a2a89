package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.XavierInitializer;
import ai.djl.training.initializer.XavierInitializer.FactorType;
import ai.djl.training.initializer.XavierInitializer.RandomType;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * The code of docs/coming-from-pytorch.md, with the model of {@code src/test/python/language_model.py} that
 * {@code make_layers.py} wrote: D = 8, two heads, 11 tokens.
 */
class PortingCodeTest extends OnEachEngine {

    private static final Path PATH = Path.of("src/test/resources/layers/language_model.safetensors");
    private static final Path OUTPUT = PATH.resolveSibling("language_model_output.safetensors");

    // tag::model[]
    /** Token ids (B, T) and a mask (B, T), 1 for a token, to scores (B, T, 11). */
    static final class LanguageModel extends AbstractBlock {

        final TransformerStackBlock encoder = addChildBlock(
                "encoder",
                TransformerStackBlock.builder()
                        .optInput(InputEmbeddingBlock.builder()
                                .setVocabularySize(11)
                                .setEmbeddingSize(8)
                                .optScaleEmbedding(true) // times √D; sinusoids are the default
                                .build())
                        .setLayers(2, LanguageModel::layer)
                        .build());
        final Linear linear =
                addChildBlock("linear", Linear.builder().setUnits(11).build());

        private static TransformerLayerBlock.Builder layer() {
            return TransformerLayerBlock.builder()
                    .setAttention(MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(8)
                            .setHeadCount(2)
                            .optCausal(true) // instead of src_mask
                            .build())
                    .optFeedForward(FeedForwardBlock.builder()
                            .setEmbeddingSize(8)
                            .setHiddenSize(16)
                            .build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            return linear.forward(store, encoder.forward(store, inputs, training, params), training);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            encoder.initialize(manager, dataType, inputShapes);
            linear.initialize(manager, dataType, encoder.getOutputShapes(inputShapes));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0].add(11)};
        }
    }
    // end::model[]

    // tag::weights[]
    static void load(LanguageModel model, Path path) throws Exception {
        WeightLoader.of(WeightFile.open(path))
                .table("embedding.weight", model.encoder.getInput().getTokenTable())
                .module("transformer_encoder.", model.encoder)
                .module("linear.", model.linear)
                .allowUnused("pos_encoder.pe") // the sinusoids, which are computed here
                .load(model); // every tensor into every parameter, or nothing
    }
    // end::weights[]

    @Test
    void equalsTheModelInPython() throws Exception {
        // tag::running[]
        LanguageModel model = new LanguageModel();
        model.initialize(manager, DataType.FLOAT32, new Shape(1, 5), new Shape(1, 5));
        load(model, PATH);
        NDArray ids = manager.create(new long[][] {{3, 1, 4, 1, 5}, {9, 2, 6, 0, 0}});
        NDArray isToken = ids.neq(0); // torch's src_key_padding_mask is ids == 0
        NDArray scores = model.forward(new ParameterStore(manager, false), new NDList(ids, isToken), false)
                .singletonOrThrow(); // (2, 5, 11)
        // end::running[]
        NDArray keyPaddingMask = ids.eq(0);
        // tag::masks[]
        NDArray isVisible = keyPaddingMask.logicalNot(); // torch: true hides a key; here: true is a token
        // end::masks[]
        assertThat(isVisible).isEqualTo(isToken);
        NDArray expected = WeightFile.open(OUTPUT).read(manager, "output");
        requireClose(scores, doubles(expected), 1e-5);
    }

    @Test
    void thePageShowsTheModelInPython() throws Exception {
        String page = Files.readString(Path.of("docs/coming-from-pytorch.md"));
        assertThat(Files.readString(Path.of("src/test/python/language_model.py")))
                .contains(page.split("```python\n", -1)[1].split("```", -1)[0]);
    }

    @Test
    void initialValues() {
        TransformerLayerBlock layer = LanguageModel.layer().build();
        // tag::initial[]
        // U(-1/√in, 1/√in) for every matrix, as in torch's nn.Linear
        layer.setInitializer(new XavierInitializer(RandomType.UNIFORM, FactorType.IN, 1), Parameter.Type.WEIGHT);
        // end::initial[]
        layer.initialize(manager, DataType.FLOAT32, new Shape(1, 5, 8));
        NDArray weight = layer.getFeedForward()
                .getHiddenProjection()
                .getParameters()
                .get("weight")
                .getArray();
        assertThat(weight.toFloatArray()).doesNotHaveDuplicates();
        assertThat(weight.abs().max().getFloat()).isBetween(0.3f, (float) Math.sqrt(1 / 8.0));
        Block norm = layer.getAttentionNorm();
        assertThat(norm.getParameters().get("gamma").getArray().toFloatArray()).containsOnly(1f);
    }
}
