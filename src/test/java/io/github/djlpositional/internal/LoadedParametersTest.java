package io.github.djlpositional.internal;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A file of a model with a block of its own in each place loads into a model that shares one block between the places
 * only if the blocks of the file are equal. One block cannot have the numbers of several.
 */
@Sampled(oneIn = 3)
class LoadedParametersTest extends OnEachEngine {

    /** A model with a block in several places: a new block for each, or the same. */
    private record Model(Function<Supplier<Block>, Block> model, Supplier<Block> block, Shape input) {

        Block withOwnBlocks() {
            return model.apply(block);
        }

        Block sharing() {
            Block shared = block.get();
            return model.apply(() -> shared);
        }
    }

    private static final Shape X = new Shape(2, 3, 8);

    private static Block stackWith(Supplier<Block> encoding) {
        return TransformerStackBlock.builder()
                .setLayers(3, () -> layer(attention().optRelativeEncoding((RelativeEncoding) encoding.get())))
                .build();
    }

    private static Block sequenceWith(Supplier<Block> encoding) {
        return new SequentialBlock()
                .add(layer(attention().optRelativeEncoding((RelativeEncoding) encoding.get()))
                        .build())
                .add(layer(attention().optRelativeEncoding((RelativeEncoding) encoding.get()))
                        .build());
    }

    private static Block stackWithNorms(Supplier<Block> norm) {
        return TransformerStackBlock.builder()
                .setLayers(2, () -> layer(attention().optQueryNorm(norm.get()).optKeyNorm(norm.get())))
                .build();
    }

    private static Block embeddingsWith(Supplier<Block> positions) {
        return new SequentialBlock().add(positions.get()).add(positions.get());
    }

    static Stream<Arguments> models() {
        Supplier<Block> t5 = EncodingType.T5::block;
        Supplier<Block> learned = () -> LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optMaxSequenceLength(3)
                .build();
        Supplier<Block> rms = () -> RmsNormBlock.builder().setEmbeddingSize(4).build();
        Supplier<Block> ofDjl = () -> LayerNorm.builder().axis(3).build();
        Stream<Arguments> encodings = Stream.of(EncodingType.values())
                .filter(type -> type.encoding(2) != null)
                .filter(type -> !type.block().getParameters().isEmpty())
                .map(type -> Arguments.argumentSet(
                        "layers with " + type, new Model(LoadedParametersTest::stackWith, type::block, X)));
        return Stream.concat(
                encodings,
                Stream.of(
                        Arguments.argumentSet(
                                "a sequence of layers", new Model(LoadedParametersTest::sequenceWith, t5, X)),
                        Arguments.argumentSet("positions", new Model(LoadedParametersTest::embeddingsWith, learned, X)),
                        Arguments.argumentSet("norms", new Model(LoadedParametersTest::stackWithNorms, rms, X)),
                        Arguments.argumentSet(
                                "norms of DJL", new Model(LoadedParametersTest::stackWithNorms, ofDjl, X))));
    }

    @ParameterizedTest
    @MethodSource("models")
    void rejectsOtherNumbersInASecondPlace(Model model) throws Throwable {
        byte[] file = BlockBytes.saved(filled(manager, model.withOwnBlocks(), DataType.FLOAT32, model.input));
        Block sharing = model.sharing();
        int before = manager.getManagedArrays().size();
        rejected(MalformedModelException.class, () -> BlockBytes.load(manager, sharing, file), "share")
                .execute();
        if (sharing instanceof OptionsBlock) {
            assertThat(manager.getManagedArrays()).hasSize(before);
            assertThat(sharing.isInitialized()).isFalse();
        }
    }

    /** The file of a model that shares, and that of a model whose blocks are equal. */
    @ParameterizedTest
    @MethodSource("models")
    void acceptsTheSameNumbersInEachPlace(Model model) throws Exception {
        Block sharing = filled(manager, model.sharing(), DataType.FLOAT32, model.input);
        byte[] file = BlockBytes.saved(sharing);
        Block own = model.withOwnBlocks();
        BlockBytes.load(manager, own, file);
        for (byte[] each : Arrays.asList(file, BlockBytes.saved(own))) {
            Block loaded = model.sharing();
            BlockBytes.load(manager, loaded, each);
            requireSameOutput(loaded, sharing, model.input);
            // again, over other numbers
            BlockBytes.load(manager, filled(manager, loaded, DataType.FLOAT32, model.input), each);
            requireSameOutput(loaded, sharing, model.input);
            loaded.clear();
        }
    }

    private void requireSameOutput(Block loaded, Block saved, Shape input) {
        NDArray x = TestNumbers.numbers(manager, 7, DataType.FLOAT32, input.getShape());
        requireClose(Forward.infer(manager, loaded, x), doubles(Forward.infer(manager, saved, x)), 1e-5);
    }
}
