package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDResource;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The benchmark of every case: JMH chooses the case by its text. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class CaseBenchmark {

    @Param("")
    private String measured;

    private Setting setting;
    private Callable<? extends NDResource> call;

    /** Makes what is measured with. */
    @Setup
    public void setUp() throws Exception {
        setting = Setting.of(Table.caseNamed(measured));
        call = setting.of().operation().preparation().of(setting);
    }

    /** Calls the operation of the case. */
    @Benchmark
    public void call() throws Exception {
        call.call().close();
    }

    /** Frees everything. */
    @TearDown
    public void tearDown() {
        setting.close();
    }
}
