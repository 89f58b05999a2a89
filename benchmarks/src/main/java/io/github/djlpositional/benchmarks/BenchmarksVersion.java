package io.github.djlpositional.benchmarks;

import picocli.CommandLine.IVersionProvider;

/** The version of this program, as the jar says that it comes in. */
final class BenchmarksVersion implements IVersionProvider {

    @Override
    public String[] getVersion() {
        String version = BenchmarksVersion.class.getPackage().getImplementationVersion();
        return new String[] {"djl-positional benchmarks " + (version == null ? "(not from a jar)" : version)};
    }
}
