package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.ScriptableObject;

/** A script of sliders, run in Rhino without a page. */
final class PlayScript {

    private final String name;
    private final ScriptableObject scope;

    private static final Map<String, PlayScript> BY_NAME = new ConcurrentHashMap<>();

    /** Returns the script of sliders with a name. */
    static PlayScript of(String name) {
        return BY_NAME.computeIfAbsent(name, PlayScript::new);
    }

    private PlayScript(String name) {
        this.name = name;
        try (Context context = Context.enter()) {
            context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
            scope = context.initStandardObjects();
            for (String script : new String[] {"play", name}) {
                context.evaluateString(scope, resource("/site/play/" + script + ".js"), script + ".js", 1, null);
            }
        }
    }

    static String resource(String path) {
        try {
            return new String(new Resource(path, "djl-positional-book").read(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Calls a function of the script with numbers, strings and arrays of them. */
    <T> T call(Class<T> type, String function, Object... arguments) {
        try (Context context = Context.enter()) {
            context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
            Object[] converted = Stream.of(arguments)
                    .map(each -> each instanceof double[] numbers
                            ? DoubleStream.of(numbers).boxed().toArray()
                            : each)
                    .map(each -> each instanceof Object[] array
                            ? context.newArray(scope, Arrays.copyOf(array, array.length, Object[].class))
                            : each)
                    .toArray();
            ScriptableObject object = (ScriptableObject) scope.get(name);
            return type.cast(Context.jsToJava(ScriptableObject.callMethod(context, object, function, converted), type));
        }
    }

    double number(String function, Object... arguments) {
        return call(Double.class, function, arguments);
    }

    double[] numbers(String function, Object... arguments) {
        return call(double[].class, function, arguments);
    }
}
