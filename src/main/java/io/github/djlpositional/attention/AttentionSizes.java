package io.github.djlpositional.attention;

import io.github.djlpositional.internal.BuilderChecks;

/** What an encoding and the attention that takes it have to agree on. */
final class AttentionSizes {

    private AttentionSizes() {}

    static void requireDivides(int headCount, int embeddingSize) {
        BuilderChecks.requirePositive("head count", headCount, "setHeadCount(int)");
        if (embeddingSize % headCount != 0) {
            throw new IllegalArgumentException("embedding size " + embeddingSize + " is not divisible by head count "
                    + headCount + ": allowed are numbers of heads that divide it; give another of either");
        }
    }

    static void requireSameHeadCount(int own, int headCount, Object encoding) {
        if (own != headCount) {
            throw new IllegalArgumentException(encoding + " has another number of heads than the attention's "
                    + headCount + ": give both the same, setHeadCount(" + headCount + ")");
        }
    }

    static void requireSameHeadSize(int own, int headSize, Object encoding, String setting) {
        if (own != headSize) {
            throw new IllegalArgumentException(encoding + " has another head size than the attention's " + headSize
                    + ", its embedding size by its head count: give both the same, " + setting);
        }
    }
}
