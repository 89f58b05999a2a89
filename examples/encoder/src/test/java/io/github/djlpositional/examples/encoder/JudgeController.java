package io.github.djlpositional.examples.encoder;

import ai.djl.ModelException;
import ai.djl.inference.Predictor;
import ai.djl.modality.Classifications;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import io.github.djlpositional.examples.encoder.EncoderExample.SentenceTranslator;
import java.io.IOException;
import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

// tag::controller[]
@RestController
public class JudgeController implements AutoCloseable {

    private final ZooModel<String, Classifications> model;

    public JudgeController(@Value("${model}") Path folder) throws IOException, ModelException {
        model = Criteria.builder()
                .setTypes(String.class, Classifications.class)
                .optModelPath(folder) // where EncoderExample has saved the model
                .optModelName("encoder")
                .optTranslator(new SentenceTranslator())
                .build()
                .loadModel();
    }

    @GetMapping("/judge")
    public double judge(@RequestParam("sentence") String sentence) throws TranslateException {
        try (Predictor<String, Classifications> predictor = model.newPredictor()) { // for one thread
            return predictor.predict(sentence).get("in order").getProbability();
        }
    }

    @Override
    public void close() { // called by Spring
        model.close();
    }
}
// end::controller[]
