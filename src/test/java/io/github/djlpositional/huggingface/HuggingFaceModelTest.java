package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TokenGenerator;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares with small models that {@code make_llama.py} computed from the papers; {@code peers} compares other types.
 */
class HuggingFaceModelTest {

    /**
     * A logit, below 16, is a sum of some 32 products after two layers, whose sums have at most 64 terms; in float32
     * each term is rounded by 2^-24 of at most 16: 100 roundings are 1e-4.
     */
    private static final float TOLERANCE = 1e-4f;

    /** Models whose frequencies depend on the length: each number is that of a decoder for its length. */
    private static final Set<String> DEPEND_ON_THE_LENGTH = Set.of("rope_dynamic", "rope_longrope");

    private static final Path CONFIGURATIONS = Path.of("src", "test", "resources", "configurations");

    static Stream<Arguments> models() throws IOException {
        return StoredModel.names().stream()
                .flatMap(model -> Stream.of(Arguments.of("PyTorch", model), Arguments.of("MXNet", model)));
    }

    private static NDArray logits(TransformerStackBlock decoder, NDManager manager, long... ids) {
        NDList batch = new NDList(manager.create(new long[][] {ids}));
        return decoder.forward(new ParameterStore(manager, false), batch, false).singletonOrThrow();
    }

    @ParameterizedTest
    @MethodSource("models")
    void logitsAndContinuationsAreThoseOfThePapers(String engine, String model) throws Exception {
        StoredModel stored = StoredModel.of(model);
        try (NDManager manager = TestEngine.of(engine).newCpuManager()) {
            TransformerStackBlock decoder =
                    HuggingFaceModel.load(StoredModel.folder(model), stored.prompt().length, manager);
            NDArray expected = manager.create(stored.logits()).expandDims(0);
            NDArray logits = logits(decoder, manager, stored.prompt());
            assertThat(logits.getShape()).isEqualTo(expected.getShape());
            assertThat(logits.sub(expected).abs().max().toFloatArray()[0]).isLessThan(TOLERANCE);

            long[] ids = stored.prompt();
            int count = stored.continuation().size();
            TransformerStackBlock longer =
                    HuggingFaceModel.load(StoredModel.folder(model), ids.length + count, manager);
            List<Long> cached = generated(longer, ids, count);
            if (!DEPEND_ON_THE_LENGTH.contains(model)) {
                assertThat(cached).isEqualTo(stored.continuation());
                return;
            }
            for (int i = 0; i < count; i++) {
                TransformerStackBlock ofLength = HuggingFaceModel.load(StoredModel.folder(model), ids.length, manager);
                assertThat(best(ofLength, manager, ids))
                        .isEqualTo(stored.continuation().get(i));
                ids = append(ids, stored.continuation().get(i));
            }
            // the cache changes no token
            ids = stored.prompt();
            for (long next : cached) {
                assertThat(best(longer, manager, ids)).isEqualTo(next);
                ids = append(ids, next);
            }
        }
    }

    /** Returns the token that follows, without a cache. */
    private static long best(TransformerStackBlock decoder, NDManager manager, long... ids) {
        return logits(decoder, manager, ids).get("0, -1").argMax().getLong();
    }

    /** Returns the best tokens that follow, with a cache. */
    private static List<Long> generated(TransformerStackBlock decoder, long[] prompt, int count) {
        TokenGenerator generator = TokenGenerator.builder().setDecoder(decoder).build();
        return Arrays.stream(generator.generate(prompt, count)).boxed().toList();
    }

    private static long[] append(long[] ids, long id) {
        long[] longer = Arrays.copyOf(ids, ids.length + 1);
        longer[ids.length] = id;
        return longer;
    }

    /** The stored configurations have only the keys of the attention; the other numbers are of the model cards. */
    @ParameterizedTest
    @CsvSource({
        "Llama-3.1-8B, 128256, 14336, false, 8030261248",
        "Llama-3.2-1B, 128256, 8192, true, 1235814400",
        "Mistral-7B-v0.3, 32768, 14336, false, 7248023552",
        "Qwen2.5-7B-Instruct-with-YaRN, 152064, 18944, false, 7615616512",
        "Qwen3-8B, 151936, 12288, false, 8190735360",
        "vicuna-7b-v1.5-16k, 32000, 11008, false, 6738415616"
    })
    void numberOfParametersIsThePublishedOne(
            String model, int vocabularySize, int hiddenSize, boolean isTied, long parameters) throws Exception {
        Map<String, Object> config = HuggingFaceConfig.values(CONFIGURATIONS.resolve(model + ".json"));
        config.put("vocab_size", vocabularySize);
        config.put("intermediate_size", hiddenSize);
        config.put("tie_word_embeddings", isTied);
        HuggingFaceConfig read = HuggingFaceConfig.of(config);
        TransformerStackBlock decoder = read.withHead(read.stack(1)).build();
        assertThat(count(decoder)).isEqualTo(parameters);
    }

    /**
     * The published models have a pooler of {@code absent} numbers too, or rows of the table of positions that no
     * position reads.
     */
    @ParameterizedTest
    @CsvSource({
        // model type, keys, published, absent
        "bert, vocab_size=30522, 109482240, 590592",
        "roberta, vocab_size=50265 max_position_embeddings=514 type_vocab_size=1, 124645632, 592128",
        "xlm-roberta, vocab_size=250002 max_position_embeddings=514 type_vocab_size=1, 278043648, 592128",
        "distilbert, vocab_size=30522, 66362880, 0",
        "mpnet, vocab_size=30527 max_position_embeddings=514, 109486464, 592128",
        "albert, vocab_size=30000 hidden_size=768 num_attention_heads=12 intermediate_size=3072, 11683584, 590592",
        "modernbert, vocab_size=50368, 149014272, -34560", // 45 norms of the library have biases, which are 0
        "nomic_bert, vocab_size=30528, 136731648, 0"
    })
    void numberOfParametersOfAnEncoderIsThePublishedOne(String type, String keys, long published, long absent) {
        Map<String, Object> config = new HashMap<>(Map.of("model_type", type));
        for (String key : keys.split(" ", -1)) {
            config.put(key.replaceFirst("=.*", ""), Integer.valueOf(key.replaceFirst(".*=", "")));
        }
        TransformerStackBlock encoder = HuggingFaceConfig.of(config).stack().build();
        assertThat(count(encoder)).isEqualTo(published - absent);
    }

    private static long count(TransformerStackBlock stack) {
        return stack.getParameters().values().stream()
                .distinct() // layers may share an encoding
                .mapToLong(parameter -> parameter.getShape().size())
                .sum();
    }
}
