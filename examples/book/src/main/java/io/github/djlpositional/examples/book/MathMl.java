package io.github.djlpositional.examples.book;

import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.mozilla.javascript.Context;
import org.mozilla.javascript.RhinoException;
import org.mozilla.javascript.ScriptableObject;

/** Formulas in MathML, which browsers display without a script: KaTeX converts them from LaTeX, here. */
final class MathMl {

    private static final String KATEX = "/META-INF/resources/webjars/katex/0.16.4/dist/katex.min.js";

    private static final String CONVERT = ";function convert(latex, isDisplayed) {"
            + " return katex.renderToString(latex, {output: 'mathml', displayMode: isDisplayed}) }";

    private static ScriptableObject scope;

    private MathMl() {}

    /**
     * Converts a displayed formula, or several with wide spaces between them, which a narrow page displays in lines.
     */
    static String of(String latex) {
        return Stream.of(latex.split("\\\\qquad", -1))
                .map(each -> converted(each, true))
                .collect(Collectors.joining("\n"));
    }

    /** Converts a formula within a line. */
    static String inline(String latex) {
        return converted(latex, false);
    }

    private static synchronized String converted(String latex, boolean isDisplayed) {
        try (Context context = Context.enter()) {
            if (scope == null) {
                context.setInterpretedMode(true);
                scope = context.initSafeStandardObjects();
                context.evaluateString(scope, Book.read(KATEX) + CONVERT, KATEX, 1, null);
            }
            Object html = ScriptableObject.callMethod(context, scope, "convert", new Object[] {latex, isDisplayed});
            // without the LaTeX, and without what KaTeX's style sheet needs
            return Context.toString(html).replaceAll("<annotation.*?</annotation>|</?(?:semantics|span)[^>]*>", "");
        } catch (RhinoException e) {
            throw new IllegalArgumentException(
                    "formula " + latex + ": expected LaTeX that KaTeX supports; correct it", e);
        }
    }
}
