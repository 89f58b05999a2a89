package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.FileCorruption;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.ResourceGuard;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Truncated files, files with flipped bits, files with random damage, and files that claim to be huge. */
class DamagedFilesTest {

    private static final List<String> FILES = List.of(
            "gpt2.npz",
            "roberta.npz",
            "versions.npz",
            "zip64.npz",
            "streamed.npz",
            "bert.safetensors",
            "opt.safetensors",
            "types.safetensors");

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IllegalArgumentException.class));

    @TempDir
    private Path folder;

    /**
     * Loads all of a file, and returns the rejection or null. Anything but a documented exception within the limits
     * fails.
     */
    private Exception rejection(byte... file) throws Exception {
        Path path = Files.write(folder.resolve("model"), file);
        try (NDManager manager = NDManager.newBaseManager()) {
            Exception rejection = LOADING.refusal(file.length, 0, () -> Weights.loadAll(manager, path));
            if (rejection != null) {
                assertThat(rejection).message().contains(": expected ").contains("; ");
            }
            return rejection;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt2.npz", "roberta.npz", "versions.npz", "zip64.npz", "streamed.npz", "bert.safetensors"})
    void everyTruncation(String name) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path(name));
        for (int length = 0; length < whole.length; length++) {
            Weights.assertRejected(folder.resolve("model"), Arrays.copyOf(whole, length));
        }
    }

    /** A flipped byte may be harmless, as in a time of day, or change a name or a shape. */
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
        int rejected = 0;
        for (int at = 0; at < whole.length; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) Integer.decode(mask).intValue();
            rejected += rejection(damaged) == null ? 0 : 1;
        }
        assertThat(rejected).isPositive();
    }

    /**
     * Every flipped bit of an array in an npz is detected: its numbers have a checksum, and its header another type or
     * shape. The exception is the last byte of a deflated array, which has up to seven unused bits.
     */
    @ParameterizedTest
    @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
    void everyFlippedBitOfAnArrayIsDetected(int method) throws Exception {
        byte[] whole = Zip.of(method, Zip.floats("(20,)", 80));
        int start = 30 + "t.npy".length();
        int end = start + Zip.littleEndian(whole).getInt(Zip.record(1, whole) + 20);
        for (int bit = 8 * start; bit < 8 * end; bit++) {
            byte[] damaged = whole.clone();
            damaged[bit / 8] ^= (byte) (1 << bit % 8);
            boolean isUnused = method == ZipEntry.DEFLATED && bit >= 8 * (end - 1);
            if (rejection(damaged) == null) {
                assertThat(isUnused).as("bit %s", bit).isTrue();
            }
        }
    }

    @Test
    void randomDamage() throws Exception {
        Map<String, byte[]> files = new LinkedHashMap<>();
        for (String name : FILES) {
            files.put(name, Files.readAllBytes(Weights.path(name)));
        }
        RandomCases.check(
                3000, random -> rejection(FileCorruption.of(random, files.get(RandomCases.one(random, FILES)))));
    }

    /** Files with claims of gigabytes, which must not be allocated. */
    static List<byte[]> claims() throws Exception {
        byte[] header = Weights.safetensors("{}", 0);
        Zip.littleEndian(header).putLong(0, 99_000_000);
        byte[] tensor = Weights.safetensors(
                "{\"t\":{\"dtype\":\"F32\",\"shape\":[100000000000000000],\"data_offsets\":[0,400000000000000000]}}",
                0);
        byte[] array = Zip.of(ZipEntry.DEFLATED, Zip.floats("(100000000000000000,)", 4));
        byte[] entry = Zip.of(ZipEntry.STORED, Zip.floats("(500000000,)", 4));
        Zip.littleEndian(entry).putInt(Zip.record(1, entry) + 24, 2_000_000_000);
        byte[] directory = Files.readAllBytes(Weights.path("zip64.npz"));
        Zip.littleEndian(directory).putLong(directory.length - 22 - 20 - 56 + 32, Integer.MAX_VALUE);
        byte[] npy = Zip.floats("(1,)", 4);
        npy[6] = 2;
        Zip.littleEndian(npy).putInt(8, Integer.MAX_VALUE);
        return List.of(header, tensor, array, entry, directory, Zip.of(ZipEntry.STORED, npy));
    }

    @Test
    void claimsAreNotAllocated() throws Exception {
        for (byte[] file : claims()) {
            assertThat(rejection(file)).isInstanceOf(MalformedModelException.class);
        }
    }

    /** A file of 200 KB that would inflate to 200 MB: only its header is read, and its shape does not fit. */
    @Test
    void aDecompressionBombIsNotInflated() throws Exception {
        byte[] bomb = Zip.of(ZipEntry.DEFLATED, Zip.floats("(50000000,)", 200_000_000));
        assertThat(rejection(bomb)).isInstanceOf(IllegalArgumentException.class);
    }
}
