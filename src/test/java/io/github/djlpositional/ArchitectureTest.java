package io.github.djlpositional;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

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
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.MachineMemory;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.RealPositions;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Who may know whom: attention → blocks → internal → math → arguments, weights → internal, and of DJL the API alone. */
public class ArchitectureTest {

    static final JavaClasses LIBRARY = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.djlpositional");

    /** The names of the library's classes of a type that can be made. */
    public static Set<String> concrete(Class<?> type) {
        return LIBRARY.stream()
                .filter(each -> each.isAssignableTo(type))
                .filter(each -> !each.getModifiers().contains(JavaModifier.ABSTRACT))
                .map(JavaClass::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void mathIsPlainJava() {
        classes()
                .that()
                .resideInAPackage("..math..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "io.github.djlpositional.math..", "io.github.djlpositional.arguments..")
                .check(LIBRARY);
    }

    @Test
    void argumentsKnowNothing() {
        classes()
                .that()
                .resideInAPackage("..arguments..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "io.github.djlpositional.arguments..")
                .check(LIBRARY);
    }

    @Test
    void whatBlocksAreMadeOfKnowsNoBlock() {
        classes()
                .that()
                .resideInAPackage("..internal..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "com.sun.management..",
                        "ai.djl..",
                        "io.github.djlpositional.arguments..",
                        "io.github.djlpositional.math..",
                        "io.github.djlpositional.internal..")
                .check(LIBRARY);
    }

    @Test
    void absoluteEncodingsKnowNoAttention() {
        noClasses()
                .that()
                .resideInAPackage("io.github.djlpositional")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("..attention..")
                .check(LIBRARY);
    }

    @Test
    void weightsKnowNoBlock() {
        classes()
                .that()
                .resideInAPackage("..weights..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "ai.djl..",
                        "com.google.gson..",
                        "io.github.djlpositional.math..",
                        "io.github.djlpositional.internal..",
                        "io.github.djlpositional.weights..")
                .check(LIBRARY);
        noClasses()
                .that()
                .resideOutsideOfPackage("..weights..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("..weights..")
                .check(LIBRARY);
    }

    /** The reader of JSON comes with DJL's API. */
    @Test
    void weightsAloneReadJson() {
        noClasses()
                .that()
                .resideOutsideOfPackage("..weights..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.google.gson..")
                .check(LIBRARY);
    }

    /** The one thing that the library asks of the JDK beyond Java SE: how much memory there is. */
    @Test
    void oneClassAsksTheJdkAboutTheMachine() {
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName(MachineMemory.class.getName())
                .should()
                .dependOnClassesThat()
                .resideInAPackage("com.sun.management..")
                .check(LIBRARY);
    }

    @Test
    void libraryKnowsTheApiAndNoEngine() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ai.djl.pytorch..", "ai.djl.mxnet..")
                .check(LIBRARY);
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..", "com.sun.management..", "ai.djl..", "com.google.gson..", "io.github.djlpositional..")
                .check(LIBRARY);
    }

    /** Whoever reads values waits for a GPU: a forward must not, but for a check that was asked for. */
    @Test
    void valuesAreReadInFewPlaces() {
        DescribedPredicate<JavaMethodCall> readsValues = new DescribedPredicate<>("reads an array's values") {
            @Override
            public boolean test(JavaMethodCall call) {
                return call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName()
                                .matches("to.*Array|toByteBuffer|toArray|get(Long|Int|Float|Double|Boolean|Byte|Uint8)"
                                        + "|contentEquals|allClose|encode|toDebugString");
            }
        };
        noClasses()
                .that()
                .resideOutsideOfPackage("..weights..")
                .and()
                // a range check; a GPU's array has no memory to be reached; positions that are encoded on the host
                .doNotHaveFullyQualifiedName(Indices.class.getName())
                .and()
                .doNotHaveFullyQualifiedName(HostData.class.getName())
                .and()
                .doNotHaveFullyQualifiedName(RealPositions.class.getName())
                // a builder, which copies a given array
                .and()
                .doNotHaveFullyQualifiedName(LearnedPositionalEncodingBlock.Builder.class.getName())
                .should()
                .callMethodWhere(readsValues)
                .check(LIBRARY);
    }

    private static boolean isGivenFirst(JavaMethodCall call, Class<?> type) {
        return call.getTarget().getRawParameterTypes().stream()
                .findFirst()
                .filter(first -> first.isEquivalentTo(type))
                .isPresent();
    }

    /** What PyTorch keeps of a product by a number, for the gradient, must not be Java's to free. */
    @Test
    void arraysAreMultipliedByNumbersInOnePlace() {
        DescribedPredicate<JavaMethodCall> byNumber = new DescribedPredicate<>("multiplies by a number") {
            @Override
            public boolean test(JavaMethodCall call) {
                return call.getTargetOwner().isAssignableTo(NDArray.class)
                        && call.getName().matches("(mul|div|pow)i?")
                        && isGivenFirst(call, Number.class);
            }
        };
        noClasses()
                .that()
                .doNotHaveFullyQualifiedName(Product.class.getName())
                .should()
                .callMethodWhere(byNumber)
                .check(LIBRARY);
    }

    /** An array that is made of Java's memory is copied to a GPU, and waits for it. */
    @Test
    void arraysAreMadeOfJavasMemoryInFewPlaces() {
        DescribedPredicate<JavaMethodCall> copies = new DescribedPredicate<>("makes an array of Java's memory") {
            @Override
            public boolean test(JavaMethodCall call) {
                return call.getTargetOwner().isAssignableTo(NDManager.class)
                        && call.getName().equals("create")
                        && !isGivenFirst(call, Shape.class);
            }
        };
        noClasses()
                .that()
                .resideOutsideOfPackage("..weights..")
                .and()
                // a table, made once for each device; positions that are encoded on the host
                .doNotHaveFullyQualifiedName(ConstantArray.class.getName())
                .and()
                .doNotHaveFullyQualifiedName(HostData.class.getName())
                .should()
                .callMethodWhere(copies)
                .check(LIBRARY);
    }
}
