package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.NoopTranslator;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** DJL's Criteria load the folder of a model of text and of one of pictures. */
class HuggingFaceBlockFactoryTest extends OnEachEngine {

    private static final Map<String, Object> LLAMA = Map.of(
            "model_type", "llama",
            "vocab_size", 50,
            "hidden_size", 8,
            "intermediate_size", 16,
            "num_hidden_layers", 2,
            "num_attention_heads", 2);

    private static final Map<String, Object> VIT = Map.of(
            "model_type", "vit",
            "hidden_size", 8,
            "intermediate_size", 16,
            "num_hidden_layers", 2,
            "num_attention_heads", 2,
            "image_size", 8,
            "patch_size", 4);

    private Criteria.Builder<NDList, NDList> criteria(Path folder) {
        return HuggingFaceBlockFactory.criteria(NDList.class, NDList.class, folder)
                .optEngine(engine.engineName())
                .optTranslator(new NoopTranslator(null));
    }

    private void requirePredicted(Criteria.Builder<NDList, NDList> criteria, NDArray input, NDArray expected)
            throws Exception {
        try (ZooModel<NDList, NDList> model = criteria.build().loadModel();
                Predictor<NDList, NDList> predictor = model.newPredictor()) {
            assertThat(predictor.predict(new NDList(input)).head()).isEqualTo(expected);
        }
    }

    @Test
    void givesAPredictorAModelOfText(@TempDir Path temporary) throws Exception {
        Path folder = RandomFolder.write(temporary, LLAMA, manager);
        NDArray ids = manager.create(new long[][] {{3, 1, 4}});
        NDArray scores = Forward.infer(manager, HuggingFaceModel.load(folder, manager), ids);
        requirePredicted(criteria(folder), ids, scores);
        requirePredicted(criteria(folder).optArgument("length", 16), ids, scores);
        assertThatThrownBy(
                        () -> criteria(folder).optArgument("length", 0).build().loadModel())
                .hasStackTraceContaining("length 0");
    }

    @Test
    void givesAPredictorAModelOfPictures(@TempDir Path temporary) throws Exception {
        Path folder = RandomFolder.write(temporary, VIT, manager);
        NDArray pictures = manager.ones(new Shape(2, 3, 8, 8));
        NDArray vectors = Forward.infer(manager, HuggingFaceModel.loadVision(folder, manager), pictures);
        requirePredicted(criteria(folder), pictures, vectors);
    }
}
