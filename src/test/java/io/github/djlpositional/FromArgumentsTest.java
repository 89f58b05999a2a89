package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.core.Linear;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.arguments.HasArguments;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every configuration as a map of plain values, and back. */
class FromArgumentsTest {

    /** What no map can tell: arrays and blocks of the user's own. */
    private static final Set<String> NOT_IN_A_MAP = Set.of("optInitialEncodings", "optTokenEmbedding");

    private static Map<String, Object> argumentsOf(TestBlocks kind) {
        return ((HasArguments) kind.block()).getArguments();
    }

    /** As DJL reads JSON, with all numbers alike. */
    private static Map<?, ?> throughJson(Map<String, Object> arguments) {
        return JsonUtils.GSON.fromJson(JsonUtils.GSON.toJson(arguments), Map.class);
    }

    static List<HasArguments> encodings() {
        return List.of(
                Frequencies.geometric(3, 10_000, 3),
                Frequencies.geometric(4, 1e-3, 0.1).scaledBy(3).scaledBy(0.1),
                Frequencies.timescales(5, 1, 1e4),
                Frequencies.of(1, 0.1, -3e-7, 0, 1 / 3.0, 2, 3, 4, 5, 6),
                RotaryScaling.dynamicNtk(2, 16).frequencies(8, 10_000, 40),
                RotaryScaling.none(),
                RotaryScaling.linear(1.1),
                RotaryScaling.dynamicNtk(2, 16),
                RotaryScaling.yarn(4, 2048),
                RotaryScaling.yarn(4, 2048, 16, 0.3, false, 1.5),
                RotaryScaling.llama3(8, 1, 4, 8192),
                RotaryScaling.longRope(new double[] {1, 1.1}, new double[] {2, 1e10 / 3}, 4096, 131_072),
                SinusoidalEncoding.vaswani(7),
                SinusoidalEncoding.fairseq(9),
                SinusoidalEncoding.diffusion(8),
                SinusoidalEncoding.bert4keras(6, 1 / 3.0),
                GridEncoding.tensor2tensor(3, 20, 1, 1000),
                GridEncoding.multidim(2, 10),
                GridEncoding.visionTransformer(16),
                GridEncoding.simpleVit(16));
    }

    @ParameterizedTest
    @EnumSource
    void blocksComeBackTheSame(TestBlocks kind) throws Exception {
        Map<String, Object> arguments = argumentsOf(kind);
        Class<?> type = kind.block().getClass();
        for (Map<?, ?> map : List.of(arguments, throughJson(arguments))) {
            HasArguments back = Reflected.fromArguments(type, map);
            assertThat(back).hasToString(kind.block().toString());
            assertThat(back.getArguments()).isEqualTo(arguments);
        }
    }

    @ParameterizedTest
    @MethodSource("encodings")
    void encodingsComeBackTheSame(HasArguments encoding) throws Exception {
        Map<String, Object> arguments = encoding.getArguments();
        for (Map<?, ?> map : List.of(arguments, throughJson(arguments))) {
            HasArguments back = Reflected.fromArguments(encoding.getClass(), map);
            assertThat(back).hasToString(encoding.toString());
            assertThat(back.getArguments()).isEqualTo(arguments);
        }
    }

    @ParameterizedTest
    @MethodSource("encodings")
    void frequenciesComeBackBitForBit(HasArguments encoding) throws Exception {
        if (encoding instanceof Frequencies || encoding instanceof SinusoidalEncoding) {
            assertThat(Reflected.fromArguments(encoding.getClass(), throughJson(encoding.getArguments())))
                    .isEqualTo(encoding);
        }
    }

    @ParameterizedTest
    @EnumSource
    void everySettingOfTheBuilderIsInTheMap(TestBlocks kind) throws ReflectiveOperationException {
        Class<?> builder = Class.forName(kind.block().getClass().getName() + "$Builder");
        Set<String> allowed = allowedBy(kind);
        for (Method method : builder.getDeclaredMethods()) {
            String name = method.getName();
            if ((name.startsWith("set") || name.startsWith("opt")) && !NOT_IN_A_MAP.contains(name)) {
                assertThat(allowed).contains(Character.toLowerCase(name.charAt(3)) + name.substring(4));
            }
        }
        assertThat(allowed).containsAll(argumentsOf(kind).keySet());
    }

