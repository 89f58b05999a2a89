package io.github.djlpositional.support;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.opentest4j.TestAbortedException;

/** In a build, of each parameterized test of the class only some cases run, always the same; at night all of them. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(Sampled.Cases.class)
public @interface Sampled {

    /** One case in this number runs. */
    int oneIn();

    /** Aborts the other cases. */
    class Cases implements InvocationInterceptor {

        @Override
        public void interceptTestTemplateMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> context, ExtensionContext extension)
                throws Throwable {
            int oneIn = extension
                    .getRequiredTestClass()
                    .getAnnotation(Sampled.class)
                    .oneIn();
            String name = context.getExecutable().getName() + extension.getDisplayName();
            if (!Nightly.RUNS && Math.floorMod(name.hashCode(), oneIn) != 0) {
                invocation.skip();
                throw new TestAbortedException("one case in " + oneIn + " runs in a build");
            }
            invocation.proceed();
        }
    }
}
