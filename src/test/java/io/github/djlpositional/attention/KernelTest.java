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
        if (!input.name().startsWith("STEP")) {
            return kernel(manager, block, input, null, new PairList<>(), 0, x);
        }
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> first = cache.nextStep();
            addPositions(first, input, x, 0);
            Forward.infer(manager, block, first, x);
            NDArray next = input == Input.STEP_OF_TWO ? x.get(":, :2") : x.get(":, :1");
            return kernel(manager, block, input, cache, cache.nextStep(), 5, next);
        }
    }

    private static void addPositions(PairList<String, Object> params, Input input, NDArray x, int first) {
        if (input.name().endsWith("POSITIONS")) {
            long end = first + x.getShape().get(1);
            NDArray positions = x.getManager().arange(first, (float) end, 1, DataType.INT32);
            params.add(PositionalEncodingBlock.POSITIONS, positions);
        }
    }

    private static Kernel.Name kernel(
            NDManager manager,
            MultiHeadAttentionBlock block,
            Input input,
            KeyValueCache cache,
            PairList<String, Object> params,
            int first,
            NDArray x) {
        addPositions(params, input, x, first);
        NDList inputs = new NDList(x);
        switch (input) {
            case PROMPT_WITH_PADDING, STEP_WITH_PADDING ->
                inputs.add(manager.ones(new Shape(1, x.getShape().get(1))));
            case PROMPT_WITH_MASK_OF_HEADS -> inputs.add(manager.zeros(new Shape(1, HEADS, 5, 5)));
            default -> {}
        }
        ParameterStore store = new ParameterStore(manager, false);
        try (AttentionForward forward =
                new AttentionForward(block, AttentionInputs.of(inputs, SIZE), store, input == Input.TRAINING, params)) {
            forward.result(cache);
            return forward.kernel();
        }
    }
}
