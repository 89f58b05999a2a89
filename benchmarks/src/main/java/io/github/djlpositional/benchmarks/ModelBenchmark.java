package io.github.djlpositional.benchmarks;

import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A benchmark of a whole model. The folder of the property {@code models} has the models that {@code peers.py} writes,
 * and what transformers computes with them, which the library has to compute before it is measured.
 */
@Warmup(iterations = 3, time = 1) // the JVM compiles the code of all blocks
public abstract class ModelBenchmark extends EngineBenchmark {

    /** The folder of a model, or a file. */
    static Path path(String... names) {
        return Path.of(System.getProperty("models"), names);
    }

    /** What transformers computed. */
    static <T> T expected(Path file, TypeToken<T> type) throws IOException {
        return JsonUtils.GSON.fromJson(Files.readString(file), type);
    }

    /** Checks the tokens of the library; those of transformers may go on. */
    static void requireTokens(long[][] expected, long[]... generated) {
        for (int row = 0; row < generated.length; row++) {
            long[] tokens = Arrays.copyOf(expected[row], generated[row].length);
            if (!Arrays.equals(generated[row], tokens)) {
                throw new IllegalStateException("the library generates " + Arrays.toString(generated[row])
                        + " and transformers " + Arrays.toString(tokens));
            }
        }
    }

    /** Checks the vectors of the library. */
    static void requireVectors(float tolerance, float[][] expected, float[]... vectors) {
        for (int row = 0; row < expected.length; row++) {
            for (int i = 0; i < expected[row].length; i++) {
                if (!(Math.abs(vectors[row][i] - expected[row][i]) <= tolerance)) {
                    throw new IllegalStateException("number " + i + " of vector " + row + " is " + vectors[row][i]
                            + ", and of transformers " + expected[row][i]);
                }
            }
        }
    }
}
