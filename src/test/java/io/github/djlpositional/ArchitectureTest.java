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
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Dependencies point one way: weights → huggingface → transformer → relative → attention → absolute encodings →
 * internal → math → options. Of DJL, the library depends on the API only.
 */
public class ArchitectureTest {

    static final JavaClasses LIBRARY = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.djlpositional");

    /** The names of the library's public concrete classes of a type. */
    public static Set<String> concrete(Class<?> type) {
        return LIBRARY.stream()
                .filter(each -> each.isAssignableTo(type))
                .filter(each -> each.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(each -> !each.getModifiers().contains(JavaModifier.ABSTRACT))
                .map(JavaClass::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** The packages that each package depends on, besides itself and those of Java. */
    private static final Map<String, List<String>> DEPENDENCIES = Map.of(
            packageOf("options"), List.of(),
            packageOf("math"), List.of("options"),
            packageOf("internal"), List.of("ai.djl..", "com.google.gson..", "org.slf4j..", "options", "math"),
            packageOf(""), List.of("ai.djl..", "options", "math", "internal"),
            packageOf("attention"), List.of("ai.djl..", "options", "math", "internal", ""),
            packageOf("relative"), List.of("ai.djl..", "options", "math", "internal", "attention"),
            packageOf("transformer"), List.of("ai.djl..", "options", "math", "internal", "", "attention", "relative"),
            packageOf("weights"),
                    List.of(
                            "ai.djl..",
                            "com.google.gson..",
                            "options",
                            "math",
                            "internal",
                            "attention",
                            "transformer",
                            "huggingface"),
            packageOf("huggingface"),
                    List.of(
                            "ai.djl..",
                            "com.google.gson..",
                            "options",
                            "math",
                            "internal",
                            "",
                            "attention",
                            "relative",
                            "transformer"));

    private static String packageOf(String name) {
        return "io.github.djlpositional" + (name.isEmpty() ? "" : "." + name);
    }

    @Test
    void packagesDependOneWay() {
        assertThat(LIBRARY.stream().map(JavaClass::getPackageName).collect(Collectors.toSet()))
                .isEqualTo(DEPENDENCIES.keySet());
        DEPENDENCIES.forEach((name, others) -> classes()
                .that()
                .resideInAPackage(name)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(Stream.concat(
                                Stream.of("java..", name),
                                others.stream().map(other -> other.endsWith("..") ? other : packageOf(other)))
                        .toArray(String[]::new))
                .check(LIBRARY));
    }

    /** Code that one package needs belongs to that package. */
    @Test
    void internalIsSmall() {
        assertThat(LIBRARY.stream()
                        .filter(each -> each.getPackageName().equals(packageOf("internal")))
                        .filter(each ->
                                each.isTopLevelClass() && !each.getSimpleName().equals("package-info")))
                .hasSizeLessThanOrEqualTo(15);
    }

    /** Gson comes with DJL's API. */
    @Test
    void noEngineIsADependencyAndFewClassesReadJson() {
        dependOn("ai.djl.pytorch..", "ai.djl.mxnet..").check(LIBRARY);
        DescribedPredicate<JavaClass> readers = JavaClass.Predicates.resideInAnyPackage(
                        packageOf("weights"), packageOf("huggingface"))
                .or(JavaClass.Predicates.belongToAnyOf(Json.class).or(JavaClass.Predicates.simpleName("ModelFile")));
        dependOn("com.google.gson..").check(LIBRARY.that(DescribedPredicate.not(readers)));
    }

    private static ArchRule dependOn(String... packages) {
        return noClasses().should().dependOnClassesThat().resideInAnyPackage(packages);
    }

    /** Reading values waits for a GPU: a forward must not do it, except for a check that was asked for. */
    @Test
    void valuesAreReadInFewPlaces() {
        onlyIn(
                HostData.class,
                "reads an array's values",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && SimulatedGpuEngine.READS.matcher(call.getName()).matches());
    }

    /**
     * A range check, real positions, the padding of images, initial encodings, a model file; and on a CPU, what a block
     * warns of.
     */
    @Test
    void fewClassesAskForValues() {
        Predicate<JavaMethodCall> asksForValues = call -> call.getTargetOwner().isEquivalentTo(HostData.class)
                && call.getName().matches("read|doubles");
        assertThat(LIBRARY.stream()
                        .filter(each -> !each.getPackageName().equals(packageOf("weights")))
                        .filter(each -> each.getMethodCallsFromSelf().stream().anyMatch(asksForValues))
                        .map(JavaClass::getSimpleName))
                .containsExactlyInAnyOrder(
                        HostData.class.getSimpleName(),
                        Indices.class.getSimpleName(),
                        "ModelFile",
                        "InputMistakes",
                        "GridPositionalEncodingBlock",
                        "Positions",
                        "Encodings",
                        "TransformerXlPositionBlock",
                        "Window",
                        "Builder");
    }

    /** Only one class calls such methods, besides the package that reads files, where no gradient is recorded. */
    private static void onlyIn(Class<?> type, String what, Predicate<JavaMethodCall> calls) {
        onlyIn(List.of(type), what, calls);
    }

    private static void onlyIn(List<Class<?>> types, String what, Predicate<JavaMethodCall> calls) {
        noClasses()
                .that()
                .resideOutsideOfPackage(packageOf("weights"))
                .and()
                .doNotBelongToAnyOf(types.toArray(Class<?>[]::new))
                .should()
                .callMethodWhere(DescribedPredicate.describe(what, calls))
                .check(LIBRARY);
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
                Arithmetic.class,
                "multiplies by a number",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName().matches("(mul|div|pow)i?")
                        && hasFirstParameter(call, Number.class));
    }

    /** An encoding declares its terms: the attention does the same for this library's encodings and for a user's. */
    @Test
    void theAttentionKnowsNoEncoding() {
        DescribedPredicate<JavaClass> encodings = JavaClass.Predicates.assignableTo(RelativeEncoding.class)
                .and(not(equivalentTo(RelativeEncoding.class)));
        noClasses()
                .that()
                .resideInAnyPackage(packageOf("attention"), packageOf("transformer"))
                .and()
                .doNotHaveSimpleName("LibraryTypes")
                .should()
                .dependOnClassesThat(encodings)
                .check(LIBRARY);
    }

    /** What the encodings of the library use, those of a program can use too. */
    @Test
    void encodingsUsePublicMembersOfAttentionsOnly() throws IOException {
        DescribedPredicate<JavaAccess<?>> isHidden = DescribedPredicate.describe(
                "a member that is not public",
                access -> access.getTargetOwner().getPackageName().equals(packageOf("attention"))
                        && !(access.getTargetOwner().getModifiers().contains(JavaModifier.PUBLIC)
                                && access.getTarget().resolveMember().stream()
                                        .allMatch(
                                                member -> member.getModifiers().contains(JavaModifier.PUBLIC))));
        noClasses()
                .that()
                .resideInAPackage(packageOf("relative"))
                .should()
                .accessTargetWhere(isHidden)
                .check(LIBRARY);
        try (Stream<Path> files = Files.list(Path.of("src/main/java/io/github/djlpositional/attention"))) {
            assertThat(files)
                    .hasSizeLessThanOrEqualTo(15)
                    .allSatisfy(file -> assertThat(Files.readAllLines(file))
                            .hasSizeLessThanOrEqualTo(450)
                            .noneMatch(line -> line.contains("@hidden")));
        }
    }

    /** No gradient passes these operations of DJL on PyTorch, and none is recorded for reading. */
    @Test
    void arraysAreConvertedInOnePlace() {
        onlyIn(
                List.of(Arithmetic.class, HostData.class),
                "converts an array so that no gradient passes",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName().equals("toType"));
    }

    /** An array that is created from memory of Java is copied to a GPU, which waits for it. */
    @Test
    void arraysAreCreatedFromJavaMemoryInOnePlace() {
        onlyIn(
                HostData.class,
                "creates an array from memory of Java",
                call -> call.getTargetOwner().isAssignableTo(NDManager.class)
                        && call.getName().equals("create")
                        && !hasFirstParameter(call, Shape.class));
    }
}
