package io.github.djlpositional.internal.options;

import io.github.djlpositional.options.TypeProvider;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.AbstractMap;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The classes that options may name: a fixed table of this library's, and those of {@link TypeProvider}s. Providers are
 * looked up with the class loader of the library, those of the calling classes, and the context class loader of the
 * thread: in OSGi and in plugins, the last one is often null, another plugin's, or that of another copy of the library.
 */
public final class OptionTypes {

    /** The table of the library's classes; this package depends on none of them. */
    private static final String LIBRARY = "io.github.djlpositional.internal.types.LibraryTypes";

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
        Predicate<Map.Entry<String, Class<?>>> isNamed =
                entry -> name != null && plain(entry.getKey()).equals(plain(name));
        return find(type, isNamed)
                .orElseThrow(() -> new IllegalArgumentException(what + " " + Settings.shown(name) + ": expected one of "
                        + names(type).keySet() + ", in any case; use one of these names"));
    }

    /** A class of the library, or if there is none, a user's: services are looked up for those only. */
    private static Optional<Class<?>> find(Class<?> type, Predicate<Map.Entry<String, Class<?>>> isWanted) {
        Supplier<Map<String, Class<?>>> ofLibrary = () -> Library.TYPES;
        Supplier<Map<String, Class<?>>> ofAll = () -> names(type);
        return Stream.of(ofLibrary, ofAll)
                .flatMap(types -> types.get().entrySet().stream())
                .filter(entry -> type.isAssignableFrom(entry.getValue()) && isWanted.test(entry))
                .<Class<?>>map(Map.Entry::getValue)
                .findFirst();
    }

    /** The segment of a name that distinguishes it from others. */
    private static String plain(String name) {
        return name.replaceAll("[\\s_-]", "").toLowerCase(Locale.ROOT);
    }

    /** The classes of a type by all of their names: those of the library, of the nearest caller, and so on. */
    private static Map<String, Class<?>> names(Class<?> type) {
        Map<String, Class<?>> found = new LinkedHashMap<>(Library.TYPES);
        loaders().forEach(loader -> {
            Map<String, Class<?>> seen = new LinkedHashMap<>(Library.TYPES);
            providers(loader).forEach(each -> addAll(seen, each.types()));
            seen.forEach(found::putIfAbsent);
        });
        found.values().removeIf(each -> !type.isAssignableFrom(each));
        return found;
    }

    /** The class loaders that may have providers for this copy of the library. */
    private static Stream<ClassLoader> loaders() {
        Stream<ClassLoader> callers = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
                .walk(frames -> frames.map(frame -> frame.getDeclaringClass().getClassLoader())
                        .distinct()
                        .toList())
                .stream();
        return Stream.of(
                        Stream.of(OptionTypes.class.getClassLoader()),
                        callers,
                        Stream.ofNullable(Thread.currentThread().getContextClassLoader()))
                .flatMap(each -> each)
                .distinct()
                .filter(OptionTypes::seesThisLibrary);
    }

    /** Whether the classes of a loader can implement this library's interface, not that of another copy. */
    private static boolean seesThisLibrary(ClassLoader loader) {
        try {
            return Class.forName(TypeProvider.class.getName(), false, loader) == TypeProvider.class;
        } catch (ClassNotFoundException | LinkageError | IllegalStateException e) {
            // that of an application that was stopped throws IllegalStateException
            return false;
        }
    }

    private static List<TypeProvider> providers(ClassLoader loader) {
        try {
            return ServiceLoader.load(TypeProvider.class, loader).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList();
        } catch (ServiceConfigurationError e) {
            throw new IllegalStateException(
                    "a provider of classes for arguments cannot be created (" + e.getMessage()
                            + "): expected a public class with a public constructor without parameters that implements "
                            + TypeProvider.class.getSimpleName()
                            + "; correct META-INF/services or the module, or add the class",
                    e);
        }
    }

    /** Adds the classes of a provider to those that a class loader sees, where no two may have the same name. */
    private static void addAll(Map<String, Class<?>> types, Map<String, Class<?>> added) {
        added.forEach((name, type) -> {
            types.forEach((otherName, other) -> {
                if (type != other) {
                    requireDifferent(plain(name), plain(otherName), type, other);
                    requireDifferent(type.getSimpleName(), other.getSimpleName(), type, other);
                }
            });
            types.put(name, type);
        });
    }

    private static void requireDifferent(String name, String otherName, Class<?> type, Class<?> other) {
        if (name.equals(otherName)) {
            throw new IllegalStateException("the name " + name + " of " + type.getName() + " is also the name of "
                    + other.getName() + ": expected different names; rename one of them");
        }
    }

    /** The table is read once, when it is first needed. */
    private static final class Library {

        static final Map<String, Class<?>> TYPES = read();

        private static Map<String, Class<?>> read() {
            try {
                Class<?> table = Class.forName(LIBRARY, true, OptionTypes.class.getClassLoader());
                return ((TypeProvider) table.getConstructor().newInstance()).types();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(
                        "the library lacks " + LIBRARY
                                + ": expected all of its classes; keep them when you shrink or repackage it",
                        e);
            }
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
        Class<?> chosen = find(wanted, entry -> entry.getValue().getSimpleName().equals(name))
                .orElseThrow(() -> Settings.invalid(
                        owner,
                        key + "." + Settings.TYPE,
                        name,
                        "one of "
                                + of(wanted).values().stream()
                                        .map(Class::getSimpleName)
                                        .toList()));
        return create(chosen, map);
    }

    /**
     * Creates an object of a class from its arguments and the sizes that it takes: those that its builder sets, or, for
     * a class without a builder, those that its factory asks for.
     *
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static Object create(Class<?> type, Map<?, ?> arguments, Map<String, ?> sizes) {
        List<Method> builders = Stream.of(type.getMethods())
                .filter(method -> method.getName().equals("builder"))
                .toList();
        if (builders.isEmpty()) {
            return create(type, new WithDefaults(arguments, sizes));
        }
        List<String> setters = builders.stream()
                .flatMap(method -> Stream.of(method.getReturnType().getMethods()))
                .map(Method::getName)
                .toList();
        Map<Object, Object> all = new LinkedHashMap<>(sizes);
        all.keySet().removeIf(size -> setters.stream().noneMatch(("set" + size)::equalsIgnoreCase));
        all.putAll(arguments);
        return create(type, all);
    }

    /**
     * Arguments, and defaults for keys that they lack: {@code get} returns them, but they are not among the keys, so
     * that a factory that rejects unknown arguments rejects none of them.
     */
    private static final class WithDefaults extends AbstractMap<Object, Object> {

        private final Map<Object, Object> arguments;
        private final Map<String, ?> defaults;

        WithDefaults(Map<?, ?> arguments, Map<String, ?> defaults) {
            this.arguments = Collections.unmodifiableMap(arguments);
            this.defaults = defaults;
        }

        @Override
        public Set<Entry<Object, Object>> entrySet() {
            return arguments.entrySet();
        }

        @Override
        public boolean containsKey(Object key) {
            return arguments.containsKey(key) || defaults.containsKey(key);
        }

        @Override
        public Object get(Object key) {
            return arguments.containsKey(key) ? arguments.get(key) : defaults.get(key);
        }
    }

    private static Object create(Class<?> type, Map<?, ?> arguments) {
        try {
            return type.getMethod("fromArguments", Map.class).invoke(null, arguments);
        } catch (NoSuchMethodException | IllegalAccessException e) {
            throw new IllegalStateException(
                    type.getName() + " cannot be created from arguments (" + e.getMessage()
                            + "): expected a public class with a public static method fromArguments(Map); add it, and in"
                            + " a named module, export or open the package of the class",
                    e);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof NullPointerException || e.getCause() instanceof ClassCastException) {
                throw new IllegalArgumentException(
                        type.getSimpleName() + " cannot be created from the arguments "
                                + Settings.shown(arguments.keySet())
                                + ": expected those that its fromArguments reads, of the types that it reads;"
                                + " add or correct an argument (" + e.getCause().getMessage() + ")",
                        e.getCause());
            }
            throw unwrap(e);
        }
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
