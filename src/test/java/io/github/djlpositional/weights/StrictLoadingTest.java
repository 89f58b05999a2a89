package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static io.github.djlpositional.weights.Weights.assertUnchanged;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import java.util.List;

/** What a loader says about tensors that nothing uses and parameters that get none. */
class StrictLoadingTest {

    private static final String BERT = "bert.embeddings.";

    private final LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
            .setEmbeddingSize(6)
            .optMaxSequenceLength(8)
            .build();
    private final InputEmbeddingBlock input = InputEmbeddingBlock.builder()
            .setVocabularySize(11)
            .setEmbeddingSize(6)
            .optPositionalEncoding(positions)
            .build();

    private InputEmbeddingBlock initialized(NDManager manager) {
        input.setInitializer((owner, shape, type) -> owner.full(shape, 7, type), parameter -> true);
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        return input;
    }

    private WeightLoader tokens() throws Exception {
        return WeightLoader.of(Weights.open("bert.safetensors"))
                .table(BERT + "word_embeddings.weight", input.getTokenTable());
    }

    private WeightLoader tables() throws Exception {
        return tokens().table(BERT + "position_embeddings.weight", positions.getTable());
    }

    @EngineTest
    void tensorsThatNothingUsesAreNamed(NDManager manager) throws Exception {
        initialized(manager);
        String[] left = {BERT + "position_ids", BERT + "LayerNorm.weight", BERT + "token_type_embeddings.weight"};
        assertRejected(() -> tables().load(input), left);
        assertRejected(() -> tables().load(), "bert.safetensors", "tensors unused (3: [\"", "allowUnused");
        assertRejected(() -> tables().allowUnused("position_ids").load(), left);
        assertUnchanged(input.getTokenTable(), positions.getTable());
        tables().allowUnused(left).load(input);
        assertThat(input.getTokenTable().getArray().toFloatArray()).doesNotContain(7);
    }

    @EngineTest
    void aStarStandsForAnyText(NDManager manager) throws Exception {
        initialized(manager);
        tables().allowUnused("*.position_ids", "*.LayerNorm.*")
                .allowUnused(BERT + "token_*")
                .load(input);
        tables().allowUnused("*").load(input);
        assertRejected(() -> tables().allowUnused("*position_ids", "bert?.*").load(input), "LayerNorm.weight");
    }

    @EngineTest
    void aPatternThatMatchesNothingIsNamedIfLoadingIsRejected(NDManager manager) throws Exception {
        initialized(manager);
        assertRejected(
                () -> tables().allowUnused("*.LayerNorm.*", "*.positionIds", "bert.poler.*")
                        .allowMissing("*bta")
                        .load(input),
                "\"" + BERT + "position_ids\"",
                "allowUnused has [\"*.positionIds\", \"bert.poler.*\"]",
                "allowMissing has [\"*bta\"]");
        assertUnchanged(input.getTokenTable(), positions.getTable());
        // where all is loaded, a pattern may be for other files
        tables().allowUnused("*", "bert.pooler.*").allowMissing("*beta").load(input);
    }

    @EngineTest
    void patternsThatMatchAreNotReported(NDManager manager) throws Exception {
        initialized(manager);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> tokens().allowUnused("*position_ids", "*word_*")
                        .allowMissing("*embedding", "*encodings")
                        .load(input))
                .withMessageNotContainingAny("allowUnused has", "allowMissing has");
        // without a model, there are no parameters that a pattern could match
        assertThatIllegalArgumentException()
                .isThrownBy(() -> tables().allowMissing("*bta").load())
                .withMessageNotContaining("allowMissing has");
    }

    @EngineTest
    void parametersThatGetNoTensorAreNamed(NDManager manager) throws Exception {
        initialized(manager);
        String missing = input.getParameters().keys().stream()
                .filter(name -> name.endsWith("encodings"))
                .findFirst()
                .orElseThrow();
        assertRejected(() -> tokens().allowUnused("*").load(input), "(1: [\"" + missing + "\"])", "allowMissing");
        assertUnchanged(input.getTokenTable());
        tokens().allowUnused("*").allowMissing(missing).load(input);
        tokens().allowUnused("*").allowMissing("*encodings").load(input);
        assertUnchanged(positions.getTable());
        // both directions in one message
        assertRejected(
                () -> tokens().load(input), missing, "tensors unused (4: [\"", BERT + "position_embeddings.weight");
    }

    @EngineTest
    void aParameterOfAnotherModelIsRejected(NDManager manager) throws Exception {
        initialized(manager);
        assertRejected(
                () -> tables().allowUnused("*").load(positions),
                "\"" + BERT + "word_embeddings.weight\"",
                "parameter \"embedding\"",
                "parts");
        assertUnchanged(input.getTokenTable(), positions.getTable());
    }

    /** As of a checkpoint in several files: a loader of all of them is strict about all of them. */
    @EngineTest
    void severalFilesOfOneModel(NDManager manager) throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        WeightFile first = Weights.open("gpt2.safetensors");
        WeightFile second = Weights.open("linear.safetensors");
        List<WeightFile> both = List.of(first, second);
        assertRejected(
                () -> WeightLoader.ofAll(both).module("", linear).load(linear),
                "gpt2.safetensors, ",
                "linear.safetensors",
                "\"wpe.weight\", \"wte.weight\"");
        assertRejected(() -> WeightLoader.ofAll(both).module("x.", linear), "4 tensors", "gpt2.safetensors, ");
        assertRejected(() -> WeightLoader.ofAll(List.of(first, second, first)), "\"wpe.weight\", \"wte.weight\"");
        assertRejected(() -> WeightLoader.ofAll(List.of()), "[]");
        initialized(manager);
        WeightLoader.ofAll(both)
                .table("wte.weight", input.getTokenTable())
                .table("wpe.weight", positions.getTable())
                .module("", linear)
                .load(input, linear);
        NDArray weight = second.read(manager, "weight");
        assertThat(linear.getParameters().get("weight").getArray().toFloatArray())
                .isEqualTo(weight.toFloatArray());
    }

    @EngineTest
    void oneByOneLoadsAllAndKeepsNothing(NDManager manager) throws Exception {
        Parameter words = Weights.parameter(manager, 11, 6);
        Parameter rows = Weights.parameter(manager, 10, 6);
        WeightLoader loader = WeightLoader.of(Weights.open("roberta.safetensors"))
                .table("roberta.embeddings.word_embeddings.weight", words)
                .oneByOne();
        assertRejected(loader::load, "position_embeddings");
        assertUnchanged(words);
        loader.table("roberta.embeddings.position_embeddings.weight", rows);
        int open = manager.getManagedArrays().size();
        loader.load();
        for (Parameter parameter : new Parameter[] {words, rows}) {
            assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
        }
        assertThat(manager.getManagedArrays()).hasSize(open);
    }
}
