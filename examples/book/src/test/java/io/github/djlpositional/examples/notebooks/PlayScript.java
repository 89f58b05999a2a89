package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
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
            context.evaluateString(scope, source("play"), "play.js", 1, null);
            // the page that the script would start
            context.evaluateString(scope, "var page; play.start = (name, started) => { page = started; }", "", 1, null);
            context.evaluateString(scope, source(name), name + ".js", 1, null);
        }
    }

    private static Context context() {
        Context context = Context.enter();
        context.setLanguageVersion(Context.VERSION_ECMASCRIPT);
        return context;
    }

    /** Returns a script, as a page contains it. */
    static String source(String name) {
        try {
            return new String(
                    new Resource("/play/" + name + ".js", "djl-positional-examples").read(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Calls a function of the script with numbers, strings and arrays of numbers. */
    <T> T call(Class<T> type, String function, Object... arguments) {
        try (Context context = context()) {
            Object[] converted = Stream.of(arguments)
                    .map(argument -> argument instanceof double[] numbers
                            ? context.newArray(
                                    scope, DoubleStream.of(numbers).boxed().toArray())
                            : argument)
                    .toArray();
            ScriptableObject object = (ScriptableObject) scope.get(name);
            return type.cast(Context.jsToJava(ScriptableObject.callMethod(context, object, function, converted), type));
        }
    }

    /**
     * The positions of all controls.
     *
     * @param inputs the value of each input; for a slider of listed values, the index
     * @param values what they stand for
     */
    record Settings(Map<String, Object> inputs, Map<String, Object> values) {

        private void put(Object control, Object input, Object value) {
            inputs.put((String) control, input);
            values.put((String) control, value);
        }

        String text(String control) {
            return (String) values.get(control);
        }

        int integer(String control) {
            return (int) number(control);
        }

        double number(String control) {
            return ((Number) values.get(control)).doubleValue();
        }

        /** Returns the library's encoding for the settings of sinusoids. */
        SinusoidalEncoding encoding() {
            int size = integer("size");
            double base = number("base");
            SinusoidalEncoding.Builder builder =
                    SinusoidalEncoding.builder().setEmbeddingSize(size).optBase(base);
            return switch (text("convention")) {
                case "vaswani" -> SinusoidalEncoding.vaswani(size, base);
                case "tensor2tensor" -> SinusoidalEncoding.tensor2tensor(size, 1, base);
                case "xTransformers" ->
                    builder.optLayout(PairLayout.CONCATENATED).build();
                case "diffusion" ->
                    builder.optLayout(PairLayout.CONCATENATED)
                            .optCosineFirst(true)
                            .optOddSize(SinusoidalEncoding.OddSize.ZERO_PADDED)
                            .build();
                default -> throw new AssertionError(text("convention"));
            };
        }

        /** Returns the library's scaling for the settings of contexts. */
        RotaryScaling scaling() {
            double factor = number("factor");
            return switch (text("scaling")) {
                case "none" -> RotaryScaling.none();
                case "linear" -> RotaryScaling.linear(factor);
                case "ntk" -> RotaryScaling.ntkAware(factor);
                case "yarn" -> RotaryScaling.yarn(factor, integer("length"));
                case "llama3" -> RotaryScaling.llama3(factor, 1, 4, integer("length"));
                default -> throw new AssertionError(text("scaling"));
            };
        }

        /** Returns the library's frequencies for the settings of contexts. */
        Frequencies frequencies() {
            return scaling().frequencies(integer("size"), 10_000);
        }
    }

    private Map<?, ?> fields() {
        return (Map<?, ?>) ((Map<?, ?>) scope.get("page")).get("fields");
    }

    /** Returns the names of a choice's options. */
    List<String> options(String control) {
        Map<?, ?> options = (Map<?, ?>) ((Map<?, ?>) fields().get(control)).get("options");
        return options.keySet().stream().map(String.class::cast).toList();
    }

    /** Draws the position of each control at random; a quarter of the sliders are at an end. */
    Settings random(Random random) {
        Settings settings = new Settings(new LinkedHashMap<>(), new LinkedHashMap<>());
        fields().forEach((control, described) -> {
            Map<?, ?> field = (Map<?, ?>) described;
            if (field.containsKey("options")) {
                List<String> options = options((String) control);
                String option = options.get(random.nextInt(options.size()));
                settings.put(control, option, option);
            } else if (field.containsKey("values")) {
                List<?> values = (List<?>) field.get("values");
                int index = step(random, values.size());
                settings.put(control, index, values.get(index));
            } else {
                double min = ((Number) field.get("min")).doubleValue();
                double max = ((Number) field.get("max")).doubleValue();
                double step = field.get("step") instanceof Number number ? number.doubleValue() : 1;
                // as the decimal number that the browser has
                double value =
                        Math.rint(100 * (min + step * step(random, (int) Math.rint((max - min) / step) + 1))) / 100;
                settings.put(control, value, value);
            }
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
