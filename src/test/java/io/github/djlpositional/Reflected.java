package io.github.djlpositional;

import io.github.djlpositional.arguments.HasArguments;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;

/** Calls of what is not known before a test runs. They throw what was thrown, as a call in the code does. */
final class Reflected {

    private Reflected() {}

    static Object call(Method method, Object on, Object... arguments) throws Exception {
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    static HasArguments fromArguments(Class<?> type, Map<?, ?> arguments) throws Exception {
        return (HasArguments) call(type.getMethod("fromArguments", Map.class), null, arguments);
    }
}
