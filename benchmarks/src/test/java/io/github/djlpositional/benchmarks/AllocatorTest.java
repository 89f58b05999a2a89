package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the guide recommends against fresh pages does what it says, on Linux with glibc. */
class AllocatorTest {

    private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    /** At first, small blocks that stay break up what large ones left, and the heap grows; then all find their place. */
    private static final int WARM_UP = 60;

    private static final int CALLS = 20;

    /** 64 MB in pages of 4 KB. */
    private static final double ALL_PAGES = 16_384;

    @BeforeEach
    void assumeThatLinuxCounts() {
        assumeTrue(ProcessMemory.isKnown() && Files.isReadable(HUGE_PAGES), "only Linux counts fresh pages");
    }

    @Test
    void byDefaultALargeOutputIsMadeOfFreshPages() throws Exception {
        assumeTrue(!Files.readString(HUGE_PAGES).contains("[always]"), "all memory comes in huge pages here");
        assertThat(freshPages(Allocator.DEFAULT)).isGreaterThan(0.9 * ALL_PAGES);
    }

    @Test
    void hugePagesAreAFewHundred() throws Exception {
        assumeTrue(!Files.readString(HUGE_PAGES).contains("[never]"), "there are no huge pages here");
        // 32 of 2 MB, and up to 512 small ones at an end that none fits
        assertThat(freshPages(Allocator.HUGE_PAGES)).isLessThan(0.1 * ALL_PAGES);
    }

    @Test
    void tunedItIsMadeOfThoseThatAreThere() throws Exception {
        assertThat(freshPages(Allocator.TUNED)).isLessThan(0.1 * ALL_PAGES);
    }

    private static double freshPages(Allocator allocator) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        AllocatorTest.class.getName())
                .redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().putAll(allocator.environment());
        Process process = builder.start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        return Double.parseDouble(printed.strip());
    }

    /** Prints the fresh pages of one addition whose result takes 64 MB. */
    public static void main(String[] args) throws Exception {
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager(Device.cpu())) {
            NDArray x = manager.ones(new Shape(8, 2048, 1024));
            for (int warmUp = 0; warmUp < WARM_UP; warmUp++) {
                x.add(x).close();
            }
            long before = ProcessMemory.pageFaults();
            for (int call = 0; call < CALLS; call++) {
                x.add(x).close();
            }
            System.out.println((double) (ProcessMemory.pageFaults() - before) / CALLS);
        }
    }
}
