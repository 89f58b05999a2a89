package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.SavedCache.loaded;
import static io.github.djlpositional.attention.SavedCache.model;
import static io.github.djlpositional.attention.SavedCache.saved;
import static io.github.djlpositional.attention.SavedCache.withHeader;
import static io.github.djlpositional.attention.SavedCache.withSum;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.EncodingType.FORGETTING;
import static io.github.djlpositional.relative.EncodingType.NONE;
import static io.github.djlpositional.relative.EncodingType.ROTARY;
import static io.github.djlpositional.support.FileEdits.withInt;
import static io.github.djlpositional.support.FileEdits.withLong;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.FileDamage;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which files of caches are accepted and rejected. {@link RunningBatchTest} and {@link KeyValueCacheTest} continue with
 * loaded caches.
 */
@Sampled(oneIn = 3)
class CacheFileTest extends OnEachEngine {

    @TempDir
    private Path folder;

    private static MultiHeadAttentionBlock.Builder causal(EncodingType type) {
        return type.attention(HEADS).optCausal(true);
    }

    private MultiHeadAttentionBlock block(EncodingType type) {
        return filled(manager, causal(type).build(), DataType.FLOAT64);
    }

    private NDArray x(NDManager owner, int from, int to) {
        return numbers(owner, 1, DataType.FLOAT64, 2, 5, SIZE).get(":, {}:{}", from, to);
    }

