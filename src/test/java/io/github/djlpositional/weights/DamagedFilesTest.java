package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.fail;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that were cut off, files with bits that flipped, and files that claim to be huge. */
class DamagedFilesTest {

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"gpt2.npz", "roberta.npz", "versions.npz", "zip64.npz", "streamed.npz", "bert.safetensors"})
    void everyTruncation(String name) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path(name));
        for (int length = 0; length < whole.length; length++) {
            Path file = Files.write(folder.resolve("model"), Arrays.copyOf(whole, length));
            assertThatExceptionOfType(MalformedModelException.class)
                    .as("%s bytes", length)
                    .isThrownBy(() -> WeightFile.open(file))
                    .withMessageContaining("the weight file " + file + " is ")
                    .withMessageContaining(": allowed ");
        }
    }

    /** A flip may do no harm, as in a time of day, or make a file of other tensors; it never ends in anything but these two. */
    @ParameterizedTest
    @CsvSource({
        "gpt2.npz, 0x01",
        "gpt2.npz, 0x80",
        "roberta.npz, 0x10",
        "versions.npz, 0x04",
        "zip64.npz, 0xff",
        "opt.safetensors, 0x01",
        "opt.safetensors, 0x80",
        "bert.safetensors, 0x1f",
        "types.safetensors, 0xff"
    })
    void everyFlippedByte(String name, String mask) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path(name));
        int refused = 0;
        for (int at = 0; at < whole.length; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) Integer.decode(mask).intValue();
            try (NDManager manager = NDManager.newBaseManager()) {
                Weights.loadAll(manager, Files.write(folder.resolve("model"), damaged));
            } catch (MalformedModelException | IllegalArgumentException e) {
                assertThat(e.getMessage())
                        .as("byte %s", at)
                        .contains(": allowed ")
                        .contains("; ");
                refused++;
            } catch (Exception e) {
                fail("byte " + at, e);
            }
        }
        assertThat(refused).isPositive();
    }

    /**
     * Within an array of an npz each flip is found: its numbers have a checksum, and its header another type or shape. But the
     * last byte of a deflated array has up to seven bits that mean nothing.
     */
    @Test
    void everyFlippedBitOfAnArrayIsFound() throws Exception {
        for (int method : new int[] {ZipEntry.STORED, ZipEntry.DEFLATED}) {
            byte[] whole = Zip.of("t.npy", method, Zip.floats("(20,)", 80));
            int start = 30 + "t.npy".length();
            int end = start + Zip.littleEndian(whole).getInt(Zip.centralHeader(whole) + 20);
            for (int bit = 8 * start; bit < 8 * end; bit++) {
                byte[] damaged = whole.clone();
                damaged[bit / 8] ^= (byte) (1 << bit % 8);
                try (NDManager manager = NDManager.newBaseManager()) {
                    Weights.loadAll(manager, Files.write(folder.resolve("model"), damaged));
                    assertThat(method).isEqualTo(ZipEntry.DEFLATED);
                    assertThat(bit).isGreaterThan(8 * (end - 1));
                } catch (MalformedModelException | IllegalArgumentException e) {
                    assertThat(e.getMessage()).as("bit %s", bit).contains(": allowed ");
                }
            }
        }
    }

    private static long allocatedBy(Runnable action) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        action.run();
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    private void open(byte... bytes) {
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> WeightFile.open(Files.write(folder.resolve("model"), bytes)));
    }

    /** What a header claims costs nothing: each of these would be gigabytes. */
    @Test
    void claimsAreNotAllocated() throws Exception {
        byte[] header = Weights.safetensors("{}", 0);
        Zip.littleEndian(header).putLong(0, 99_000_000);
        byte[] tensor = Weights.safetensors(
                "{\"t\":{\"dtype\":\"F32\",\"shape\":[100000000000000000],\"data_offsets\":[0,400000000000000000]}}",
                0);
        byte[] array = Zip.of("t.npy", ZipEntry.DEFLATED, Zip.floats("(100000000000000000,)", 4));
        byte[] entry = Zip.of("t.npy", ZipEntry.STORED, Zip.floats("(500000000,)", 4));
        Zip.littleEndian(entry).putInt(Zip.centralHeader(entry) + 24, 2_000_000_000);
        byte[] directory = Files.readAllBytes(Weights.path("zip64.npz"));
        Zip.littleEndian(directory).putLong(directory.length - 22 - 20 - 56 + 32, Integer.MAX_VALUE);
        byte[] npy = Zip.floats("(1,)", 4);
        npy[6] = 2;
        Zip.littleEndian(npy).putInt(8, Integer.MAX_VALUE);
        byte[] longHeader = Zip.of("t.npy", ZipEntry.STORED, npy);
        for (byte[] file : new byte[][] {header, tensor, array, entry, directory, longHeader}) {
            open(file); // loads the classes
            assertThat(allocatedBy(() -> open(file))).isLessThan(1 << 20);
        }
    }

    /** A bomb of 200 KB that would inflate to 200 MB: it is listed at the price of its header, and refused by its shape. */
    @Test
    void aBombIsNotInflated() throws Exception {
        byte[] bomb = Zip.of("t.npy", ZipEntry.DEFLATED, Zip.floats("(50000000,)", 200_000_000));
        Path file = Files.write(folder.resolve("model"), bomb);
        try (NDManager manager = NDManager.newBaseManager()) {
            var parameter = Weights.parameter(manager, DataType.FLOAT32, 2, 2);
            WeightFile.open(file);
            long allocated = allocatedBy(() -> assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(() -> WeightLoader.of(WeightFile.open(file))
                            .table("t", parameter)
                            .load()));
            assertThat(allocated).isLessThan(1 << 20);
        }
    }
}
