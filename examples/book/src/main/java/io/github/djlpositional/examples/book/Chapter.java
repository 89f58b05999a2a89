package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Figure;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A chapter: Markdown that names the pieces of its program and its sliders, in order.
 *
 * <p>In the Markdown {@code {{code name}}} is a piece of the program with what it prints and draws, and {@code {{play
 * name}}} a script of sliders, each in a line of its own. {@code {{play playground rotary}}} begins with this encoding.
 * The lines after {@code {{code name}}} are the captions of its pictures: {@code {{picture caption}}}. In the program,
 * {@code // %% name} begins a piece of the method {@code main}, and {@code // ...} the part of a piece that a page
 * folds.
 *
 * @param name the name of its class, its Markdown and its page
 * @param title its heading
 * @param line its first paragraph, what it shows
 * @param parts text, code and sliders, in order
 * @param setup the imports of the program, its constants and its other methods
 */
record Chapter(String name, String title, String line, List<Part> parts, String setup) {

    /** Text, code with its outputs, or sliders. */
    sealed interface Part {}

    /** Markdown. */
    record Text(String markdown) implements Part {}

    /** A piece of the program: what a page shows, what it folds, and what the piece printed and drew. */
    record Code(String shown, String folded, String printed, List<Figure> figures, List<String> captions)
            implements Part {}

    /** Sliders, which a script in {@code resources/site/play} draws, and the encoding that they begin with, or null. */
    record Play(String script, String encoding) implements Part {}

    private static final Pattern MARKDOWN = Pattern.compile("# (.+)\n\n((?:.+\n)+)([\\s\\S]*)");

    private static final Pattern DIRECTIVE =
            Pattern.compile("(?m)^\\{\\{(code|play) ([A-Za-z0-9-]+)(?: ([a-z0-9]+))?}}((?:\n\\{\\{picture [^}]+}})*)$");

    private static final Pattern PICTURE = Pattern.compile("\\{\\{picture ([^}]+)}}");

    /** The lines of the method main, and the members after it. */
    private static final Pattern PROGRAM = Pattern.compile("(?s).*\npublic final class \\w+ \\{\n\n(?: +@[^\n]*\n)?"
            + "    public static void main\\([^\n]*\n(.*?\n)    }\n(.*)}\n");

    private static final String MARKER = "        // %% ";

    /** Joins the Markdown and the program of a chapter with what the program printed and drew. */
    static Chapter of(String name, Map<String, Notebook.Output> outputs) {
        return of(name, Book.read("/chapters/" + name + ".md"), Book.read("/chapters/" + name + ".java"), outputs);
    }

    /**
     * Joins Markdown and a program.
     *
     * @throws IllegalArgumentException if the Markdown has no title, does not name all pieces of the program in order,
     *     or has more or fewer captions than a piece that has run has drawn pictures
     */
    static Chapter of(String name, String markdown, String program, Map<String, Notebook.Output> outputs) {
        Matcher text = MARKDOWN.matcher(markdown);
        check(text.matches(), name, "begins without # and its title, and a paragraph: add them");
        Matcher java = PROGRAM.matcher(program);
        boolean hasProgram = java.matches();
        Map<String, String> pieces = new LinkedHashMap<>();
        Stream.of((hasProgram ? java.group(1) : "").split(MARKER, -1))
                .skip(1)
                .forEach(piece -> pieces.put(piece.lines().findFirst().orElseThrow(), piece));
        String imports =
                program.lines().filter(each -> each.startsWith("import ")).collect(Collectors.joining("\n"));
        String members = hasProgram ? dedented(java.group(2)) : "";
        return new Chapter(
                name,
                text.group(1),
                text.group(2).strip().replace('\n', ' '),
                parts(name, text.group(3), pieces, outputs),
                (imports + "\n\n" + members).strip());
    }

    private static void check(boolean isRight, String name, String problem) {
        if (!isRight) {
            throw new IllegalArgumentException("chapter " + name + " " + problem);
        }
    }

    /** Returns the name of a chapter and the piece of its program that has a line; the first line is 1. */
    static String place(String name, int line) {
        return Book.read("/chapters/" + name + ".java")
                .lines()
                .limit(line)
                .filter(each -> each.startsWith(MARKER))
                .reduce(name, (before, each) -> name + each.replace(MARKER, "-"));
    }

    private static List<Part> parts(
            String chapter, String markdown, Map<String, String> pieces, Map<String, Notebook.Output> outputs) {
        List<MatchResult> directives = DIRECTIVE.matcher(markdown).results().toList();
        List<String> used = directives.stream()
                .filter(each -> each.group(1).equals("code"))
                .map(each -> each.group(2))
                .toList();
        check(
                used.equals(List.copyOf(pieces.keySet())),
                chapter,
                "names the pieces " + used + ": expected all of " + pieces.keySet() + " in order; name them");
        List<Part> parts = new ArrayList<>();
        int end = 0;
        for (MatchResult each : directives) {
            parts.add(new Text(markdown.substring(end, each.start())));
            end = each.end();
            String name = each.group(2);
            boolean isCode = each.group(1).equals("code");
            parts.add(isCode ? code(chapter, pieces.get(name), each, outputs) : new Play(name, each.group(3)));
        }
        parts.add(new Text(markdown.substring(end)));
        parts.removeIf(part -> part instanceof Text text && text.markdown().isBlank());
        return parts;
    }

    private static Code code(
            String chapter, String piece, MatchResult directive, Map<String, Notebook.Output> outputs) {
        String name = directive.group(2);
        Notebook.Output output = outputs.getOrDefault(chapter + "-" + name, new Notebook.Output());
        List<Figure> figures = output.figures();
        List<String> captions = PICTURE.matcher(directive.group(4))
                .replaceAll("$1")
                .lines()
                .skip(1)
                .toList();
        String problem = "has %d captions after {{code %s}}: expected one for each of %d pictures; change the Markdown"
                .formatted(captions.size(), name, figures.size());
        check(outputs.isEmpty() || captions.size() == figures.size(), chapter, problem);
        String[] code = (piece.substring(name.length()) + "\n// ...\n").split(" *// \\.\\.\\.\n", -1);
        return new Code(dedented(code[0]), dedented(code[1]), output.printed().toString(), figures, captions);
    }

    private static String dedented(String code) {
        return code.stripTrailing().stripIndent().strip();
    }

    /** Returns the names of the scripts of all sliders. */
    List<String> scripts() {
        return parts.stream()
                .filter(Play.class::isInstance)
                .map(part -> ((Play) part).script())
                .distinct()
                .toList();
    }
}