    /** A cache of three tokens, one of which is hidden and which have positions. */
    private byte[] file(MultiHeadAttentionBlock... attentions) {
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (MultiHeadAttentionBlock attention : attentions) {
                infer(manager, attention, cache.nextStep(), x(manager, 0, 3));
                cache.rewind(0);
            }
            var params = cache.nextStep();
            for (MultiHeadAttentionBlock attention : attentions) {
                infer(manager, attention, params, x(manager, 0, 3), manager.create(new int[][] {{1, 1, 0}, {1, 1, 1}}));
            }
            return saved(cache, model(attentions));
        }
    }

    /** Expects a file to be rejected, and no array to be left. */
    private Executable rejectedFile(byte[] file, Block model, Object... values) {
        return () -> {
            try (NDManager own = manager.newSubManager()) {
                rejected(MalformedModelException.class, () -> loaded(file, model, own), values)
                        .execute();
                assertThat(own.getManagedArrays()).isEmpty();
            }
        };
    }

    /** A model of another process, and of the other engine, has other objects with the same names. */
    @ParameterizedTest
    @EnumSource
    void aFileIsReadByTheOtherEngine(EncodingType type) throws Exception {
        TestEngine other = engine == TestEngine.PYTORCH ? TestEngine.MXNET : TestEngine.PYTORCH;
        byte[] file = file(block(type));
        try (NDManager others = other.newManager()) {
            MultiHeadAttentionBlock block = filled(others, causal(type).build(), DataType.FLOAT64);
            block.freezeParameters(true);
            try (KeyValueCache cache = loaded(file, model(block), others)) {
                NDArray y = infer(others, block, cache.nextStep(), x(others, 3, 5));
                NDArray mask = others.create(new int[][] {{1, 1, 0, 1, 1}, {1, 1, 1, 1, 1}});
                NDArray whole = infer(others, block, x(others, 0, 5), mask);
                requireClose(y, doubles(whole.get(":, 3:")), 1e-12);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"FLOAT16", "FLOAT32", "FLOAT64"})
    void keepsTheDataType(DataType type) throws Exception {
        if (type == DataType.FLOAT16) {
            assumeEngine(TestEngine.PYTORCH);
        }
        MultiHeadAttentionBlock block = filled(manager, causal(FORGETTING).build(), type);
        NDArray x = numbers(manager, 1, type, 2, 5, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :3"));
            try (KeyValueCache loaded = loaded(saved(cache, model(block)), model(block), manager)) {
                NDArray expected = infer(manager, block, cache.nextStep(), x.get(":, 3:"));
                NDArray y = infer(manager, block, loaded.nextStep(), x.get(":, 3:"));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(doubles(y)).isEqualTo(doubles(expected));
            }
        }
    }

    @Test
    void attentionsWithinBlocksHaveTheNamesOfTheirPath() {
        MultiHeadAttentionBlock one = block(ROTARY);
        MultiHeadAttentionBlock two = block(ROTARY);
        Block nested = new SequentialBlock().add(one).add(new SequentialBlock().add(two));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, one, cache.nextStep(), x(manager, 0, 3));
            assertThat(SavedCache.header(saved(cache, nested)))
                    .contains("\"01MultiHeadAttentionBlock\"", "\"02SequentialBlock/01MultiHeadAttentionBlock\"");
            assertThat(SavedCache.header(saved(cache, one))).contains("\"name\":\"\"");
            assertAll(rejected(() -> saved(cache, two), "1 attentions", "not among the 1"));
        }
    }

    // other models

    @Test
    void rejectsAFileOfAnotherModel() {
        MultiHeadAttentionBlock one = block(ROTARY);
        MultiHeadAttentionBlock two = block(ROTARY);
        byte[] file = file(one, two);
        assertAll(
                rejectedFile(file, model(one), "2 attentions", "expected 1"),
                rejectedFile(file, model(one, two, block(ROTARY)), "2 attentions", "expected 3"),
                rejectedFile(file, new SequentialBlock(), "2 attentions", "expected 0"),
                rejectedFile(
                        file,
                        new SequentialBlock().add(model(one)).add(two),
                        "01MultiHeadAttentionBlock",
                        "01SequentialBlock/01MultiHeadAttentionBlock"));
    }

    private MultiHeadAttentionBlock rotary(RotaryEmbeddingBlock.Builder rotary) {
        return causal(NONE)
                .optRelativeEncoding(rotary.setHeadSize(EncodingType.HEAD_SIZE).build())
                .build();
    }

    @Test
    void rejectsAFileOfAnotherAttention() {
        byte[] file = file(block(ROTARY));
        assertAll(
                rejectedFile(file, model(block(NONE)), "relativeEncoding [RotaryEmbeddingBlock]"),
                rejectedFile(file, model(causal(ROTARY).optWindow(4).build()), "no window", 4),
                rejectedFile(file, model(causal(ROTARY).optKeyValueHeadCount(1).build()), "keyValueHeadCount 2", 1),
                rejectedFile(
                        file,
                        model(rotary(RotaryEmbeddingBlock.builder().optBase(500))),
                        "RotaryEmbeddingBlock",
                        "10000.0",
                        "500.0"),
                rejectedFile(
                        file,
                        model(rotary(RotaryEmbeddingBlock.builder().optScaling(RotaryScaling.linear(2)))),
                        "no scaling",
                        "factor=2.0"));
    }

    @Test
    void acceptsOptionsThatDoNotChangeKeys() throws Exception {
        Block other =
                model(causal(ROTARY).optDropoutRate(0.5f).optFusedKernel(false).build());
        loaded(file(block(ROTARY)), other, manager).close();
    }

    // damage

    @Test
    void rejectsDamageOfEachByte() throws Throwable {
        MultiHeadAttentionBlock block = block(FORGETTING);
        byte[] file = file(block);
        for (int i = 0; i < file.length; i++) {
            byte[] changed = file.clone();
            changed[i] ^= (byte) (1 << i % 8);
            rejectedFile(changed, model(block), "the cache file", "save them").execute();
        }
    }

    @Test
    void rejectsAFileThatEndsTooSoonOrTooLate() throws Throwable {
        MultiHeadAttentionBlock block = block(FORGETTING);
        byte[] file = file(block);
        for (int length = 0; length < file.length; length += length < 40 || length > file.length - 20 ? 1 : 7) {
            rejectedFile(Arrays.copyOf(file, length), model(block), "the cache file", "save them")
                    .execute();
        }
        rejectedFile(Arrays.copyOf(file, file.length + 1), model(block), "bytes of keys and values")
                .execute();
    }

    @Test
    void rejectsRandomDamage() {
        assumeCpu();
        MultiHeadAttentionBlock block = block(FORGETTING);
        byte[] file = file(block);
        RandomCases.check(200, random -> {
            byte[] damaged = FileDamage.of(random, file);
            if (!Arrays.equals(damaged, file)) {
                rejectedFile(damaged, model(block), "the cache file").execute();
            }
        });
    }

    /** The checksums are valid: the file was changed on purpose. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"length\":3 \"length\":4",
                "\"length\":3 \"length\":2147483647",
                "\"length\":3 \"length\":0",
                "\"length\":3 \"length\":-3",
                "\"length\":3 \"length\":3.5",
                "\"batch\":2 \"batch\":1",
                "\"batch\":2 \"batch\":9223372036854775807",
                "\"batch\":2 \"batch\":2,\"starts\":[0]",
                "\"batch\":2 \"batch\":2,\"starts\":[0,3]",
                "\"batch\":2 \"batch\":2,\"starts\":[0,-1]",
                "\"batch\":2 \"other\":2",
                "\"sequences\" \"others\"",
                "\"attentions\" \"others\"",
                "\"tokens\" \"others\"",
                "\"isCached\":true \"isCached\":1",
                "\"dataType\":\"FLOAT64\" \"dataType\":\"FLOAT32\"",
                "\"dataType\":\"FLOAT64\" \"dataType\":\"BFLOAT16\"",
                "\"dataType\":\"FLOAT64\" \"dataType\":\"INT64\"",
                "\"first\":0 \"first\":4",
                "\"first\":0 \"first\":3",
                "\"isMasked\":true \"isMasked\":false",
                "\"end\":3 \"end\":2",
                "\"featureTypes\":[\"FLOAT64\"] \"featureTypes\":[]",
                "\"featureSizes\":[2] \"featureSizes\":[0]",
                "\"featureSizes\":[2] \"featureSizes\":[9223372036854775807]",
                "\"firstJoined\":0 \"firstJoined\":4",
                "\"masked\":[{\"from\":0 \"masked\":[{\"from\":4",
                "\"masked\":[{\"from\":0 \"masked\":[{\"other\":0",
                "\"endBefore\":0 \"endBefore\":null",
                "\"firstExplicit\":0 \"firstExplicit\":0,\"positionType\":\"INT32\",\"positionSizes\":[3]",
                "\"firstExplicit\":0 \"firstExplicit\":0,\"positionType\":\"FLOAT32\",\"positionSizes\":[2]",
                "\"firstExplicit\":0 \"firstExplicit\":0,\"positionType\":\"INT32\""
            })
    void rejectsAHeaderThatDoesNotFit(String change) throws Throwable {
        MultiHeadAttentionBlock block = block(FORGETTING);
        String[] texts = change.split(" ", 2);
        rejectedFile(withHeader(file(block), texts[0], texts[1]), model(block), "the cache file", ": expected")
                .execute();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "{}", "null", "{\"sequences\":4}", "{\"sequences\":{},\"attentions\":[]}"})
    void rejectsAHeaderOfSomethingElse(String header) throws Throwable {
        MultiHeadAttentionBlock block = block(ROTARY);
        rejectedFile(withHeader(file(block), header), model(block), "the cache file")
                .execute();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MAX_VALUE, 0, 1 << 27})
    void rejectsALengthOfTheHeaderThatTheFileDoesNotHave(int length) throws Throwable {
        MultiHeadAttentionBlock block = block(ROTARY);
        rejectedFile(withInt(file(block), Long.BYTES, length), model(block), "the cache file")
                .execute();
    }

    /** Values that keys may have, but not masks and positions. */
    @Test
    void rejectsMasksAndPositionsThatAreNone() throws Throwable {
        MultiHeadAttentionBlock block = block(NONE);
        byte[] masked = file(block);
        // the last of 2 · 3 INT32, before the checksum
        rejectedFile(withSum(withInt(masked, -12, 0x02020202)), model(block), "(2, 3)", "0 and 1")
                .execute();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            var params = cache.nextStep();
            params.add("positions", manager.create(new double[] {0.5, 1, 7}));
            infer(manager, block, params, x(manager, 0, 3));
            byte[] file = saved(cache, model(block));
            long large = Long.reverseBytes(Double.doubleToLongBits(1e6));
            long nan = Long.reverseBytes(Double.doubleToLongBits(Double.NaN));
            assertAll(
                    rejectedFile(withSum(withLong(file, -16, large)), model(block), "1000000", "8"),
                    rejectedFile(withSum(withLong(file, -16, nan)), model(block), "NaN"));
        }
    }

    // files and states

    @Test
    void aSaveThatFailsLeavesTheEarlierFile() throws Exception {
        MultiHeadAttentionBlock block = block(ROTARY);
        Path file = folder.resolve("cache");
        Files.writeString(file, "earlier");
        Path inTheWay =
                Files.createDirectories(folder.resolve(".cache.partial/full")).getParent();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x(manager, 0, 3));
            assertAll(
                    rejected(IOException.class, () -> cache.save(file, block), file, "expected a file"),
                    rejected(IOException.class, () -> cache.save(folder, block), folder, "it is a folder"),
                    rejected(
                            IOException.class,
                            () -> cache.save(folder.resolve("none/cache"), block),
                            "NoSuchFileException",
                            "expected a file in a folder"));
            assertThat(file).hasContent("earlier");
            Files.delete(inTheWay.resolve("full"));
            Files.delete(inTheWay);
            cache.save(file, block);
            KeyValueCache.load(file, block, manager).close();
            try (Stream<Path> files = Files.list(folder)) {
                assertThat(files).containsExactly(file);
            }
        }
    }

    @Test
    void rejectsCachesWithoutTokensAndClosedOnes() {
        MultiHeadAttentionBlock block = block(ROTARY);
        KeyValueCache cache = new KeyValueCache(manager);
        assertAll(rejected(IllegalStateException.class, () -> saved(cache, block), "without tokens", "nextStep()"));
        cache.close();
        assertAll(
                rejected(IllegalStateException.class, () -> saved(cache, block), "is closed"),
                rejected(
                        NoSuchFileException.class,
                        () -> KeyValueCache.load(folder.resolve("none"), block, manager),
                        "none"));
    }

    @Test
    void dropsTokensThatOnlySomeAttentionsHaveProcessed() throws Exception {
        MultiHeadAttentionBlock one = block(ROTARY);
        MultiHeadAttentionBlock two = block(ROTARY);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            var params = cache.nextStep();
            infer(manager, one, params, x(manager, 0, 2));
            infer(manager, two, params, x(manager, 0, 2));
            infer(manager, one, cache.nextStep(), x(manager, 2, 3));
            try (KeyValueCache loaded = loaded(saved(cache, model(one, two)), model(one, two), manager)) {
                assertThat(loaded.getLength()).isEqualTo(2);
            }
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }

    @Test
    void loadsOnADeviceOfTheManager() {
        onASimulatedGpu(gpu -> {
            MultiHeadAttentionBlock block = filled(gpu, causal(ROTARY).build(), DataType.FLOAT32);
            NDArray x = numbers(gpu, 1, DataType.FLOAT32, 2, 5, SIZE);
            try (KeyValueCache cache = new KeyValueCache(gpu)) {
                infer(gpu, block, cache.nextStep(), x.get(":, :3"));
                try (KeyValueCache loaded = SavedCache.reloaded(gpu, cache, List.of(block))) {
                    NDArray y = infer(gpu, block, loaded.nextStep(), x.get(":, 3:"));
                    assertThat(doubles(y)).isEqualTo(doubles(infer(gpu, block, cache.nextStep(), x.get(":, 3:"))));
                }
            }
        });
    }
}
