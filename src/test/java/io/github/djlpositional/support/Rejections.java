package io.github.djlpositional.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.ndarray.NDManager;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.function.Executable;

/**
 * Calls that must be rejected, for {@link org.junit.jupiter.api.Assertions#assertAll}:
 *
 * <pre>
 * assertAll(
 *         rejected(() -> infer(manager, block, zeros(manager, 1, 3, 5)), 5, 4),
 *         rejected(() -> block.encode(zeros(manager, 2)), "float32"));
 * </pre>
 *
 * <p>The values are those that the message names: what was given, what is expected, and the setting to change.
 */
public final class Rejections {

    private Rejections() {}

    /** Expects an {@link IllegalArgumentException} whose message has the values. */
    public static Executable rejected(ThrowingCallable call, Object... values) {
        return rejected(IllegalArgumentException.class, call, values);
    }

    /** Expects an exception of exactly this type whose message has the values. */
    public static Executable rejected(Class<? extends Throwable> type, ThrowingCallable call, Object... values) {
        String[] texts = Stream.of(values).map(String::valueOf).toArray(String[]::new);
        return () -> assertThat(catchThrowable(call))
                .as("the message has %s", List.of(texts))
                .isExactlyInstanceOf(type)
                .message()
                .contains(texts);
    }

    /** Also expects the call to leave no array open in the manager of its inputs, which the caller has created. */
    public static Executable rejectedWithoutLeak(NDManager manager, ThrowingCallable call, Object... values) {
        return () -> {
            int before = manager.getManagedArrays().size();
            rejected(call, values).execute();
            assertThat(manager.getManagedArrays()).hasSizeLessThanOrEqualTo(before);
        };
    }
}
