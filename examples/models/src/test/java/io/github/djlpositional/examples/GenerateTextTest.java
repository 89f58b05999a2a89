package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.huggingface.HuggingFaceConfig;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.StoredModel;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.Sampling;
import io.github.djlpositional.transformer.TextGenerator;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The output of {@code generate} and its exit status. */
class GenerateTextTest {

    @TempDir
    private Path folder;

    private static ProgramRun generate(Path model, String options, String prompt) {
        return ProgramRun.of(Models.commandLine(), "generate " + options + " --model", model, prompt);
    }

    /** The generated text of a model with its prompt, without the line of times. */
    private static String text(Path model, String options) throws IOException {
        String out = generate(model, options, "the cat sat on the mat").success();
        return out.substring(0, out.lastIndexOf(System.lineSeparator().repeat(2)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    void continuesTheTextLikeThePapers(String engine) throws IOException {
        TestEngine.of(engine).assumeAvailable();
        for (String model : new String[] {"llama_2", "llama_3"}) {
            StoredModel stored = StoredModel.of(model);
            String out = generate(StoredModel.folder(model), "--tokens 12 --engine " + engine, stored.text())
                    .success();
            assertThat(out)
                    .startsWith(stored.text() + stored.continuedText() + System.lineSeparator())
                    .containsPattern(
                            "\n12 tokens in \\d+\\.\\d\\d s, \\d+\\.\\d tokens per second; the first after \\d+\\.\\d\\d s\\R$");
        }
    }

    @Test
    void sameSeedGivesTheSameText() throws IOException {
        Path model = StoredModel.folder("llama_3");
        String text = text(model, "--tokens 20 --temperature 1 --top-p 0.9 --seed 7");
        assertThat(text(model, "--tokens 20 --temperature 1 --top-p 0.9 --seed 7"))
                .isEqualTo(text);
        assertThat(text(model, "--tokens 20 --temperature 1 --top-p 0.9 --seed 8"))
                .isNotEqualTo(text);
        // a nucleus that only the best token is in
        assertThat(text(model, "--tokens 12 --temperature 1 --top-p 0.001")).isEqualTo(text(model, "--tokens 12"));
        assertThat(text(model, "--tokens 12 --temperature 1 --top-k 1")).isEqualTo(text(model, "--tokens 12"));
    }

    @Test
    void endTokenEndsTheText() throws IOException {
        StoredModel stored = StoredModel.of("llama_2");
        Path model = StoredModel.copy("llama_2", folder);
        long third = stored.continuation().get(2);
        StoredModel.edit(model.resolve("config.json"), "\"eos_token_id\": 2", "\"eos_token_id\": [2, " + third + "]");
        int length = stored.continuation().indexOf(third);
        assertThat(generate(model, "--tokens 12", stored.text()).success()).contains("\n" + length + " tokens in ");
        assertThat(stored.text() + stored.continuedText())
                .startsWith(text(model, "--tokens 12"))
                .isNotEqualTo(text(model, "--tokens 12"));
    }

    @Test
    void endTokenAtOnceIsSaid() throws IOException {
        StoredModel stored = StoredModel.of("llama_2");
        Path model = StoredModel.copy("llama_2", folder);
        String first = "\"eos_token_id\": " + stored.continuation().get(0);
        StoredModel.edit(model.resolve("config.json"), "\"eos_token_id\": 2", first);
        assertThat(generate(model, "--tokens 12", stored.text()).success())
                .startsWith(stored.text() + System.lineSeparator())
                .contains("ends the text");
    }

    /** The text is that of Hugging Face's transformers 5.23, {@code generate(repetition_penalty=1.3)}. */
    @Test
    void repetitionPenaltyChangesTheText() throws IOException {
        assertThat(text(StoredModel.folder("llama_3"), "--tokens 12 --repetition-penalty 1.3"))
                .isEqualTo("the cat sat on the mat sataa theii oneeee");
    }

    @Test
    void codeOfTheGuideGeneratesTheText() throws Exception {
        Path folder = StoredModel.folder("llama_3");
        try (NDManager manager = TestEngine.PYTORCH.newCpuManager()) {
            // tag::load[]
            // for texts of up to 2048 tokens; the manager owns the weights
            HuggingFaceConfig config = HuggingFaceConfig.read(folder);
            TransformerStackBlock decoder = HuggingFaceModel.load(folder, 2048, manager);
            try (HuggingFaceTokenizer tokenizer = HuggingFaceTokenizer.builder()
                    .optTokenizerPath(folder.resolve("tokenizer.json"))
                    .optTruncation(false) // by default, texts are cut to 512 tokens
                    .build()) {
                TokenGenerator tokens = TokenGenerator.builder()
                        .setDecoder(decoder)
                        .optSampling(Sampling.greedy()) // or a temperature: Sampling.builder().optTemperature(0.8)
                        .optEndTokens(config.getEndTokens())
                        .build();
                TextGenerator generator = TextGenerator.of(
                        tokens, text -> tokenizer.encode(text).getIds(), ids -> tokenizer.decode(ids, true));
                String text = generator.generate("the cat sat on the mat", 12, System.out::print); // as it is generated
                // end::load[]
                assertThat(text).isEqualTo(StoredModel.of("llama_3").continuedText());
                // tag::load[]
            }
            // end::load[]
        }
    }

    @Test
    void textsThatAreTooLongAndFoldersWithoutATokenizerEndWithOneLine() throws IOException {
        Path model = StoredModel.folder("llama_2");
        assertThat(generate(model, "--tokens 251", "the cat sat on the mat").error(1))
                .contains("a prompt of 7 tokens with --tokens 251: expected at most 256");
        // not cut to 512 tokens
        assertThat(generate(model, "--tokens 1", "the" + " cat".repeat(600)).error(1))
                .contains("a prompt of 602 tokens");
        assertThat(generate(folder, "--tokens 1", "the").error(1)).contains("'" + folder + "' has no file");
        Path tokenizer = StoredModel.copy("qwen_2", folder).resolve("tokenizer.json");
        Files.writeString(tokenizer, "{}");
        assertThat(generate(folder, "--tokens 1", "the").error(1)).contains("tokenizer.json' cannot be read (");
        Files.delete(tokenizer);
        Files.copy(StoredModel.folder("llama_3").resolve("tokenizer.json"), tokenizer);
        assertThat(generate(folder, "--tokens 1", "the").error(1))
                .contains("tokenizer.json", "vocab_size of config.json, 64");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--tokens 0",
                "--temperature -1",
                "--temperature NaN",
                "--temperature 1 --top-p NaN",
                "--temperature 1 --top-p 0",
                "--temperature 1 --top-p 1.5",
                "--top-p 0.9",
                "--top-k 3",
                "--temperature 1 --top-k 0",
                "--repetition-penalty 0",
                "--repetition-penalty NaN",
                "--seed many"
            })
    void badOptionsEndWithOneLine(String options) {
        assertThat(generate(StoredModel.folder("llama_3"), options, "the").error(2))
                .endsWith("(--help shows all options)");
    }
}
