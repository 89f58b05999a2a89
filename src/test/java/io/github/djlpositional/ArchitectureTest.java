package io.github.djlpositional;

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
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.ModelFile;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Dependencies point one way: blocks → internal → math → arguments; of DJL, the library depends on the API only. */
public class ArchitectureTest {

    static final JavaClasses LIBRARY = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.djlpositional");

    /** The names of the library's concrete classes of a type. */
    public static Set<String> concrete(Class<?> type) {
        return LIBRARY.stream()
                .filter(each -> each.isAssignableTo(type))
                .filter(each -> !each.getModifiers().contains(JavaModifier.ABSTRACT))
                .map(JavaClass::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @ParameterizedTest
    @CsvSource({
        "arguments, java..",
        "math, java..;arguments",
        "internal, java..;ai.djl..;com.google.gson..;arguments;math",
        "'', java..;ai.djl..;arguments;math;internal",
        "attention, java..;ai.djl..;arguments;math;internal",
        "weights, java..;ai.djl..;com.google.gson..;arguments;math;internal;attention"
    })
    void aPackageDependsOnlyOn(String name, String others) {
        String own = name.isEmpty() ? packageOf("") : packageOf(name);
        String[] allowed = Set.of((others + ";" + name).split(";", -1)).stream()
                .map(each -> each.endsWith("..") ? each : packageOf(each))
                .toArray(String[]::new);
        classes()
                .that()
                .resideInAPackage(own)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(allowed)
                .check(LIBRARY);
    }

    private static String packageOf(String name) {
        return "io.github.djlpositional" + (name.isEmpty() ? "" : "." + name);
    }

    @Test
    void everyPackageHasARule() {
        assertThat(LIBRARY.stream().map(JavaClass::getPackageName).collect(Collectors.toSet()))
                .containsExactlyInAnyOrder(
                        packageOf(""),
                        packageOf("arguments"),
                        packageOf("math"),
                        packageOf("internal"),
                        packageOf("attention"),
                        packageOf("weights"));
    }

    /** Code that one package needs belongs to that package. */
    @Test
    void internalIsSmall() {
        assertThat(LIBRARY.stream()
                        .filter(each -> each.getPackageName().equals(packageOf("internal")))
                        .filter(each ->
                                each.isTopLevelClass() && !each.getSimpleName().equals("package-info")))
                .hasSizeLessThanOrEqualTo(10);
    }

    @Test
    void noEngineIsADependency() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ai.djl.pytorch..", "ai.djl.mxnet..")
                .check(LIBRARY);
    }

    /** Gson comes with DJL's API. */
    @Test
    void jsonIsReadByModelFilesAndWeights() {
        noClasses()
                .that()
                .resideOutsideOfPackage(packageOf("weights"))
                .and()
                .doNotBelongToAnyOf(ModelFile.class)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.google.gson..")
                .check(LIBRARY);
    }

    /** Reading values waits for a GPU: a forward must not do it, except for a check that was asked for. */
    @Test
    void valuesAreReadInFewPlaces() {
        onlyIn(
                HostData.class,
                "reads an array's values",
                call -> call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName()
                                .matches("to.*Array|toByteBuffer|toArray|get(Long|Int|Float|Double|Boolean|Byte|Uint8)"
                                        + "|contentEquals|allClose|encode|toDebugString"));
    }

    /** A range check, real positions, initial encodings, and a model file. */
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
                        ModelFile.class.getSimpleName(),
                        "Positions",
                        "Computed",
                        "Builder");
    }

    /** Only one class calls such methods, and for arrays and Java's memory the package that reads files. */
    private static void onlyIn(Class<?> type, String what, Predicate<JavaMethodCall> calls) {
        boolean readsFiles = type == HostData.class;
        noClasses()
                .that()
                .resideOutsideOfPackage(readsFiles ? packageOf("weights") : "")
                .and()
                .doNotBelongToAnyOf(type)
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
