package io.github.djlpositional.examples;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** Refuses options that are out of range, as picocli refuses a number that is none. */
public final class OptionChecks {

    private OptionChecks() {}

    /**
     * Refuses an option that is too small.
     *
     * @param command whose option it is
     * @param option its name
     * @param value what was given
     * @param least the smallest that is allowed
     * @throws ParameterException if it is less
     */
    public static void requireAtLeast(CommandSpec command, String option, int value, int least) {
        require(command, value >= least, option + " " + value + " is too small: give " + least + " or more");
    }

    /**
     * Refuses an option that is too great.
     *
     * @param command whose option it is
     * @param option its name
     * @param value what was given
     * @param most the greatest that is allowed
     * @throws ParameterException if it is more
     */
    public static void requireAtMost(CommandSpec command, String option, int value, int most) {
        require(command, value <= most, option + " " + value + " is too great: give " + most + " or less");
    }

    /** Refuses what does not hold. */
    static void require(CommandSpec command, boolean holds, String message) {
        if (!holds) {
            throw new ParameterException(command.commandLine(), message);
        }
    }
}
