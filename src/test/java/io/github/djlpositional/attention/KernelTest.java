package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.relative.EncodingType;
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

    private static final String CASES = """
            NONE   | {}                                          | PROMPT                    | MASKED
            NONE   | {causal: true}                              | PROMPT                    | CAUSAL
            NONE   | {causal: true}                              | PROMPT_WITH_PADDING       | MASKED
            NONE   | {causal: true}                              | PROMPT_WITH_MASK_OF_HEADS | MASKED
            NONE   | {causal: true}                              | TRAINING                  | CAUSAL
            NONE   | {causal: true}                              | STEP                      | STEP
            NONE   | {causal: true}                              | STEP_WITH_PADDING         | STEP
            NONE   | {causal: true}                              | STEP_OF_TWO               | MASKED
            NONE   | {causal: true, window: 2}                   | PROMPT                    | MASKED
            NONE   | {causal: true, window: 2}                   | STEP                      | STEP
            NONE   | {causal: true, chunkSize: 2}                | STEP                      | STEP
            NONE   | {causal: true, chunkSize: 2}                | STEP_WITH_POSITIONS       | PLAIN
            NONE   | {causal: true, keyValueHeadCount: 1}        | PROMPT                    | CAUSAL
            NONE   | {causal: true, keyValueHeadCount: 1}        | PROMPT_WITH_MASK_OF_HEADS | PLAIN
            NONE   | {causal: true, keyValueHeadCount: 1}        | STEP                      | STEP
            NONE   | {causal: true, fusedKernel: false}          | PROMPT                    | PLAIN
            NONE   | {causal: true, fusedKernel: false}          | STEP                      | PLAIN
            NONE   | {causal: true, scoreCap: 5}                 | PROMPT                    | PLAIN
            NONE   | {causal: true, scoreCap: 5}                 | STEP                      | PLAIN
            NONE   | {causal: true, sinks: true}                 | STEP                      | PLAIN
            NONE   | {causal: true, dropoutRate: 0.5}            | PROMPT                    | CAUSAL
            NONE   | {causal: true, dropoutRate: 0.5}            | TRAINING                  | PLAIN
            ROTARY | {causal: true}                              | PROMPT_WITH_POSITIONS     | CAUSAL
            ROTARY | {causal: true}                              | STEP_WITH_POSITIONS       | STEP
            ALIBI  | {}                                          | PROMPT                    | BY_DISTANCE
            ALIBI  | {causal: true}                              | PROMPT                    | BY_DISTANCE
            ALIBI  | {causal: true, window: 2}                   | PROMPT                    | BY_DISTANCE
            ALIBI  | {causal: true, chunkSize: 2}                | PROMPT                    | MASKED
            ALIBI  | {causal: true, keyValueHeadCount: 1}        | PROMPT                    | PLAIN
            ALIBI  | {causal: true}                              | PROMPT_WITH_PADDING       | MASKED
            ALIBI  | {causal: true}                              | PROMPT_WITH_POSITIONS     | MASKED
            ALIBI  | {causal: true}                              | TRAINING                  | BY_DISTANCE
            ALIBI  | {causal: true}                              | STEP                      | STEP
            ALIBI  | {causal: true}                              | STEP_WITH_POSITIONS       | PLAIN
            KERPLE | {causal: true}                              | PROMPT                    | BY_DISTANCE
            KERPLE | {causal: true}                              | TRAINING                  | PLAIN
            FIRE   | {causal: true}                              | PROMPT                    | MASKED
            FIRE   | {causal: true}                              | STEP                      | PLAIN
            SHAW   | {causal: true}                              | PROMPT                    | PLAIN
            WINDOW | {}                                          | PROMPT                    | MASKED
            """;

    @EngineTest
    void isTheFastestForItsForward(NDManager manager) {
        CASES.lines().forEach(line -> {
            String[] cells = line.split("\\|", -1);
            Map<?, ?> settings = JsonUtils.GSON.fromJson(cells[1], Map.class);
            EncodingType type = EncodingType.valueOf(cells[0].strip());
            Input input = Input.valueOf(cells[2].strip());
            boolean isPyTorch = manager.getEngine().getEngineName().equals("PyTorch");
            Kernel.Name expected = isPyTorch ? Kernel.Name.valueOf(cells[3].strip()) : Kernel.Name.PLAIN;
            BlockBuilder<MultiHeadAttentionBlock, ?> builder = type.attention(HEADS);
            MultiHeadAttentionBlock block =
                    filled(manager, builder.setAll(settings).build(), DataType.FLOAT32);
            block.freezeParameters(true);
            if (isPyTorch || input != Input.TRAINING) {
                assertThat(kernel(manager, block, input)).as(line).isEqualTo(expected);
            }
        });
    }

    private static Kernel.Name kernel(NDManager manager, MultiHeadAttentionBlock block, Input input) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 5, SIZE);
        if (!input.name().startsWith("STEP")) {
            NDArray mask = switch (input) {
                case PROMPT_WITH_PADDING -> manager.ones(new Shape(1, 5));
                case PROMPT_WITH_MASK_OF_HEADS -> manager.zeros(new Shape(1, HEADS, 5, 5));
                default -> null;
            };
            PairList<String, Object> params = new PairList<>();
            if (input == Input.PROMPT_WITH_POSITIONS) {
                params = positions(manager, 0, 5);
            }
            return kernel(manager, block, null, params, input == Input.TRAINING, x, mask);
        }
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> first = cache.nextStep();
            if (input == Input.STEP_WITH_POSITIONS) {
                first.addAll(positions(manager, 0, 5));
            }
            Forward.infer(manager, block, first, x);
            PairList<String, Object> next = cache.nextStep();
            if (input == Input.STEP_WITH_POSITIONS) {
                next.addAll(positions(manager, 5, 1));
            }
            NDArray some = input == Input.STEP_OF_TWO ? x.get(":, :2") : x.get(":, :1");
            NDArray mask = input == Input.STEP_WITH_PADDING ? manager.ones(new Shape(1, 1)) : null;
            return kernel(manager, block, cache, next, false, some, mask);
        }
    }

    private static PairList<String, Object> positions(NDManager manager, int first, int count) {
        return Forward.params(
                PositionalEncodingBlock.POSITIONS, manager.arange(first, first + count, 1, DataType.INT32));
    }

    private static Kernel.Name kernel(
            NDManager manager,
            MultiHeadAttentionBlock block,
            KeyValueCache cache,
            PairList<String, Object> params,
            boolean training,
            NDArray x,
            NDArray mask) {
        AttentionInputs inputs = AttentionInputs.of(mask == null ? new NDList(x) : new NDList(x, mask), SIZE);
        try (AttentionForward forward =
                new AttentionForward(block, inputs, new ParameterStore(manager, false), training, params)) {
            forward.result(cache);
            return forward.kernel();
        }
    }
}
