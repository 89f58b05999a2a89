package io.github.djlpositional.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.ArchitectureTest;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junitpioneer.jupiter.cartesian.ArgumentSets;
import org.junitpioneer.jupiter.cartesian.CartesianTest;

/** Properties of every block, including those that are added later: arrays, files, lifetime and faults. */
@Sampled(oneIn = 3)
class EveryBlockTest extends OnEachEngine {

    /** Of two computations of the same on one machine; {@link DevicesTest} counts the roundings of FLOAT32. */
    private static final float TOLERANCE = 1e-5f;

    private void requireResults(TestBlocks kind, Block block, float... expected) {
        assertThat(kind.values(manager, block)).containsExactly(expected, within(TOLERANCE));
    }

    @AfterEach
    void clearTheInterrupt() {
        Thread.interrupted();
    }

    @Test
    void isATestBlock() {
        Set<String> tested = Arrays.stream(TestBlocks.values())
                .map(kind -> kind.block().getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(tested)
                .as("a block that is missing here has no constant in BlockCase or EncodingType:"
                        + " see \"Add an encoding\" in CONTRIBUTING.md")
                .isEqualTo(ArchitectureTest.concrete(OptionsBlock.class));
    }

    /** Otherwise the test above would not find it. */
    @Test
    void isABlockOfOptions() {
        assertThat(ArchitectureTest.typesOfTheLibrary(AbstractBlock.class::isAssignableFrom).stream()
                        .filter(each ->
                                Modifier.isPublic(each.getModifiers()) && !Modifier.isAbstract(each.getModifiers())))
                .allMatch(OptionsBlock.class::isAssignableFrom);
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void printsItsSettings(TestBlocks kind) {
        String text = kind.block().toString();
        assertThat(text).startsWith(kind.block().getClass().getSimpleName() + "(");
        assertThat(((HasArguments) kind.block())
                        .getArguments().entrySet().stream().filter(entry -> entry.getValue() instanceof Number))
                .allSatisfy(entry -> assertThat(text).contains(entry.getKey() + "=" + entry.getValue()));
    }

    /** Counts from the root manager, to include managers that a block creates. */
    private static int openArrays(NDManager manager) {
        NDManager root = manager;
        while (root.getParentManager() != null) {
            root = root.getParentManager();
        }
        return root.getManagedArrays().size();
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void freesItsArraysWithItsManagerAndWhenCleared(TestBlocks kind) {
        try (NDManager own = manager.getEngine().newBaseManager(manager.getDevice())) {
            // the first forward may load what an engine keeps as long as it lives
            kind.values(manager, kind.initialized(own));
        }
        Block block = kind.block();
        int before = openArrays(manager);
        for (boolean byClear : new boolean[] {true, false}) {
            try (NDManager own = manager.getEngine().newBaseManager(manager.getDevice())) {
                block.initialize(own, DataType.FLOAT32, kind.shapes());
                kind.values(manager, block);
                if (byClear) {
                    block.clear();
                    assertThat(own.getManagedArrays()).isEmpty();
                }
            }
            // fewer if a block of another test was garbage collected meanwhile
            assertThat(openArrays(manager)).isLessThanOrEqualTo(before);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void aForwardLeavesOnlyItsOutputWhichBelongsToTheCaller(TestBlocks kind) {
        try (NDManager own = manager.getEngine().newBaseManager(manager.getDevice())) {
            Block block = kind.initialized(own);
            NDList x = kind.numbers(manager);
            NDArray y = kind.infer(manager, block, x);
            assertThat(y.getManager()).isSameAs(x.head().getManager());
            float[] values = y.toFloatArray();
            int before = manager.getManagedArrays().size();
            int ownBefore = own.getManagedArrays().size();
            kind.infer(manager, block, x).close();
            assertThat(manager.getManagedArrays()).hasSize(before);
            assertThat(own.getManagedArrays()).hasSize(ownBefore);
            y.addi(1).close();
            assertThat(x).containsExactlyElementsOf(kind.numbers(manager));
            requireResults(kind, block, values);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void hasTheDataTypeOfItsModelOrNamesTheTypeThatTheEngineCannotCreate(TestBlocks kind) {
        Block block = kind.block();
        for (DataType type : SmallBlocks.TYPES) {
            if (!block.getParameters().isEmpty()) {
                block.clear();
            }
            if (type == DataType.FLOAT16 && engine == TestEngine.MXNET) {
                if (!block.getParameters().isEmpty()) {
                    assertThatExceptionOfType(UnsupportedOperationException.class)
                            .isThrownBy(() -> block.initialize(manager, type, kind.shapes()))
                            .withMessageContainingAll("MXNet", "float16", "float32");
                }
                continue;
            }
            block.initialize(manager, type, kind.shapes());
            assertThat(block.getParameters().values())
                    .allMatch(parameter -> parameter.getArray().getDataType() == type);
            assertThat(kind.infer(manager, block, kind.numbers(manager, type)).getDataType())
                    .isEqualTo(type);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void survivesAScopeThatItIsCreatedLoadedOrFirstUsedIn(TestBlocks kind) throws Exception {
        Block loaded = kind.block();
        Block used = kind.block();
        Block created;
        float[] expected;
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            created = kind.initialized(manager);
            BlockBytes.load(manager, loaded, BlockBytes.saved(created));
            expected = kind.values(manager, created);
            if (used.getParameters().isEmpty()) {
                kind.values(manager, used);
            }
        }
        requireResults(kind, created, expected);
        requireResults(kind, loaded, expected);
        if (used.getParameters().isEmpty()) {
            requireResults(kind, used, expected);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void worksOnAnInterruptedThreadAndKeepsTheInterrupt(TestBlocks kind) throws Exception {
        Thread.currentThread().interrupt();
        Block block = kind.initialized(manager);
        Block loaded = kind.block();
        BlockBytes.load(manager, loaded, BlockBytes.saved(block));
        float[] interrupted = kind.values(manager, loaded);
        assertThat(Thread.interrupted()).isTrue();
        requireResults(kind, block, interrupted);
    }

    /** Initializes and uses a block with a manager that is then closed; returns its model file. */
    private byte[] orphan(TestBlocks kind, Block block) throws IOException {
        try (NDManager own = manager.getEngine().newBaseManager(manager.getDevice())) {
            block.initialize(own, DataType.FLOAT32, kind.shapes());
            kind.values(own, block);
            return BlockBytes.saved(block);
        }
    }

    /** It works without parameters, and otherwise throws an exception, until it is loaded or initialized again. */
    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void afterItsManagerCloses(TestBlocks kind) throws Exception {
        Block block = kind.block();
        byte[] file = orphan(kind, block);
        Block loaded = kind.block();
        BlockBytes.load(manager, loaded, file);
        float[] expected = kind.values(manager, loaded);
        if (block.getParameters().isEmpty()) {
            requireResults(kind, block, expected);
        } else {
            NDList input = kind.numbers(manager);
            int before = manager.getManagedArrays().size();
            assertThatIllegalStateException()
                    .isThrownBy(() -> kind.infer(manager, block, input))
                    .withMessageContaining("has been released already");
            assertThat(manager.getManagedArrays()).hasSize(before);
        }
        BlockBytes.load(manager, block, file);
        requireResults(kind, block, expected);
        orphan(kind, block);
        block.initialize(manager, DataType.FLOAT32, kind.shapes());
        assertThat(block.getParameters().values())
                .extracting(Parameter::getArray)
                .noneMatch(NDArray::isReleased);
        assertThat(kind.values(manager, block)).hasSameSizeAs(expected);
    }

    /** All blocks within a block, by their paths. */
    private static void addBlocks(String path, Block block, Map<String, Block> found) {
        found.put(path, block);
        block.getChildren().forEach(child -> addBlocks(path + "/" + child.getKey(), child.getValue(), found));
    }

    private static Map<String, Block> blocks(Block block) {
        Map<String, Block> found = new LinkedHashMap<>();
        addBlocks("", block, found);
        return found;
    }

    /** The gradients of the sum of the squares of the output of a forward in training. */
    private List<double[]> gradients(TestBlocks kind, Block block, DataType type) {
        NDList inputs = kind.numbers(manager, type);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), inputs, true)
                    .head();
            assertThat(y.getDataType()).isEqualTo(type);
            if (!block.getParameters().isEmpty()) {
                collector.backward(y.square().sum());
            }
        }
        return block.getParameters().values().stream()
                .map(parameter -> TestNumbers.doubles(parameter.getArray().getGradient()))
                .toList();
    }

    private static boolean isRandom(Map<?, ?> arguments) {
        return arguments.entrySet().stream()
                .anyMatch(entry ->
                        (entry.getKey().toString().endsWith("Rate") && ((Number) entry.getValue()).floatValue() > 0)
                                || (entry.getValue() instanceof Map<?, ?> child && isRandom(child)));
    }

    @CartesianTest
    @CartesianTest.MethodFactory("kindsAndTypes")
    void isTheSameAfterLoadingAsAfterInitializing(TestBlocks kind, DataType type) throws Exception {
        assumeTrue(type != DataType.FLOAT16 || engine == TestEngine.PYTORCH, "MXNet has no parameters in FLOAT16");
        Block initialized = kind.block();
        initialized.initialize(manager, type, kind.shapes());
        Block loaded = kind.block();
        BlockBytes.load(manager, loaded, BlockBytes.saved(initialized));
        Map<String, Block> expected = blocks(initialized);
        blocks(loaded).forEach((path, block) -> {
            assertThat(block.isInitialized()).as(path).isTrue();
            assertThat(block.getInputShapes())
                    .as(path)
                    .isEqualTo(expected.get(path).getInputShapes());
        });
        List<double[]> gradients = gradients(kind, initialized, type);
        List<double[]> ofLoaded = gradients(kind, loaded, type);
        if (!isRandom(((HasArguments) initialized).getArguments())) {
            double tolerance = type == DataType.FLOAT16 ? 0x1p-8 : type == DataType.FLOAT32 ? 1e-4 : 1e-10;
            for (int i = 0; i < gradients.size(); i++) {
                double largest =
                        Arrays.stream(gradients.get(i)).map(Math::abs).max().orElse(0);
                assertThat(ofLoaded.get(i)).containsExactly(gradients.get(i), within(tolerance * (1 + largest)));
            }
        }
        // again with other inputs
        loaded.initialize(manager, type, kind.shapes());
    }

    static ArgumentSets kindsAndTypes() {
        return ArgumentSets.argumentsForFirstParameter(TestBlocks.values())
                .argumentsForNextParameter(DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16);
    }

    private static void assertInUse(Block block, ThrowingCallable change) {
        assertThatIllegalStateException().isThrownBy(change).withMessageContainingAll("in use", block.toString());
    }

    /** Expects no change to be possible now. */
    private void requireInUse(TestBlocks kind, Block block, byte... file) {
        assertInUse(block, block::clear);
        assertInUse(block, () -> block.initialize(manager, DataType.FLOAT32, kind.shapes()));
        assertInUse(block, () -> BlockBytes.load(manager, block, file));
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void cannotBeChangedDuringAForwardOfAnyThread(TestBlocks kind) throws Exception {
        Block block = kind.initialized(manager);
        float[] expected = kind.values(manager, block);
        byte[] file = BlockBytes.saved(block);
        AtomicInteger calls = new AtomicInteger();
        ParameterStore store = new ParameterStore(manager, false) {
            @Override
            public NDArray getValue(Parameter parameter, Device device, boolean training) {
                if (calls.getAndIncrement() == 0) {
                    requireInUse(kind, block, file);
                    CompletableFuture.runAsync(() -> requireInUse(kind, block, file))
                            .join();
                    // another forward is possible
                    requireResults(kind, block, expected);
                }
                return super.getValue(parameter, device, training);
            }
        };
        NDList output = block.forward(store, kind.numbers(manager), false);
        assertThat(output.head().toFloatArray()).containsExactly(expected, within(TOLERANCE));
        assertThat(calls.get() > 0).isEqualTo(!block.getParameters().isEmpty());
        BlockBytes.load(manager, block, file);
        requireResults(kind, block, expected);
        block.clear();
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void hasNoForwardInAnotherThreadWhileItIsInitialized(TestBlocks kind) {
        Block block = kind.block();
        AtomicInteger calls = new AtomicInteger();
        block.setInitializer(
                (owner, shape, type) -> {
                    calls.getAndIncrement();
                    CompletableFuture.runAsync(() -> assertThatIllegalStateException()
                                    .isThrownBy(() -> kind.values(manager, block))
                                    .withMessageContainingAll("being initialized", block.toString()))
                            .join();
                    return owner.ones(shape, type);
                },
                parameter -> true);
        block.initialize(manager, DataType.FLOAT32, kind.shapes());
        assertThat(calls).hasValue(block.getParameters().size());
        assertThat(kind.values(manager, block)).isNotEmpty();
    }

    /** A disk with room for a number of bytes. */
    private static OutputStream smallDisk(int room) {
        return new OutputStream() {
            private int left = room;

            @Override
            public void write(int value) throws IOException {
                if (left-- == 0) {
                    throw new IOException("full");
                }
            }
        };
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void aFullDiskLeavesItAsItWasAndAFileThatEndsTooSoonLeavesNothing(TestBlocks kind) throws Exception {
        int length = BlockBytes.saved(kind.initialized(manager)).length;
        // an odd step, so that the parts end at each byte of a number
        requireWhole(kind, 1 + 2 * (length / 10));
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    @Tag("slow")
    void aFullDiskAndAFileMayEndAtAnyByte(TestBlocks kind) throws Exception {
        requireWhole(kind, 1);
    }

    /** Saves a block to disks of a number of sizes, and loads what they hold. */
    private void requireWhole(TestBlocks kind, int step) throws Exception {
        Block block = kind.initialized(manager);
        byte[] whole = BlockBytes.saved(block);
        Block loaded = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (int size = 0; size < whole.length; size += step) {
            DataOutputStream disk = new DataOutputStream(smallDisk(size));
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> block.saveParameters(disk))
                    .withMessage("full");
            byte[] part = Arrays.copyOf(whole, size);
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() -> BlockBytes.load(manager, loaded, part));
            assertThat(loaded.isInitialized()).isFalse();
            assertThatIllegalStateException()
                    .isThrownBy(() -> kind.infer(manager, loaded, input))
                    .withMessageContainingAll("the last load", loaded.toString());
        }
        loaded.clear();
        BlockBytes.load(manager, loaded, whole);
        assertThat(BlockBytes.saved(loaded)).isEqualTo(whole);
        assertThat(BlockBytes.saved(block)).isEqualTo(whole);
        requireResults(kind, loaded, kind.values(manager, block));
    }
}
