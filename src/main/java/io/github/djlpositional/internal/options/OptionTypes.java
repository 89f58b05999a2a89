package io.github.djlpositional.internal.options;

import io.github.djlpositional.options.TypeProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/**
 * The classes that options may name, of this library and of others: see {@link TypeProvider}. They are looked up with
 * the class loader of the library, and then with the context class loader of the thread.
 */
public final class OptionTypes {

    private OptionTypes() {}

    /**
     * {@return the classes of a type by their first names, in the order of their providers}
     *
     * @throws IllegalStateException if two classes have the same name
     */
    public static Map<String, Class<?>> of(Class<?> type) {
        Map<String, Class<?>> first = new LinkedHashMap<>();
        names(type).forEach((name, named) -> {
            if (!first.containsValue(named)) {
                first.put(name, named);
            }
        });
        return Collections.unmodifiableMap(first);
    }

    /**
     * {@return the class of a type that has a name, in any case, and with or without spaces, hyphens and underscores}
     *
     * @param what describes the type in messages
     * @throws IllegalArgumentException if no class has this name
     * @throws IllegalStateException if two classes have the same name
     */
    public static Class<?> named(Class<?> type, String what, String name) {
        Map<String, Class<?>> names = names(type);
        return names.keySet().stream()
                .filter(each -> name != null && plain(each).equals(plain(name)))
                .findFirst()
                .<Class<?>>map(names::get)
                .orElseThrow(() -> new IllegalArgumentException(what + " " + Settings.shown(name) + ": expected one of "
                        + names.keySet() + ", in any case; use one of these names"));
    }

    /** The segment of a name that distinguishes it from others. */
    private static String plain(String name) {
        return name.replaceAll("[\\s_-]", "").toLowerCase(Locale.ROOT);
    }

    private static Map<String, Class<?>> names(Class<?> type) {
        Map<String, Class<?>> found = new LinkedHashMap<>();
        Map<String, Class<?>> plain = new HashMap<>();
        Map<String, Class<?>> simple = new HashMap<>();
        Stream.of(OptionTypes.class.getClassLoader(), Thread.currentThread().getContextClassLoader())
                .distinct()
                .flatMap(loader -> ServiceLoader.load(TypeProvider.class, loader).stream())
                .map(ServiceLoader.Provider::type)
                .distinct()
                .flatMap(provider -> create(provider).types().entrySet().stream())
                .forEach(entry -> {
                    add(simple, entry.getValue().getSimpleName(), entry.getValue());
                    add(plain, plain(entry.getKey()), entry.getValue());
                    found.put(entry.getKey(), entry.getValue());
                });
        found.values().removeIf(each -> !type.isAssignableFrom(each));
        return found;
    }

    private static void add(Map<String, Class<?>> classes, String name, Class<?> added) {
        Class<?> other = classes.putIfAbsent(name, added);
        if (other != null && other != added) {
            throw new IllegalStateException("the name " + name + " of " + added.getName() + " is also the name of "
                    + other.getName() + ": expected different names; rename one of them");
        }
    }

    private static TypeProvider create(Class<? extends TypeProvider> provider) {
        try {
            return provider.getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    provider.getName() + " cannot be created: expected a public constructor without parameters; add it",
                    e);
        }
    }

    /**
     * Creates an object of a type from its arguments; {@code type} names the class.
     *
     * @throws IllegalArgumentException if there is no such class, or an argument is missing, unknown, of another type
     *     or out of range
     */
    public static Object create(String owner, Class<?> wanted, Map<?, ?> map) {
        return create(owner, owner, wanted, map);
    }

    static Object create(String owner, String key, Class<?> wanted, Map<?, ?> map) {
        if (!wanted.isInterface() && hasFactory(wanted)) {
            return create(wanted, map);
        }
        Object name = map.get(Settings.TYPE);
        List<Class<?>> fitting = of(wanted).values().stream().distinct().toList();
        Class<?> chosen = fitting.stream()
                .filter(each -> each.getSimpleName().equals(name))
                .findFirst()
                .orElseThrow(() -> Settings.invalid(
                        owner,
                        key + "." + Settings.TYPE,
                        name,
                        "one of " + fitting.stream().map(Class::getSimpleName).toList()));
        return create(chosen, map);
    }

    /**
     * Creates an object of a class from its arguments.
     *
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static Object create(Class<?> type, Map<?, ?> arguments) {
        try {
            return type.getMethod("fromArguments", Map.class).invoke(null, arguments);
        } catch (ReflectiveOperationException e) {
            throw unwrap(e);
        }
    }

    /** {@return the names of the methods of a class's builder; none if it has no builder} */
    public static List<String> settersOf(Class<?> type) {
        return Stream.of(type.getMethods())
                .filter(method -> method.getName().equals("builder"))
                .flatMap(method -> Stream.of(method.getReturnType().getMethods()))
                .map(Method::getName)
                .distinct()
                .toList();
    }

    private static boolean hasFactory(Class<?> type) {
        return Stream.of(type.getMethods()).anyMatch(method -> method.getName().equals("fromArguments"));
    }

    static RuntimeException unwrap(ReflectiveOperationException e) {
        if (e instanceof InvocationTargetException && e.getCause() instanceof RuntimeException thrown) {
            return thrown;
        }
        return new IllegalStateException(
                "options cannot be read or created: in a named module, open the package of the record to this library",
                e);
    }
}
