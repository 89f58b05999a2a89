package io.github.djlpositional.weights;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.support.Forward.infer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import ai.djl.Model;
import ai.djl.inference.Predictor;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.repository.zoo.Criteria;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.Pooling;
import io.github.djlpositional.transformer.PoolingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class SavedBlockFactoryTest extends OnEachEngine {

    @TempDir
    private Path folder;

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build())
                .optReturnMask(true);
    }

    private static InputEmbeddingBlock.Builder input() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(9)
                .setEmbeddingSize(8)
                .optNoPositions()
                .optPaddingIndex(0)
                .optReturnMask(true);
    }

    private static Stream<Block> blocks() {
        return Stream.of(
                TransformerStackBlock.builder()
                        .optInput(input().build())
                        .setLayers(2, SavedBlockFactoryTest::layer)
                        .optPooling(Pooling.MEAN)
                        .optOutputSize(3)
                        .build(),
                new SequentialBlock()
                        .add(input().build())
                        .add(layer().build())
                        .add(PoolingBlock.builder().setPooling(Pooling.LAST).build())
                        .add(new SequentialBlock()
                                .add(Linear.builder().setUnits(4).build())
                                .add(Linear.builder().setUnits(3).optBias(false).build())));
    }

    @ParameterizedTest
    @MethodSource("blocks")
    void aFolderLoadsWithoutTheCodeThatBuildsItsBlock(Block block) throws Exception {
        NDArray ids = manager.create(new long[][] {{5, 6, 7, 0}});
        double[] expected;
        try (Model model = Model.newInstance("encoder", manager.getDevice(), engine.engineName())) {
            model.setBlock(filled(model.getNDManager(), block, DataType.FLOAT32, new Shape(1, 4)));
            expected = doubles(infer(manager, block, ids));
            model.save(folder, "encoder");
            SavedBlockFactory.describe(block, folder);
        }
        Criteria<NDList, NDList> criteria = Criteria.builder()
                .setTypes(NDList.class, NDList.class)
                .optModelPath(folder)
                .optModelName("encoder")
                .optEngine(engine.engineName())
                .build();
        try (ZooModel<NDList, NDList> loaded = criteria.loadModel();
                Predictor<NDList, NDList> predictor = loaded.newPredictor()) {
            assertThat(doubles(predictor.predict(new NDList(ids)).head())).isEqualTo(expected);
        }
    }

    @Test
    void keepsOtherProperties() throws IOException {
        Path file = folder.resolve("serving.properties");
        Files.writeString(file, "engine=PyTorch\noption.text=a \\= b\n");
        SavedBlockFactory.describe(layer().build(), folder);
        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(file));
        assertThat(properties)
                .containsEntry("engine", "PyTorch")
                .containsEntry("option.text", "a = b")
                .containsEntry("blockFactory", SavedBlockFactory.class.getName());
        assertThat(folder).isDirectoryNotContaining("glob:**.partial");
    }

    @Test
    void rejectsBlocksThatHaveNoArguments() {
        Block block = new SequentialBlock().add(layer().build()).add(Blocks.identityBlock());
        refused(() -> SavedBlockFactory.describe(block, folder), "LambdaBlock", "optBlock");
        refused(() -> SavedBlockFactory.describe(Linear.builder().setUnits(3).build(), folder), "Linear", "initialize");
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    {                                            | damaged
                    {}                                           | type
                    {"type": "Runtime"}                          | Runtime
                    {"type": "RmsNormBlock", "embeddingSize": 0} | embeddingSize
                    {"type": "Linear", "units": 0, "bias": true} | units
                    {"type": "Linear", "units": 3}               | bias
                    {"type": "SequentialBlock"}                  | blocks
                    {"type": "SequentialBlock", "blocks": [1]}   | object
                    """)
    void rejectsADamagedDescription(String json, String named) throws IOException {
        Files.writeString(folder.resolve("block.json"), json);
        refused(() -> new SavedBlockFactory().newBlock(null, folder, null), named);
    }

    @Test
    void aFolderWithoutADescriptionCannotBeRead() {
        assertThatIOException().isThrownBy(() -> new SavedBlockFactory().newBlock(null, folder, null));
        assertThat(List.of(folder.toFile().list())).isEmpty();
    }
}
