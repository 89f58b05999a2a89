package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDResource;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.transformer.ScaledDotProductAttentionBlock;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Supplier;

/** Self-attentions of this library, and DJL's. */
final class Attentions {

    static final Operation ATTEND = inference("ATTEND", "", setting -> own(setting, true));
    static final Operation ATTEND_NOT_FUSED =
            inference("ATTEND_NOT_FUSED", "not fused", setting -> own(setting, false));
    static final Operation ATTEND_DJL = inference("ATTEND_DJL", "DJL", setting -> djl(setting, () -> null));
    static final Operation ATTEND_DJL_MASK =
            inference("ATTEND_DJL_MASK", "DJL with mask", setting -> djl(setting, Masks.ofDjl(setting, false)));

    static final Operation ATTEND_AT_TIMES =
            inference("ATTEND_AT_TIMES", "", setting -> own(setting, true).at(times(setting)));
    static final Operation ATTEND_AT_INDICES =
            inference("ATTEND_AT_INDICES", "no positions passed", setting -> own(setting, true));

    static final Operation ATTEND_IN_ONE_CALL = new Operation("ATTEND_IN_ONE_CALL", "one call", Attentions::inOneCall);

    static final Operation TRAIN_ATTENTION = training("TRAIN_ATTENTION", "", setting -> own(setting, true));
    static final Operation TRAIN_ATTENTION_NOT_FUSED =
            training("TRAIN_ATTENTION_NOT_FUSED", "not fused", setting -> own(setting, false));
    static final Operation TRAIN_ATTENTION_DJL =
            training("TRAIN_ATTENTION_DJL", "DJL", setting -> djl(setting, () -> null));
    static final Operation TRAIN_ATTENTION_DJL_MASK =
            training("TRAIN_ATTENTION_DJL_MASK", "DJL with mask", setting -> djl(setting, Masks.ofDjl(setting, true)));

    private Attentions() {}

    /**
     * An attention that is to be initialized.
     *
     * @param mask what each forward gets beside x; null for nothing
     * @param params of each forward; null for none
     */
    private record Attention(Block block, Supplier<NDArray> mask, PairList<String, Object> params) {

        Attention(Block block, Supplier<NDArray> mask) {
            this(block, mask, null);
        }

        Attention at(NDArray positions) {
            PairList<String, Object> positionsOnly = new PairList<>();
            positionsOnly.add(PositionalEncodingBlock.POSITIONS, positions);
            return new Attention(block, mask, positionsOnly);
        }
    }

    private static Attention own(Setting setting, boolean isFused) {
        int length = setting.size(1);
        NDArray mask = Masks.of(setting, length, length);
        Block block = setting.of()
                .kind()
                .attention(setting.size(2), length, false)
                .optFusedKernel(isFused)
                .build();
        return new Attention(block, () -> mask);
    }

    /** 0, 1, … as real positions of each sequence, (B, T): the results are those of the indices. */
    private static NDArray times(Setting setting) {
        NDArray indices = setting.manager().arange(setting.size(1)).toType(DataType.FLOAT32, false);
        return indices.expandDims(0).repeat(0, setting.size(0));
    }

    private static Callable<NDResource> inOneCall(Setting setting) throws Exception {
        // before the parameters, which are then those of the other operations
        NDArray x = setting.x();
        MultiHeadAttentionBlock block = setting.of()
                .kind()
                .attention(setting.size(2), setting.size(1), false)
                .build();
        setting.initialized(block, setting.shape()).freezeParameters(true);
        return OneCall.attention(setting, x, block);
    }

    private static Attention djl(Setting setting, Supplier<NDArray> mask) {
        Block block = ScaledDotProductAttentionBlock.builder()
                .setEmbeddingSize(setting.size(2))
                .setHeadCount(AttentionKind.HEADS)
                .optAttentionProbsDropoutProb(0)
                .build();
        return new Attention(block, mask);
    }

    /** A forward with frozen parameters. */
    private static Operation inference(String name, String column, Function<Setting, Attention> attention) {
        return new Operation(name, column, setting -> {
            Supplier<NDArray> forward = forward(setting, attention.apply(setting), false);
            // DJL's block leaves temporary arrays
            return () -> setting.scoped(forward);
        });
    }

    /** A forward and a backward, with gradients of the parameters and of x. */
    private static Operation training(String name, String column, Function<Setting, Attention> attention) {
        return new Operation(name, column, setting -> {
            Supplier<NDArray> forward = forward(setting, attention.apply(setting), true);
            return () -> setting.backward(forward);
        });
    }

    private static Supplier<NDArray> forward(Setting setting, Attention attention, boolean isTraining) {
        NDArray x = setting.x();
        x.setRequiresGradient(isTraining);
        Block block = setting.initialized(attention.block(), setting.shape());
        block.freezeParameters(!isTraining);
        return () -> {
            NDArray mask = attention.mask().get();
            NDList inputs = mask == null ? new NDList(x) : new NDList(x, mask);
            return block.forward(setting.store(), inputs, isTraining, attention.params())
                    .singletonOrThrow();
        };
    }
}
