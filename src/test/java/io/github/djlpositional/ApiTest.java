package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Compares the public API with the one recorded in {@code src/test/resources/api.txt}, so that every change to it is
 * deliberate and visible in review. {@code mvn test -Dtest=ApiTest -Dapi.write=true} records the present API.
 *
 * <p>The API is every public member of every public type outside {@code internal}. Methods that a type shares with a
 * type of DJL or the JDK are left out, except where the return type is narrower.
 */
class ApiTest {

    private static final String LIBRARY = ArchitectureTest.class.getPackageName();

    private static final Path RECORDED = Path.of("src/test/resources/api.txt");

    @Test
    void publicApiIsTheRecordedOne() throws IOException {
        String present = present();
        if (Boolean.getBoolean("api.write")) {
            Files.writeString(RECORDED, present);
        }
        List<String> recorded = Files.readAllLines(RECORDED);
        List<String> now = present.lines().toList();
        assertThat(now)
                .as(
                        "the public API changed: removed %s, added %s; "
                                + "if intended, run mvn test -Dtest=ApiTest -Dapi.write=true",
                        without(recorded, now), without(now, recorded))
                .isEqualTo(recorded);
    }

    private static List<String> without(List<String> lines, List<String> others) {
        List<String> left = new ArrayList<>(lines);
        others.forEach(left::remove);
        return left;
    }

    private static String present() {
        TreeMap<String, Set<String>> types = new TreeMap<>();
        for (JavaClass each : ArchitectureTest.LIBRARY) {
            if (isPublic(each)) {
                Class<?> type = each.reflect();
                types.put(header(type), members(type));
            }
        }
        StringBuilder text = new StringBuilder();
        types.forEach((header, members) -> {
            text.append(header).append('\n');
            members.forEach(member -> text.append("    ").append(member).append('\n'));
        });
        return text.toString();
    }

    private static boolean isPublic(JavaClass type) {
        return type.getModifiers().contains(JavaModifier.PUBLIC)
                && !isInternal(type.getPackageName())
                && type.getEnclosingClass().map(ApiTest::isPublic).orElse(true);
    }

    private static boolean isInternal(String packageName) {
        return packageName.equals(LIBRARY + ".internal");
    }

    private static boolean isOfTheLibrary(Class<?> type) {
        return type.getPackageName().startsWith(LIBRARY);
    }

    /** The type with its public supertypes; internal ones are replaced by their own supertypes. */
    private static String header(Class<?> type) {
        Set<String> supertypes = new TreeSet<>();
        addSupertypes(type, supertypes);
        return type.getName() + ": " + kind(type)
                + (supertypes.isEmpty() ? "" : " of " + String.join(", ", supertypes));
    }

    private static String kind(Class<?> type) {
        String prefix = type.isSealed() ? "sealed " : "";
        if (type.isInterface()) {
            return prefix + "interface";
        }
        if (type.isEnum() || type.isRecord()) {
            return type.isEnum() ? "enum" : "record";
        }
        if (Modifier.isAbstract(type.getModifiers())) {
            return prefix + "abstract class";
        }
        return prefix + (Modifier.isFinal(type.getModifiers()) ? "final class" : "class");
    }

    private static void addSupertypes(Class<?> type, Set<String> names) {
        List<Class<?>> direct = new ArrayList<>(List.of(type.getInterfaces()));
        if (type.getSuperclass() != null) {
            direct.add(type.getSuperclass());
        }
        for (Class<?> each : direct) {
            if (isInternal(each.getPackageName()) || !Modifier.isPublic(each.getModifiers())) {
                addSupertypes(each, names);
            } else if (each != Object.class) {
                names.add(each.getName());
            }
        }
    }

    private static Set<String> members(Class<?> type) {
        Set<String> members = new TreeSet<>();
        for (Field field : type.getFields()) {
            if (isOfTheLibrary(field.getDeclaringClass())) {
                members.add(text(field.toGenericString(), field.getDeclaringClass(), field.getName()));
            }
        }
        for (Constructor<?> constructor : type.getConstructors()) {
            members.add(constructor.toGenericString().replace("public ", ""));
        }
        for (Method method : type.getMethods()) {
            if (isOfTheLibrary(method.getDeclaringClass()) && !isNarrowed(type, method) && !isInherited(type, method)) {
                members.add(text(method.toGenericString(), method.getDeclaringClass(), method.getName())
                        + deprecation(method));
            }
        }
        return members;
    }

    private static String deprecation(Executable method) {
        return method.isAnnotationPresent(Deprecated.class) ? " @Deprecated" : "";
    }

    /**
     * Whether the compiler added the method, because one with the same parameters returns a narrower type. It also adds
     * methods to a public class for those of a superclass that is not public; these are part of the API.
     */
    private static boolean isNarrowed(Class<?> type, Method method) {
        return method.isBridge()
                && Arrays.stream(type.getMethods())
                        .anyMatch(each -> !each.isBridge()
                                && each.getName().equals(method.getName())
                                && Arrays.equals(each.getParameterTypes(), method.getParameterTypes()));
    }

    /** The same whichever class of the library declares it. */
    private static String text(String generic, Class<?> declaring, String name) {
        return generic.replace(declaring.getTypeName() + "." + name, name)
                .replaceAll("\\b(public|final|synchronized|native) ", "");
    }

    /** Whether a supertype from outside the library declares the same method. */
    private static boolean isInherited(Class<?> type, Method method) {
        if (Modifier.isStatic(method.getModifiers())) {
            return false;
        }
        List<Class<?>> supertypes = new ArrayList<>(List.of(type.getInterfaces()));
        supertypes.add(type.getSuperclass() == null ? Object.class : type.getSuperclass());
        return supertypes.stream().anyMatch(each -> declares(each, method));
    }

    private static boolean declares(Class<?> type, Method method) {
        Type[] parameters = method.getParameterTypes();
        if (!isOfTheLibrary(type)) {
            return Arrays.stream(type.getMethods())
                    .anyMatch(each -> each.getName().equals(method.getName())
                            && each.getReturnType() == method.getReturnType()
                            && Arrays.equals(each.getParameterTypes(), parameters));
        }
        return type != Object.class && isInherited(type, method);
    }
}
