package io.github.djlpositional.support;

/** Whether the slow tests run, as with {@code -DexcludedGroups=none}. Other tests then have more cases. */
public final class Nightly {

    public static final boolean RUNS = !"slow".equals(System.getProperty("test.excludedGroups"));

    private Nightly() {}
}
