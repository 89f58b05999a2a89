package io.github.djlpositional.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the guide recommends against fresh pages spares them, on Linux with glibc. */
class AllocatorTest {

    private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
    /**
     * At first, small blocks that stay break up what large ones left, and the heap grows; then all find their place.
     */
    private static final int ROUNDS = 12;

    private static final int CALLS = 20;

    /** 64 MB in pages of 4 KB. */
    private static final double ALL_PAGES = 16_384;

    @Test
    @Tag("slow")
    void everyRecommendationSparesFreshPages() throws Exception {
        assumeTrue(ProcessMemory.isKnown() && Files.isReadable(HUGE_PAGES), "only Linux counts fresh pages");
        double[] glibc = glibcVersion();
        assumeTrue(glibc.length == 2, "the C library is not glibc");
        double byDefault = freshPages(Allocator.DEFAULT);
        assumeTrue(byDefault > 0.9 * ALL_PAGES, "memory comes in larger pages here, or is kept");
        assertThat(freshPages(Allocator.TUNED)).isLessThan(byDefault / 2);
        boolean hasHugePages = !Files.readString(HUGE_PAGES).contains("[never]");
        assumeTrue(
                hasHugePages && glibc[0] == 2 && glibc[1] >= 35,
                "huge pages are for glibc 2.35, and a system that has them");
        assertThat(freshPages(Allocator.HUGE_PAGES)).isLessThan(byDefault / 2);
    }

    /** The two numbers of its version; none where the C library is another. */
    private static double[] glibcVersion() throws Exception {
        Process process;
        try {
            process = new ProcessBuilder("getconf", "GNU_LIBC_VERSION")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            return new double[0];
        }
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        Matcher version = Pattern.compile("glibc (\\d+)\\.(\\d+)").matcher(printed);
        return version.find()
                ? new double[] {Double.parseDouble(version.group(1)), Double.parseDouble(version.group(2))}
                : new double[0];
    }

    private static double freshPages(Allocator allocator) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElse("java"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-DOPT_OUT_TRACKING=true",
                        AllocatorTest.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        allocator.applyTo(builder.environment());
        Process process = builder.start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        return Double.parseDouble(printed.strip());
    }

    /** Prints the fresh pages of one addition whose result takes 64 MB, in the twenty calls that had the fewest. */
    public static void main(String[] args) throws Exception {
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager(Device.cpu())) {
            NDArray x = manager.ones(new Shape(8, 2048, 1024));
            double fewest = Double.POSITIVE_INFINITY;
            for (int round = 0; round < ROUNDS; round++) {
                long before = ProcessMemory.pageFaults();
                for (int call = 0; call < CALLS; call++) {
                    x.add(x).close();
                }
                fewest = Math.min(fewest, (double) (ProcessMemory.pageFaults() - before) / CALLS);
            }
            System.out.println(fewest);
        }
    }
}
