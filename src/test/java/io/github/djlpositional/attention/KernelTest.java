package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.relative.EncodingType;
import java.util.List;
import java.util.Map;

/** Each forward is computed in the fastest way that has what it asks for; MXNet has the plain one only. */
class KernelTest {

    /** What a forward of a prompt of 5 tokens, or of a step after it, is given. */
    private enum Input {
        PROMPT,
        PROMPT_WITH_PADDING,
        PROMPT_WITH_MASK_OF_HEADS,
        PROMPT_WITH_POSITIONS,
        TRAINING,
        STEP,
        STEP_WITH_PADDING,
        STEP_WITH_POSITIONS,
        STEP_OF_TWO
    }

    private static final CaseFile CASES = CaseFile.read("scenarios/kernels.txt");

    static List<String> names() {
        return CASES.rows();
    }

    @EngineTest
    void isTheFastestForItsForward(NDManager manager, String row) {
        String[] cells = row.split(" +[|] ", -1);
        boolean isPyTorch = manager.getEngine().getEngineName().equals("PyTorch");
        Input input = Input.valueOf(cells[2]);
        assumeTrue(isPyTorch || input != Input.TRAINING);
        BlockBuilder<MultiHeadAttentionBlock, ?> builder =
                EncodingType.valueOf(cells[0]).attention(HEADS);
        MultiHeadAttentionBlock block = filled(
                manager,
                builder.setAll(JsonUtils.GSON.fromJson(cells[1], Map.class)).build(),
                DataType.FLOAT32);
        block.freezeParameters(true);
        assertThat(kernel(manager, block, input)).isEqualTo(Kernel.Name.valueOf(isPyTorch ? cells[3] : "PLAIN"));
    }

    private static Kernel.Name kernel(NDManager manager, MultiHeadAttentionBlock block, Input input) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 5, SIZE);
        boolean isStep = input.name().startsWith("STEP");
        PairList<String, Object> params = new PairList<>();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            if (isStep) {
                Forward.infer(manager, block, withPositions(cache.nextStep(), input, x, 0), x);
                params = cache.nextStep();
                x = x.get(input == Input.STEP_OF_TWO ? ":, :2" : ":, :1");
            }
            NDList inputs = new NDList(x);
            switch (input) {
                case PROMPT_WITH_PADDING, STEP_WITH_PADDING -> inputs.add(manager.ones(new Shape(1, x.size(1))));
                case PROMPT_WITH_MASK_OF_HEADS -> inputs.add(manager.zeros(new Shape(1, HEADS, 5, 5)));
                default -> {}
            }
            try (AttentionForward forward = new AttentionForward(
                    block,
                    AttentionInputs.of(inputs, SIZE),
                    new ParameterStore(manager, false),
                    input == Input.TRAINING,
                    withPositions(params, input, x, isStep ? 5 : 0))) {
                forward.result(isStep ? cache : null);
                return forward.kernel();
            }
        }
    }

    private static PairList<String, Object> withPositions(
            PairList<String, Object> params, Input input, NDArray x, int first) {
        if (input.name().endsWith("POSITIONS")) {
            NDArray positions = x.getManager().arange(first, (float) first + x.size(1), 1, DataType.INT32);
            params.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        return params;
    }
}
