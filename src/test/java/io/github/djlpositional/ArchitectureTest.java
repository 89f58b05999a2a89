package io.github.djlpositional;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Who may know whom: attention → blocks → internal → math, and of DJL the API alone. */
class ArchitectureTest {

    private static final JavaClasses LIBRARY = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.github.djlpositional");

    @Test
    void mathIsPlainJava() {
        classes()
                .that()
                .resideInAPackage("..math..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "io.github.djlpositional.math..")
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
                        "java..", "ai.djl..", "io.github.djlpositional.math..", "io.github.djlpositional.internal..")
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
    void libraryKnowsTheApiAndNoEngine() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("ai.djl.pytorch..", "ai.djl.mxnet..")
                .check(LIBRARY);
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "ai.djl..", "io.github.djlpositional..")
                .check(LIBRARY);
    }
}
