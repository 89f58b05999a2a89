package io.github.djlpositional;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * Dependencies point one way: huggingface → weights → transformer → relative → attention → absolute encodings →
 * internal → math → internal.options → options. Of DJL, the library depends on the API only.
 */
@TestInstance(Lifecycle.PER_CLASS) // the library is imported once
public class ArchitectureTest {

    private static final URI CLASSES = URI.create(OptionsBlock.class
            .getProtectionDomain()
            .getCodeSource()
            .getLocation()
            .toString());

    private final JavaClasses library = new ClassFileImporter().importPath(Path.of(CLASSES));

    /** The classes of the library that fulfil a condition. */
    public static List<Class<?>> typesOfTheLibrary(Predicate<Class<?>> condition) {
        return ReflectionSupport.findAllClassesInClasspathRoot(CLASSES, condition, name -> true);
    }

    /** The names of the library's public concrete classes of a type. */
    public static Set<String> concrete(Class<?> type) {
        return typesOfTheLibrary(type::isAssignableFrom).stream()
                .filter(each -> Modifier.isPublic(each.getModifiers()) && !Modifier.isAbstract(each.getModifiers()))
                .map(Class::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The packages that each package depends on, besides itself; {@code .} is that of the absolute encodings. */
    private static final String DEPENDENCIES = """
            options java..
            internal.options java.. options
            math java.. options internal.options
            internal java.. com.sun.management.. ai.djl.. com.google.gson.. org.slf4j.. options internal.options math
            . java.. ai.djl.. options internal.options math internal
            attention java.. ai.djl.. options internal.options math internal .
            relative java.. ai.djl.. options internal.options math internal . attention
            transformer java.. ai.djl.. options internal.options math internal . attention
            internal.types java.. options . attention relative transformer
            weights java.. ai.djl.. com.google.gson.. options internal.options math internal . attention transformer
            huggingface java.. ai.djl.. com.google.gson.. options internal.options math internal . attention relative transformer weights
            """;

    private static String packageOf(String name) {
        return name.endsWith("..") ? name : "io.github.djlpositional" + (name.equals(".") ? "" : "." + name);
    }

    @Test
    void packagesDependOneWay() {
        List<String[]> packages = DEPENDENCIES
                .lines()
                .map(line -> Stream.of(line.split(" ", -1))
                        .map(ArchitectureTest::packageOf)
                        .toArray(String[]::new))
                .toList();
        assertThat(library.stream().map(JavaClass::getPackageName).collect(Collectors.toSet()))
                .containsExactlyInAnyOrderElementsOf(
                        packages.stream().map(names -> names[0]).toList());
        packages.forEach(names -> classes()
                .that()
                .resideInAPackage(names[0])
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(names)
                .check(library));
    }

    @Test
    void noEngineIsADependency() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ai.djl.pytorch..", "ai.djl.mxnet..")
                .check(library);
    }

    /** Reading values waits for a GPU: a forward must not do it, except for a check that was asked for. */
    @Test
    void valuesAreReadInFewPlaces() {
        onlyIn(
                "reads an array's values",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && SimulatedGpuEngine.READS.matcher(call.getName()).matches(),
                HostData.class);
    }

    /** Only some classes call such methods, besides the package that reads files, where no gradient is recorded. */
    private void onlyIn(String what, Predicate<JavaMethodCall> calls, Class<?>... types) {
        noClasses()
                .that()
                .resideOutsideOfPackage(packageOf("weights"))
                .and()
                .doNotBelongToAnyOf(types)
                .should()
                .callMethodWhere(DescribedPredicate.describe(what, calls))
                .check(library);
    }

    private static boolean hasFirstParameter(JavaMethodCall call, Class<?> type) {
        return call.getTarget().getRawParameterTypes().stream()
                .findFirst()
                .filter(first -> first.isEquivalentTo(type))
                .isPresent();
    }

    /** A number that PyTorch keeps for the gradient must not be in memory that Java frees. */
    @Test
    void arraysAreMultipliedByNumbersInOnePlace() {
        onlyIn(
                "multiplies by a number",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName().matches("(mul|div|pow)i?")
                        && hasFirstParameter(call, Number.class),
                Arithmetic.class);
    }

    /** An encoding declares its terms: the attention does the same for this library's encodings and for a user's. */
    @Test
    void theAttentionKnowsNoEncoding() {
        DescribedPredicate<JavaClass> encodings = JavaClass.Predicates.assignableTo(RelativeEncoding.class)
                .and(not(equivalentTo(RelativeEncoding.class)));
        noClasses()
                .that()
                .resideInAnyPackage(packageOf("attention"), packageOf("transformer"))
                .should()
                .dependOnClassesThat(encodings)
                .check(library);
    }

    /** No gradient passes these operations of DJL on PyTorch, and none is recorded for reading. */
    @Test
    void arraysAreConvertedInOnePlace() {
        onlyIn(
                "converts an array so that no gradient passes",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName().equals("toType"),
                Arithmetic.class,
                HostData.class);
    }

    /** An array that is created from memory of Java is copied to a GPU, which waits for it. */
    @Test
    void arraysAreCreatedFromJavaMemoryInOnePlace() {
        onlyIn(
                "creates an array from memory of Java",
                call -> call.getTargetOwner().isAssignableTo(NDManager.class)
                        && call.getName().equals("create")
                        && !hasFirstParameter(call, Shape.class),
                HostData.class);
    }
}
