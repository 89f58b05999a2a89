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

    /** With {@code -Pgpu} the managers that tests are given are on the first GPU, unless they ask for the CPU. */
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
            if (!isAvailable(engine)) {
                return ConditionEvaluationResult.disabled(engine + " or its native library is not on the class path");
            }
            int needed = Math.max(testOf(context).gpus(), isOnGpu(context) ? 1 : 0);
            int found = needed == 0 ? 0 : Engine.getEngine(engine).getGpuCount();
            return found < needed
                    ? ConditionEvaluationResult.disabled(
                            needed + " GPUs are needed, " + engine + " finds " + found + " here")
                    : ConditionEvaluationResult.enabled("native library and " + found + " GPUs found");
        }

        private static EngineTest testOf(ExtensionContext context) {
            return context.getRequiredTestMethod().getAnnotation(EngineTest.class);
        }

        private static boolean isOnGpu(ExtensionContext context) {
            return ON_GPU && !testOf(context).onCpu();
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
                            key -> found.newBaseManager(isOnGpu(context) ? Device.gpu() : Device.cpu()),
                            NDManager.class);
        }
    }
}