    /** Which keys the error for an unknown one says are allowed. */
    private static Set<String> allowedBy(TestBlocks kind) {
        Map<String, Object> arguments = new LinkedHashMap<>(argumentsOf(kind));
        arguments.put("unknown", 1);
        List<String> messages = new ArrayList<>();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Reflected.fromArguments(kind.block().getClass(), arguments))
                .satisfies(e -> messages.add(e.getMessage()));
        String list = messages.get(0).replaceFirst(".*expected \\[(.*)].*", "$1");
        return Arrays.stream(list.split(", ", -1)).collect(Collectors.toSet());
    }

    @ParameterizedTest
    @EnumSource
    void anUnknownKeyIsRefusedByName(TestBlocks kind) {
        Map<String, Object> arguments = new LinkedHashMap<>(argumentsOf(kind));
        arguments.put("maxLenght", 12);
        String block = kind.block().getClass().getSimpleName();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Reflected.fromArguments(kind.block().getClass(), arguments))
                .withMessageStartingWith(block + " has no argument 'maxLenght': expected [")
                .withMessageEndingWith("]; correct it, or leave it out");
    }

    @ParameterizedTest
    @EnumSource
    void aValueOfAnotherTypeIsRefusedByItsKey(TestBlocks kind) {
        String block = kind.block().getClass().getSimpleName();
        for (String key : argumentsOf(kind).keySet()) {
            for (Object other : List.of("neither", List.of("nor"))) {
                Map<String, Object> arguments = new LinkedHashMap<>(argumentsOf(kind));
                arguments.put(key, other);
                assertThatIllegalArgumentException()
                        .as("%s of %s", key, kind)
                        .isThrownBy(() -> Reflected.fromArguments(kind.block().getClass(), arguments))
                        .withMessageStartingWith("argument '" + key + "' of " + block + " is the ")
                        .withMessageContaining(": expected ");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSettingWithoutADefaultMustBeThere(TestBlocks kind) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Reflected.fromArguments(kind.block().getClass(), Map.of()))
                .withMessageContaining(" of " + kind.block().getClass().getSimpleName() + " is missing: expected ");
    }

    @Test
    void aFewPropertiesMakeABlock() {
        // what DJL hands over from serving.properties is text
        Block positions = PositionalEncodingBlock.fromArguments(Map.of("embeddingSize", "8", "addToInput", "false"));
        assertThat(positions)
                .hasToString(PositionalEncodingBlock.builder()
                        .setEmbeddingSize(8)
                        .optAddToInput(false)
                        .build()
                        .toString());
        Block input = InputEmbeddingBlock.fromArguments(
                Map.of("vocabularySize", "100", "embeddingSize", "8", "maxSequenceLength", "20"));
        assertThat(input)
                .hasToString(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(8)
                        .optMaxSequenceLength(20)
                        .build()
                        .toString());
    }

    @Test
    void aBuilderThatGoesOnChangesNoBlockThatItHasBuilt() {
        PositionalEncodingBlock.Builder builder =
                PositionalEncodingBlock.builder().setEmbeddingSize(8);
        PositionalEncodingBlock first = builder.build();
        Map<String, Object> arguments = first.getArguments();
        builder.optLearnedScale(0.5f)
                .optMaxSequenceLength(3)
                .optDropoutRate(0.5f)
                .build();
        assertThat(first.getArguments()).isEqualTo(arguments).doesNotContainKey("learnedScale");
    }

    @Test
    void errorsOfAMapWithinAMapSayWhichItIs() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InputEmbeddingBlock.fromArguments(Map.of(
                        "vocabularySize", 3, "embeddingSize", 4, "positionalEncoding", Map.of("type", "none", "x", 1))))
                .withMessageStartingWith("positionalEncoding of InputEmbeddingBlock has no argument 'x'");
    }

    @Test
    void factorsOfFrequenciesAreFew() {
        Map<String, Object> many =
                new LinkedHashMap<>(Frequencies.geometric(3, 10_000, 3).getArguments());
        many.put("factors", Collections.nCopies(17, 1.0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.fromArguments(many))
                .withMessageContaining("expected a list of 16 or fewer");
    }

    @Test
    void mapsCannotBeChanged() {
        for (TestBlocks kind : TestBlocks.values()) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> argumentsOf(kind).put("a", 1));
        }
    }

    @Test
    void aUsersOwnBlockWithinABlockIsRefusedWithItsName() {
        Block own = new LambdaBlock(list -> list, "mine");
        HasArguments positions = InputEmbeddingBlock.builder()
                .setVocabularySize(3)
                .setEmbeddingSize(4)
                .optPositionalEncoding(own)
                .build();
        HasArguments tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(3)
                .setEmbeddingSize(4)
                .optTokenEmbedding(Linear.builder().setUnits(4).build())
                .build();
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(positions::getArguments)
                .withMessageContaining("ai.djl.nn.LambdaBlock within InputEmbeddingBlock has no arguments")
                .withMessageContaining("make the outer block with its builder");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(tokens::getArguments)
                .withMessageContaining("ai.djl.nn.core.Linear");
    }

    /** A user's block that has arguments, which nothing of this library can make again. */
    private static final class Described extends LambdaBlock implements HasArguments {
        Described() {
            super(list -> list, "mine");
        }

        private record Settings(int own) {}

        @Override
        public Record getSettings() {
            return new Settings(1);
        }
    }

    @Test
    void aUsersOwnBlockIsRefusedEvenIfItHasArguments() {
        HasArguments positions = InputEmbeddingBlock.builder()
                .setVocabularySize(3)
                .setEmbeddingSize(4)
                .optPositionalEncoding(new Described())
                .build();
        HasArguments tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(3)
                .setEmbeddingSize(4)
                .optTokenEmbedding(new Described())
                .build();
        for (HasArguments outer : List.of(positions, tokens)) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(outer::getArguments)
                    .withMessageContaining("Described within InputEmbeddingBlock has no arguments");
        }
    }

    @Test
    void whatIsNoTypeOfBlockOrKindOfEncodingIsRefused() {
        Map<String, Object> embedding = Map.of("vocabularySize", 3, "embeddingSize", 4);
        Map<String, Object> attention = Map.of("embeddingSize", 8, "headCount", 2);
        for (Object type : List.of("GridPositionalEncodingBlock", "java.lang.Runtime", 1)) {
            Map<String, Object> within = new LinkedHashMap<>(embedding);
            within.put("positionalEncoding", Map.of("type", type));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> InputEmbeddingBlock.fromArguments(within))
                    .withMessageContaining("'type'");
            Map<String, Object> relative = new LinkedHashMap<>(attention);
            relative.put("relativeEncoding", Map.of("type", type));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> MultiHeadAttentionBlock.fromArguments(relative))
                    .withMessageContaining("'type'");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RotaryScaling.fromArguments(Map.of("kind", "cubic")))
                .withMessage("argument 'kind' of RotaryScaling is the String cubic: expected none, linear, dynamicNtk,"
                        + " yarn, llama3 or longRope; correct it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.fromArguments(Map.of("kind", "random")))
                .withMessageContaining("'kind' of Frequencies");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> GridEncoding.fromArguments(Map.of("kind", "hexagonal")))
                .withMessageContaining("'kind' of GridEncoding");
    }

    @Test
    void anEncodingOfEnormousSizeIsRefusedBeforeThereIsRoomForIt() {
        int most = Integer.MAX_VALUE;
        for (Map<String, Object> arguments :
                List.<Map<String, Object>>of(Map.of("embeddingSize", most), Map.of("embeddingSize", 1 << 22))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> PositionalEncodingBlock.fromArguments(arguments))
                    .withMessageContaining("is outside 1 to 2097152");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.fromArguments(
                        Map.of("kind", "geometric", "count", most, "base", 10_000, "period", 3)))
                .withMessageContaining("frequency count 2147483647 is outside 0 to 1048576");
    }

    @EngineTest
    void aBlockFromItsMapLoadsTheFileAndGivesTheSame(NDManager manager) throws Exception {
        for (TestBlocks kind : TestBlocks.values()) {
            Block block = kind.block();
            block.initialize(manager, DataType.FLOAT32, kind.input());
            Block back = (Block) Reflected.fromArguments(block.getClass(), argumentsOf(kind));
            BlockBytes.load(manager, back, BlockBytes.saved(block));
            NDArray input = kind.numbers(manager);
            assertThat(Forward.infer(manager, back, input).toFloatArray())
                    .as("%s", kind)
                    .containsExactly(Forward.infer(manager, block, input).toFloatArray());
            block.clear();
            back.clear();
        }
    }
}
