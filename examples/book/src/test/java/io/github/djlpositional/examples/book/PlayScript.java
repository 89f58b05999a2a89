package io.github.djlpositional.examples.book;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.ScriptableObject;

/** The scripts of sliders, run in Rhino without a page. A function is called by its name, such as {@code bits.wave}. */
final class PlayScript {

    /** The scripts and their style sheet. */
    static final Path FOLDER = Path.of("src/main/resources/site");

    private static ScriptableObject scope;

    private PlayScript() {}

    /** Returns the names of the scripts of all sliders. */
    static List<String> all() {
        String[] files = FOLDER.resolve("play").toFile().list();
        return Stream.of(files)
                .map(file -> file.replace(".js", ""))
                .filter(name -> !name.equals("play"))
                .sorted()
                .toList();
    }

    /** Returns a file of the sliders. */
    static String read(String file) {
        try {
            return Files.readString(FOLDER.resolve(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the scripts in one scope, as in a page with all sliders. */
    private static ScriptableObject scope(Context context) {
        if (scope == null) {
            scope = context.initStandardObjects();
            Stream.concat(Stream.of("play"), all().stream())
                    .forEach(
                            name -> context.evaluateString(scope, read("play/" + name + ".js"), name + ".js", 1, null));
        }
        return scope;
    }

    /** Calls a function with numbers, strings and arrays of them. */
    static synchronized <T> T call(Class<T> type, String function, Object... arguments) {
        try (Context context = Context.enter()) {
            context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
            ScriptableObject all = scope(context);
            Object[] converted = Stream.of(arguments)
                    .map(each -> each instanceof double[] numbers
                            ? DoubleStream.of(numbers).boxed().toArray()
                            : each)
                    .map(each -> each instanceof Object[] array
                            ? context.newArray(all, Arrays.copyOf(array, array.length, Object[].class))
                            : each)
                    .toArray();
            String[] name = function.split("\\.", -1);
            Object result =
                    ScriptableObject.callMethod(context, (ScriptableObject) all.get(name[0]), name[1], converted);
            return type.cast(Context.jsToJava(result, type));
        }
    }

    static double number(String function, Object... arguments) {
        return call(Double.class, function, arguments);
    }

    static double[] numbers(String function, Object... arguments) {
        return call(double[].class, function, arguments);
    }
}
