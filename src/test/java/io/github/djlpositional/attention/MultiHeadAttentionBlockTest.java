package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.djls;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import io.github.djlpositional.ArchitectureTest;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.options.OptionTypes;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.DisentangledPositionBlock;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The attention apart from its relative encoding; {@link EncodingTypeTest} covers it with each of them. */
class MultiHeadAttentionBlockTest {

    @Test
    void isTestedWithEveryRelativeEncoding() {
        Set<String> tested = Arrays.stream(EncodingType.values())
                .map(type -> type.encoding(2))
                .filter(Objects::nonNull)
                .map(encoding -> encoding.getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(tested)
                .as("a class that is missing here needs a constant in EncodingType: see CONTRIBUTING.md")
                .isEqualTo(ArchitectureTest.concrete(RelativeEncoding.class));
        assertThat(OptionTypes.of(RelativeEncoding.class).values())
                .as("a class that is missing here needs a name in LibraryTypes: see CONTRIBUTING.md")
                .extracting(Class::getSimpleName)
                .containsExactlyInAnyOrderElementsOf(tested);
    }

    @Test
    void createsAnEncodingByItsName() {
        assertThat(RelativeEncoding.names()).startsWith("rotary", "ALiBi", "T5").doesNotContain("RoPE");
        for (String name : RelativeEncoding.names()) {
            Map<String, Object> options = new HashMap<>();
            if (name.equals("distance network")) {
                options.put("hiddenSize", 3);
            } else if (List.of("Swin", "Swin V2", "MViTv2").contains(name)) {
                options.put("window", List.of(2, 3));
            }
            RelativeEncoding.named(name, 2, 4, options).requireFits(2, 4, 8);
        }
        assertThat(RelativeEncoding.named("KERPLE", 2, 4, Map.of("form", "POWER"))
                        .toString())
                .contains("POWER");
        Map<String, Class<?>> spellings = Map.of(
                "RoPE", RotaryEmbeddingBlock.class,
                "ROTARY", RotaryEmbeddingBlock.class,
                "alibi", AlibiBiasBlock.class,
                "transformer_xl", TransformerXlPositionBlock.class,
                "TransformerXL", TransformerXlPositionBlock.class,
                "deberta", DisentangledPositionBlock.class);
        spellings.forEach((name, type) ->
                assertThat(RelativeEncoding.named(name, 2, 4, Map.of())).isInstanceOf(type));
        refused(() -> RelativeEncoding.named("T5", 2, 4, Map.of("headSize", 4)), "headSize");
    }

    @Test
    void hasTheScaleOfItsEncodingUnlessAnotherIsSet() {
        MultiHeadAttentionBlock.Builder builder = EncodingType.DISENTANGLED.attention(2);
        Map<String, Object> arguments = builder.build().getArguments();
        assertThat(arguments).containsEntry("scale", 1 / Math.sqrt(12));
        Map<String, Object> withoutScale = new HashMap<>(arguments);
        withoutScale.remove("scale");
        assertThat(MultiHeadAttentionBlock.fromArguments(withoutScale).getArguments())
                .isEqualTo(arguments);
        assertThat(builder.optScale(0.25).build().getArguments()).containsEntry("scale", 0.25);
    }

    @EngineTest
    void aCrossAttentionGivesTheOutputOfDjlsBlock(NDManager manager) {
        MultiHeadAttentionBlock block =
                filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT32);
        Block djls = djls(manager, block);
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 3, 5, SIZE);
        NDArray keys = numbers(manager, 8, DataType.FLOAT32, 3, 4, SIZE);
        NDArray values = numbers(manager, 9, DataType.FLOAT32, 3, 4, SIZE);
        NDArray isSeen = numbers(manager, 11, DataType.FLOAT32, 3, 5, 4).gt(-1).toType(DataType.INT32, false);
        // on a CPU both round alike, each up to 2e-6 from the output in FLOAT64; the fused kernel of a GPU adds and
        // exponentiates in its own way
        float tolerance = x.getDevice().isGpu() ? 1e-5f : 2e-6f;
        assertThat(Forward.infer(manager, block, keys, x, values, isSeen).toFloatArray())
                .containsExactly(
                        Forward.infer(manager, djls, keys, x, values, isSeen).toFloatArray(), within(tolerance));
    }

    /** The default scale is 1 / √4: queries of twice the size have the same scores, including those of the encoding. */
    @EngineTest
    void hasTheScaleThatIsSet(NDManager manager) {
        MultiHeadAttentionBlock scaled =
                filled(manager, EncodingType.SHAW.attention(HEADS).optScale(1).build(), DataType.FLOAT64);
        MultiHeadAttentionBlock usual =
                filled(manager, EncodingType.SHAW.attention(HEADS).build(), DataType.FLOAT64);
        usual.getQueryProjection()
                .getParameters()
                .values()
                .forEach(parameter -> parameter.getArray().muli(2));
        NDArray x = numbers(manager, 7, DataType.FLOAT64, 2, 6, SIZE);
        requireClose(Forward.infer(manager, scaled, x), doubles(Forward.infer(manager, usual, x)), 1e-12);
    }

    @EngineTest
    void sequencesThatArePackedSeeOnlyThemselves(NDManager manager) {
        NDArray integers = manager.create(new int[][] {{0, 1, 2, 0}, {5, 5, 6, 3}});
        NDArray reals = manager.create(new float[][] {{0, 0.5f, 2, 0.25f}, {5, 5, 6, 3.5f}});
        for (NDArray positions : List.of(integers, integers.toType(DataType.INT64, false), reals)) {
            int before = manager.getManagedArrays().size();
            NDArray mask = MultiHeadAttentionBlock.packedMask(positions);
            assertThat(manager.getManagedArrays()).hasSize(before + 1);
            assertThat(mask.getDataType()).isEqualTo(DataType.BOOLEAN);
            NDArray sequences = manager.create(new int[][] {{0, 0, 0, 1}, {0, 1, 1, 2}});
            assertThat(mask).isEqualTo(sequences.reshape(2, 4, 1).eq(sequences.reshape(2, 1, 4)));
        }
        NDArray one = MultiHeadAttentionBlock.packedMask(manager.create(new int[][] {{7}, {0}}));
        assertThat(one.toBooleanArray()).containsExactly(true, true);
    }
}
