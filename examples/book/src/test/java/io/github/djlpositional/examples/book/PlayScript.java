package io.github.djlpositional.examples.book;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.ScriptableObject;

/** The scripts of sliders, run in Rhino without a page. A function is called by its name, such as {@code bits.wave}. */
final class PlayScript {

    private static final Map<String, ScriptableObject> SCOPES = new ConcurrentHashMap<>();

    private PlayScript() {}

    /** Returns the names of the scripts of all chapters. */
    static List<String> all() {
        return Book.CHAPTERS.stream()
                .flatMap(name -> Chapter.of(name, List.of()).scripts().stream())
                .distinct()
                .toList();
    }

    private static ScriptableObject scope(Context context, String name) {
        ScriptableObject scope = context.initStandardObjects();
        for (String script : new String[] {"play", name}) {
            context.evaluateString(scope, Book.read("/site/play/" + script + ".js"), script + ".js", 1, null);
        }
        return scope;
    }

    /** Calls a function with numbers, strings and arrays of them. */
    static <T> T call(Class<T> type, String function, Object... arguments) {
        String[] name = function.split("\\.", -1);
        try (Context context = Context.enter()) {
            context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
            ScriptableObject scope = SCOPES.computeIfAbsent(name[0], script -> scope(context, script));
            Object[] converted = Stream.of(arguments)
                    .map(each -> each instanceof double[] numbers
                            ? DoubleStream.of(numbers).boxed().toArray()
                            : each)
                    .map(each -> each instanceof Object[] array
                            ? context.newArray(scope, Arrays.copyOf(array, array.length, Object[].class))
                            : each)
                    .toArray();
            ScriptableObject object = (ScriptableObject) scope.get(name[0]);
            return type.cast(Context.jsToJava(ScriptableObject.callMethod(context, object, name[1], converted), type));
        }
    }

    static double number(String function, Object... arguments) {
        return call(Double.class, function, arguments);
    }

    static double[] numbers(String function, Object... arguments) {
        return call(double[].class, function, arguments);
    }
}
