package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Compares the public API with the one recorded in {@code src/test/resources/api.txt}, so that every change to it is
 * deliberate and visible in review. {@code mvn test -Dtest=ApiTest -Dapi.write=true} records the present API.
 *
 * <p>The API is every public member of every public type outside {@code internal}. Methods that a type shares with a
 * type of DJL or the JDK are left out, except where the return type is narrower.
 */
class ApiTest {

    private static final Path RECORDED = Path.of("src/test/resources/api.txt");

    @Test
    void publicApiIsTheRecordedOne() throws IOException {
        List<String> present = ArchitectureTest.typesOfTheLibrary(ApiTest::isPublic).stream()
                .sorted(Comparator.comparing(Class::getName))
                .flatMap(type -> Stream.concat(Stream.of(header(type)), members(type)))
                .toList();
        if (Boolean.getBoolean("api.write")) {
            Files.write(RECORDED, present);
        }
        assertThat(present)
                .as("the public API changed: if intended, run mvn test -Dtest=ApiTest -Dapi.write=true")
                .containsExactlyElementsOf(Files.readAllLines(RECORDED));
    }

    private static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers())
                && !type.getPackageName().contains(".internal")
                && (type.getEnclosingClass() == null || isPublic(type.getEnclosingClass()));
    }

    private static boolean isOfTheLibrary(Class<?> type) {
        return type.getPackageName().startsWith(ApiTest.class.getPackageName());
    }

    /** All supertypes, except for Object. */
    private static Stream<Class<?>> supertypes(Class<?> type) {
        return Stream.concat(Stream.ofNullable(type.getSuperclass()), Arrays.stream(type.getInterfaces()))
                .filter(each -> each != Object.class)
                .flatMap(each -> Stream.concat(Stream.of(each), supertypes(each)));
    }

    /** The type with its public supertypes. */
    private static String header(Class<?> type) {
        String supertypes = supertypes(type)
                .filter(each -> Modifier.isPublic(each.getModifiers()))
                .map(Class::getName)
                .filter(name -> !name.contains(".internal."))
                .sorted()
                .distinct()
                .collect(Collectors.joining(", ", " of ", ""))
                .replaceFirst(" of $", "");
        String kind = type.isEnum() ? " enum" : type.isRecord() ? " record" : type.isInterface() ? "" : " class";
        String isSealed = type.isSealed() ? "sealed " : "";
        return type.getName() + ": " + isSealed + Modifier.toString(type.getModifiers()) + kind + supertypes;
    }

    private static Stream<String> members(Class<?> type) {
        return Stream.<Member[]>of(type.getFields(), type.getConstructors(), type.getMethods())
                .flatMap(Arrays::stream)
                .filter(each -> isOfTheLibrary(each.getDeclaringClass()))
                .filter(each ->
                        !(each instanceof Method method) || !(isNarrowed(type, method) || isInherited(type, method)))
                .map(each -> "    " + text(each))
                .sorted()
                .distinct();
    }

    /** The same whichever class of the library declares it. */
    private static String text(Member member) {
        String generic =
                member instanceof Field field ? field.toGenericString() : ((Executable) member).toGenericString();
        boolean isDeprecated = ((AnnotatedElement) member).isAnnotationPresent(Deprecated.class);
        return generic.replace(member.getDeclaringClass().getTypeName() + "." + member.getName(), member.getName())
                        .replaceAll("\\b(public|final|synchronized|native) ", "")
                + (isDeprecated ? " @Deprecated" : "");
    }

    /**
     * Whether the compiler added the method, because one with the same parameters returns a narrower type. It also adds
     * methods to a public class for those of a superclass that is not public; these are part of the API.
     */
    private static boolean isNarrowed(Class<?> type, Method method) {
        return method.isBridge()
                && Arrays.stream(type.getMethods()).anyMatch(each -> !each.isBridge() && hasParametersOf(each, method));
    }

    /** Whether a supertype from outside the library has the same method. */
    private static boolean isInherited(Class<?> type, Method method) {
        return !Modifier.isStatic(method.getModifiers())
                && Stream.concat(Stream.of(Object.class), supertypes(type))
                        .filter(each -> !isOfTheLibrary(each))
                        .flatMap(each -> Arrays.stream(each.getMethods()))
                        .anyMatch(each ->
                                each.getReturnType() == method.getReturnType() && hasParametersOf(each, method));
    }

    private static boolean hasParametersOf(Method method, Method other) {
        return method.getName().equals(other.getName())
                && Arrays.equals(method.getParameterTypes(), other.getParameterTypes());
    }
}
