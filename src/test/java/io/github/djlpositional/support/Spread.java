package io.github.djlpositional.support;

import java.util.stream.Stream;

/** Spreads parameters that hardly depend on each other over the constants of an enum, in place of every combination. */
public final class Spread {

    private Spread() {}

    /** The sum of the numbers of constants, each counted from 0 in its enum. */
    @SuppressWarnings("EnumOrdinal") // another order only chooses other combinations
    public static int number(Enum<?>... constants) {
        return Stream.of(constants).mapToInt(Enum::ordinal).sum();
    }
}
