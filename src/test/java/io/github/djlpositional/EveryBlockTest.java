package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import com.tngtech.archunit.core.domain.JavaModifier;
import io.github.djlpositional.internal.ConfiguredBlock;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Properties of every block, including those that are added later. */
class EveryBlockTest {

    @Test
    void isATestBlock() {
        Set<String> tested = Arrays.stream(TestBlocks.values())
                .map(kind -> kind.block().getClass().getSimpleName())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(tested)
                .as(
                        "a block that is missing here has no constant in TestBlocks: see \"Add an encoding\" in CONTRIBUTING.md")
                .isEqualTo(ArchitectureTest.concrete(ConfiguredBlock.class));
    }

    /** Otherwise the test above would not find it. */
    @Test
    void isAConfiguredBlock() {
        assertThat(ArchitectureTest.LIBRARY.stream()
                        .filter(each -> each.isAssignableTo(AbstractBlock.class))
                        .filter(each -> each.getModifiers().contains(JavaModifier.PUBLIC))
                        .filter(each -> !each.isAssignableTo(ConfiguredBlock.class)))
                .isEmpty();
    }

    /** Counts from the root manager, to include managers that a block creates. */
    private static int openArrays(NDManager manager) {
        Deque<NDManager> above = new ArrayDeque<>(Set.of(manager));
        while (above.peek().getParentManager() != null) {
            above.push(above.peek().getParentManager());
        }
        return above.peek().getManagedArrays().size();
    }

    @EngineTest
    void freesItsArraysWithItsManagerAndWhenCleared(Engine engine, NDManager manager) {
        for (TestBlocks kind : TestBlocks.values()) {
            Block block = kind.block();
            NDArray x = kind.numbers(manager);
            int before = openArrays(manager);
            for (boolean byClear : new boolean[] {true, false}) {
                try (NDManager own = engine.newBaseManager()) {
                    block.initialize(own, DataType.FLOAT32, kind.input());
                    Forward.infer(manager, block, x).close();
                    if (byClear) {
                        block.clear();
                        assertThat(own.getManagedArrays()).as("%s", kind).isEmpty();
                    }
                }
                // fewer if a block of another test was garbage collected meanwhile
                assertThat(openArrays(manager)).as("%s", kind).isLessThanOrEqualTo(before);
            }
        }
    }

    @EngineTest
    void attachesItsOutputToTheManagerOfItsInput(Engine engine, NDManager manager) {
        for (TestBlocks kind : TestBlocks.values()) {
            try (NDManager own = engine.newBaseManager()) {
                Block block = kind.block();
                block.initialize(own, DataType.FLOAT32, kind.input());
                NDArray x = kind.numbers(manager);
                assertThat(Forward.infer(manager, block, x).getManager())
                        .as("%s", kind)
                        .isSameAs(x.getManager());
            }
        }
    }
}
