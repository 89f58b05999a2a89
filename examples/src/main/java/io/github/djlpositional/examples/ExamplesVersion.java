package io.github.djlpositional.examples;

import picocli.CommandLine.IVersionProvider;

/** The version of these programs, as the jar says that they come in. */
public final class ExamplesVersion implements IVersionProvider {

    /** For picocli. */
    public ExamplesVersion() {}

    @Override
    public String[] getVersion() {
        String version = ExamplesVersion.class.getPackage().getImplementationVersion();
        return new String[] {"djl-positional examples " + (version == null ? "(not from a jar)" : version)};
    }
}
