package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.EngineTest.Selection;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.ReflectionSupport;

/** Runs a test on each engine; see {@link EngineTest}. */
public final class EngineTestExtension implements TestTemplateInvocationContextProvider {

    /** With {@code -Pgpu} the managers that tests are given are on the first GPU, unless they ask for the CPU. */
    private static final boolean ON_GPU = "gpu".equals(System.getProperty("test.device"));

    /** Every combination runs, with the tests that have the tag slow. */
    public static final boolean IS_NIGHTLY = !"slow".equals(System.getProperty("test.excludedGroups"));

    private static final List<String> ENGINES = List.of("PyTorch", "MXNet");

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return true;
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        EngineTest test = testOf(context);
        List<List<Object>> rows = ENGINES.stream()
                .filter(engine -> test.engine().isEmpty() || test.engine().equals(engine))
                .filter(engine -> test.value() == Selection.ALL || isAvailable(engine))
                .map(List::<Object>of)
                .toList();
        for (Class<?> type : context.getRequiredTestMethod().getParameterTypes()) {
            List<?> values = values(type, context.getRequiredTestClass());
            rows = rows.stream()
                    .flatMap(row -> values.stream()
                            .map(value -> Stream.concat(row.stream(), Stream.of(value))
                                    .toList()))
                    .toList();
        }
        if (!IS_NIGHTLY && test.value() != Selection.ALL) {
            rows = selected(rows, test.value(), context.getRequiredTestMethod().toString());
        }
        return rows.stream().map(OnEngine::new);
    }

    /** Takes the row that adds most, until nothing is missing. Tests of the same parameters have different rows. */
    private static List<List<Object>> selected(List<List<Object>> rows, Selection selection, String test) {
        List<List<Object>> left = new ArrayList<>(rows);
        Collections.shuffle(left, new Random(test.hashCode()));
        Set<List<Object>> missing = new HashSet<>();
        left.forEach(row -> missing.addAll(covered(row, selection)));
        Set<List<Object>> found = new HashSet<>();
        while (!missing.isEmpty()) {
            List<Object> best = Collections.max(
                    left,
                    Comparator.comparing(row -> covered(row, selection).stream()
                            .filter(missing::contains)
                            .count()));
            missing.removeAll(covered(best, selection));
            found.add(best);
        }
        return rows.stream().filter(found::contains).toList();
    }

    /** The values of a row with their places, or all pairs of them. */
    private static Set<List<Object>> covered(List<Object> row, Selection selection) {
        Set<List<Object>> covered = new HashSet<>();
        for (int i = 0; i < row.size(); i++) {
            for (int j = i; j < (selection == Selection.EACH ? i + 1 : row.size()); j++) {
                covered.add(List.of(i, row.get(i), j, row.get(j)));
            }
        }
        return covered;
    }

    /** The values of a parameter; its type in place of the engine, its name or a manager. */
    private static List<?> values(Class<?> type, Class<?> test) {
        if (type == boolean.class) {
            return List.of(true, false);
        }
        if (type == TestBlocks.class) {
            return List.of(TestBlocks.values());
        }
        if (type.isEnum()) {
            return List.of(type.getEnumConstants());
        }
        Optional<Method> names = ReflectionSupport.findMethod(test, "names").filter(method -> type == String.class);
        return names.isPresent()
                ? List.copyOf((Collection<?>) ReflectionSupport.invokeMethod(names.get(), null))
                : List.of(type);
    }

    private static EngineTest testOf(ExtensionContext context) {
        return context.getRequiredTestMethod().getAnnotation(EngineTest.class);
    }

    /** Whether an engine is on the class path, with its native library, which carries a description with it. */
    public static boolean isAvailable(String engine) {
        String description = "/native/lib/" + engine.toLowerCase(Locale.ROOT) + ".properties";
        return Engine.hasEngine(engine) && EngineTestExtension.class.getResource(description) != null;
    }

    /**
     * A manager on the CPU of any engine that is available. DJL's default engine may be one without a native library.
     */
    public static NDManager cpuManager() {
        String engine = ENGINES.stream()
                .filter(EngineTestExtension::isAvailable)
                .findFirst()
                .orElseThrow();
        return Engine.getEngine(engine).newBaseManager(Device.cpu());
    }

    /** An engine and the values of the parameters of a test. */
    private record OnEngine(List<Object> row)
            implements TestTemplateInvocationContext, ExecutionCondition, ParameterResolver {

        private String engine() {
            return (String) row.get(0);
        }

        @Override
        public String getDisplayName(int invocationIndex) {
            return row.stream()
                    .filter(value -> !(value instanceof Class))
                    .map(String::valueOf)
                    .collect(Collectors.joining(" "));
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            if (!isAvailable(engine())) {
                return ConditionEvaluationResult.disabled(engine() + " or its native library is not on the class path");
            }
            return isOnGpu(context) && Engine.getEngine(engine()).getGpuCount() == 0
                    ? ConditionEvaluationResult.disabled(engine() + " finds no GPU")
                    : ConditionEvaluationResult.enabled(engine() + " and what the test needs were found");
        }

        private static boolean isOnGpu(ExtensionContext context) {
            return ON_GPU && !testOf(context).onCpu();
        }

        /** The value of a parameter; its type if it has none, or is not a parameter of the test. */
        private Object value(ParameterContext parameter, ExtensionContext context) {
            return parameter.getDeclaringExecutable().equals(context.getRequiredTestMethod())
                    ? row.get(1 + parameter.getIndex())
                    : parameter.getParameter().getType();
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            Object value = value(parameter, context);
            return !(value instanceof Class)
                    || List.of(Engine.class, NDManager.class, String.class).contains(value);
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            Object value = value(parameter, context);
            if (value == String.class) {
                return engine();
            }
            Engine found = Engine.getEngine(engine());
            if (value == NDManager.class) {
                return context.getStore(Namespace.create(OnEngine.class, context.getUniqueId()))
                        .computeIfAbsent(
                                NDManager.class,
                                key -> found.newBaseManager(isOnGpu(context) ? Device.gpu() : Device.cpu()),
                                NDManager.class);
            }
            return value == Engine.class ? found : value;
        }
    }
}
