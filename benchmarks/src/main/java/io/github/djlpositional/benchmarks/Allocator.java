package io.github.djlpositional.benchmarks;

import java.util.Map;

/** How the C library, and so the engine, gets its memory from the system: see the guide's page on performance. */
enum Allocator {
    DEFAULT("As the JVM starts by default", Map.of()),

    /** Large blocks in pages of 2 MB instead of 4 KB. */
    HUGE_PAGES("With huge pages", Map.of("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")),

    /** One heap, no mapping of single blocks, and nothing given back. */
    TUNED(
            "With a tuned allocator",
            Map.of(
                    "MALLOC_ARENA_MAX", "1",
                    "MALLOC_MMAP_THRESHOLD_", "4294967296",
                    "MALLOC_TRIM_THRESHOLD_", "68719476736",
                    "MALLOC_TOP_PAD_", "268435456"));

    private final String title;

    @SuppressWarnings("ImmutableEnumChecker") // made by Map.of
    private final Map<String, String> environment;

    Allocator(String title, Map<String, String> environment) {
        this.title = title;
        this.environment = environment;
    }

    String title() {
        return title;
    }

    /** Makes it that of a process to be started, whatever this one was started with. */
    void applyTo(Map<String, String> processEnvironment) {
        processEnvironment.keySet().removeIf(name -> name.startsWith("MALLOC_") || name.equals("GLIBC_TUNABLES"));
        processEnvironment.putAll(environment);
    }
}
