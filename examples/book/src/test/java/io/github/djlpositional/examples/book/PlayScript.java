package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.ScriptableObject;

/** A script of sliders, run in Rhino without a page, and the settings that its sliders allow. */
final class PlayScript {

    private final String name;
    private final ScriptableObject scope;

    PlayScript(String name) {
        this.name = name;
        try (Context context = context()) {
            scope = context.initStandardObjects();
            context.evaluateString(scope, resource("/site/play/play.js"), "play.js", 1, null);
            // the page that the script would start
            context.evaluateString(scope, "var page; play.start = (name, started) => { page = started; }", "", 1, null);
            context.evaluateString(scope, resource("/site/play/" + name + ".js"), name + ".js", 1, null);
        }
    }

    private static Context context() {
        Context context = Context.enter();
        context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
        return context;
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
        try (Context context = context()) {
            Object[] converted = Stream.of(arguments)
                    .map(argument -> argument instanceof double[] numbers
                            ? DoubleStream.of(numbers).boxed().toArray()
                            : argument)
                    .map(argument -> argument instanceof Object[] array
                            ? context.newArray(scope, Arrays.copyOf(array, array.length, Object[].class))
                            : argument)
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

    private Map<?, ?> fields() {
        return (Map<?, ?>) ((Map<?, ?>) scope.get("page")).get("fields");
    }

    /**
     * The positions of all controls.
     *
     * @param inputs the value of each input; for a slider of listed values, the index
     * @param values what they stand for
     */
    record Settings(Map<String, Object> inputs, Map<String, Object> values) {

        String text(String control) {
            return values.get(control).toString();
        }

        int integer(String control) {
            return (int) number(control);
        }

        double number(String control) {
            return ((Number) values.get(control)).doubleValue();
        }
    }

    /** Draws the position of each control at random; a quarter of the sliders are at an end. */
    Settings random(Random random) {
        Settings settings = new Settings(new LinkedHashMap<>(), new LinkedHashMap<>());
        fields().forEach((control, described) -> {
            Map<?, ?> field = (Map<?, ?>) described;
            Object input;
            Object value;
            if (field.get("text") instanceof CharSequence text) {
                input = value = text.toString();
            } else if (field.get("options") instanceof Map<?, ?> options) {
                List<?> names = List.copyOf(options.keySet());
                input = value = names.get(random.nextInt(names.size())).toString();
            } else if (field.get("values") instanceof List<?> values) {
                int index = step(random, values.size());
                input = index;
                value = values.get(index);
            } else {
                double min = ((Number) field.get("min")).doubleValue();
                double max = ((Number) field.get("max")).doubleValue();
                double step = field.get("step") instanceof Number number ? number.doubleValue() : 1;
                // as the decimal number that the browser has
                input = value =
                        Math.rint(100 * (min + step * step(random, (int) Math.rint((max - min) / step) + 1))) / 100;
            }
            settings.inputs().put((String) control, input);
            settings.values().put((String) control, value);
        });
        return settings;
    }

    private static int step(Random random, int count) {
        return switch (random.nextInt(8)) {
            case 0 -> 0;
            case 1 -> count - 1;
            default -> random.nextInt(count);
        };
    }
}
