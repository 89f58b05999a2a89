package io.github.djlpositional.examples;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.ZooModel;
import ai.djl.translate.TranslateException;
import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

// tag::controller[]
@RestController
public class JudgeController implements AutoCloseable {

    private final ZooModel<String, Judgement> model;

    public JudgeController(@Value("${model}") Path file) {
        model = EncoderFile.load(file, Engine.getInstance(), Device.cpu());
    }

    @GetMapping("/judge")
    public Judgement judge(@RequestParam("sentence") String sentence) throws TranslateException {
        try (Predictor<String, Judgement> predictor = model.newPredictor()) { // for one thread
            return predictor.predict(sentence);
        }
    }

    @Override
    public void close() { // called by Spring
        model.close();
    }
}
// end::controller[]
