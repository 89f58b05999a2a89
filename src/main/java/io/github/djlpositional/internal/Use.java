package io.github.djlpositional.internal;

import ai.djl.nn.Block;
import java.util.function.Supplier;

/** A use of a block outside its forward. */
public final class Use {

    private Use() {}

    /**
     * Calls a function of a block of this library, which is not initialized, loaded or cleared meanwhile; or one of a
     * user's block.
     */
    public static <T> T of(Block block, Supplier<T> function) {
        return block instanceof OptionsBlock own ? own.reading(function::get) : function.get();
    }
}
