package io.github.djlpositional;

import io.github.djlpositional.arguments.HasArguments;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;

/** Reflective calls that throw the exception of the called method. */
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
