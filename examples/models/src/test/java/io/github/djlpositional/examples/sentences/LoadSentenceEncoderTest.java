package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.huggingface.translator.TextEmbeddingTranslatorFactory;
import ai.djl.inference.Predictor;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.huggingface.HuggingFaceBlockFactory;
import io.github.djlpositional.huggingface.StoredModel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoadSentenceEncoderTest {

    @TempDir
    private Path folder;

    private Run run(String engine, String... arguments) throws Exception {
        return Run.of(engine, folder, List.of(), LoadSentenceEncoder.class, arguments);
    }

    /** The similarities are those of sentence-transformers 6.2: 0.61272788, 0.02240985 and -0.02236015. */
    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void printsTheSimilaritiesOfSentenceTransformers(String engine) throws Exception {
        String expected = String.join(
                System.lineSeparator(),
                engine + " on cpu()",
                " 0.6127  a large cat | any big feline animal",
                " 0.0224  a large cat | the price of oil rose today",
                "-0.0224  any big feline animal | the price of oil rose today",
                "");
        assertThat(run(engine).success()).isEqualTo(expected);
        // the folder is like one that is downloaded
        assertThat(run(engine, "all-MiniLM-L6-v2").success()).isEqualTo(expected);
    }

    @Test
    void aPredictorGivesTheVectorOfASentence() throws Exception {
        MiniLmArtifact.unpack(folder);
        // tag::criteria[]
        Criteria<String, float[]> criteria = HuggingFaceBlockFactory.criteria(String.class, float[].class, folder)
                .optTranslatorFactory(new TextEmbeddingTranslatorFactory()) // reads tokenizer.json
                .optEngine("PyTorch") // or .optArgument("normalize", "false"), which MXNet cannot
                .build();
        try (ZooModel<String, float[]> model = criteria.loadModel();
                Predictor<String, float[]> predictor = model.newPredictor()) {
            float[] vector = predictor.predict("a large cat"); // of length 1
            // end::criteria[]
            try (SentenceEncoder encoder = SentenceEncoder.load(Engine.getEngine("PyTorch"), Device.cpu())) {
                float[] expected = encoder.encode(List.of("a large cat"))[0];
                assertThat(vector).containsExactly(expected, within(1e-5f)); // of numbers below 1
            }
            // tag::criteria[]
        }
        // end::criteria[]
    }

    @Test
    void saysWhichFileIsMissingOrWrong() throws Exception {
        assertThat(run("PyTorch", "none").error()).contains("'none'", "config.json", "download");
        Files.writeString(folder.resolve("tokenizer.json"), "{}");
        Files.copy(StoredModel.folder("qwen_2").resolve("config.json"), folder.resolve("config.json"));
        Path weights = Files.writeString(folder.resolve("model.safetensors"), "nothing");
        assertThat(run("PyTorch", ".").error()).contains("'.'", "model.safetensors");
        Files.delete(weights);
        Files.copy(StoredModel.folder("qwen_2").resolve("model.safetensors"), weights);
        Files.writeString(folder.resolve("config.json"), "{\"model_type\": \"bert\", \"vocab_size\": 30522}");
        assertThat(run("PyTorch", ".").error()).contains("embeddings.word_embeddings.weight");
    }

    @Test
    void saysThatTheFolderCannotBeWritten() throws Exception {
        Files.createFile(folder.resolve("all-MiniLM-L6-v2"));
        assertThat(run("PyTorch").error()).contains("'all-MiniLM-L6-v2'", "cannot be written");
    }
}
