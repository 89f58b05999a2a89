package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDManager;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
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

/** Runs a test once on each engine; see {@link EngineTest}. */
public final class EngineTestExtension implements TestTemplateInvocationContextProvider {

    /** With {@code -Pgpu} the managers that tests are given are on the first GPU. */
    private static final boolean ON_GPU = "gpu".equals(System.getProperty("test.device"));

    private static final List<String> ENGINES = List.of("PyTorch", "MXNet");

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return true;
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        List<?> values = Arrays.stream(context.getRequiredTestMethod().getParameterTypes())
                .filter(EngineTestExtension::hasValues)
                .<List<?>>map(type -> type.isEnum() ? List.of(type.getEnumConstants()) : List.of(true, false))
                .findFirst()
                .orElse(List.of(""));
        return ENGINES.stream().flatMap(engine -> values.stream().map(value -> new OnEngine(engine, value)));
    }

    private static boolean hasValues(Class<?> type) {
        return type.isEnum() || type == boolean.class;
    }

    /** The description that each engine's native library carries with it. */
    public static boolean hasNatives(String engine) {
        return EngineTestExtension.class.getResource("/native/lib/" + engine.toLowerCase(Locale.ROOT) + ".properties")
                != null;
    }

    private record OnEngine(String engine, Object value)
            implements TestTemplateInvocationContext, ExecutionCondition, ParameterResolver {

        @Override
        public String getDisplayName(int invocationIndex) {
            return engine + " " + value;
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            if (!hasNatives(engine)) {
                return ConditionEvaluationResult.disabled("no native library of " + engine + " is published for "
                        + System.getProperty("os.name") + " " + System.getProperty("os.arch"));
            }
            int needed = context.getElement()
                    .map(method -> method.getAnnotation(EngineTest.class).gpus())
                    .filter(gpus -> gpus > 0)
                    .orElse(ON_GPU ? 1 : 0);
            int found = needed == 0 ? 0 : Engine.getEngine(engine).getGpuCount();
            return found < needed
                    ? ConditionEvaluationResult.disabled(
                            needed + " GPUs are needed, " + engine + " finds " + found + " here")
                    : ConditionEvaluationResult.enabled("native library and " + found + " GPUs found");
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            Class<?> type = parameter.getParameter().getType();
            // the constructor of a parameterized class has values of its own
            return parameter.getDeclaringExecutable() instanceof Method
                    && (type == Engine.class || type == NDManager.class || hasValues(type));
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            if (hasValues(parameter.getParameter().getType())) {
                return value;
            }
            Engine found = Engine.getEngine(engine);
            if (parameter.getParameter().getType() == Engine.class) {
                return found;
            }
            return context.getStore(Namespace.create(OnEngine.class, context.getUniqueId()))
                    .computeIfAbsent(
                            NDManager.class,
                            key -> found.newBaseManager(ON_GPU ? Device.gpu() : Device.cpu()),
                            NDManager.class);
        }
    }
}
