package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Engines;
import io.github.djlpositional.examples.llama.LlamaDecoder;
import io.github.djlpositional.examples.llama.Sampling;
import io.github.djlpositional.examples.llama.StoredModel;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;

/** The code of docs/models.md for a whole decoder. */
class LoadLlamaTest {

    @EngineTest
    void generatesText(String engine) throws IOException {
        Path folder = StoredModel.folder("llama_3");
        StoredModel stored = StoredModel.of("llama_3");
        try (NDManager manager = Engines.newManager(engine)) {
            // tag::load[]
            // for texts of up to 2048 tokens; the manager owns the weights
            LlamaDecoder decoder = LlamaDecoder.load(folder, 2048, manager);
            try (HuggingFaceTokenizer tokenizer = HuggingFaceTokenizer.builder()
                    .optTokenizerPath(folder.resolve("tokenizer.json"))
                    .optTruncation(false) // by default, texts are cut to 512 tokens
                    .build()) {
                long[] prompt = tokenizer.encode("the cat sat on the mat").getIds();
                List<Long> ids = new ArrayList<>();
                ToIntFunction<float[]> choice = Sampling.greedy(); // or Sampling.of(temperature, topP, seed)
                decoder.generate(prompt, choice, id -> {
                    ids.add(id);
                    return ids.size() < 12 && !decoder.getEndTokens().contains(id);
                });
                String text = tokenizer.decode(ids.stream().mapToLong(id -> id).toArray());
                // end::load[]
                assertThat(text).isEqualTo(stored.continuedText());
                // tag::load[]
            }
            // end::load[]
        }
    }
}
