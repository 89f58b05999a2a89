package io.github.djlpositional.benchmarks;

/** How the C library, and so the engine, gets its memory: see "tune the allocator" in docs/performance.md. */
public enum Allocator {
    DEFAULT,
    HUGE_PAGES,
    TUNED;

    /** The allocator that the environment of this process chooses. */
    static Allocator ofProcess() {
        if (System.getenv().getOrDefault("GLIBC_TUNABLES", "").contains("hugetlb")) {
            return HUGE_PAGES;
        }
        return System.getenv("MALLOC_ARENA_MAX") == null ? DEFAULT : TUNED;
    }

    void requireInProcess() {
        if (this != ofProcess()) {
            throw new IllegalStateException(
                    "allocator " + this + " in a process with " + ofProcess() + ": set the variables of the allocator");
        }
    }
}
