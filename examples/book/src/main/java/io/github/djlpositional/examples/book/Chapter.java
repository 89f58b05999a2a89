package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

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
 * @param imports the imports of the program
 * @param members its constants and its other methods
 */
record Chapter(String name, String title, String line, List<Part> parts, String imports, String members) {

    /** Text, code with its outputs, or sliders. */
    sealed interface Part {}

    /** Markdown. */
    record Text(String markdown) implements Part {}

    /** A piece of the program: what a page shows, what it folds, and what the piece printed and drew. */
    record Code(String shown, String folded, List<Notebook.Output> outputs) implements Part {

        String printed() {
            StringBuilder text = new StringBuilder();
            outputs.stream()
                    .filter(output -> output.figure() == null)
                    .forEach(output -> text.append(output.text()).append('\n'));
            return text.toString();
        }

        List<Notebook.Output> pictures() {
            return outputs.stream().filter(output -> output.figure() != null).toList();
        }
    }

    /** Sliders, which a script in {@code resources/site/play} draws, and the encoding that they begin with, or "". */
    record Play(String script, String encoding) implements Part {

        String html() {
            String start = encoding.isEmpty() ? "" : " data-encoding=\"" + encoding + "\"";
            return "<div class=\"play\" data-play=\"" + script + "\"" + start + "></div>\n"
                    + "<noscript><p>The sliders here need JavaScript.</p></noscript>\n";
        }
    }

    /** The program of a chapter. */
    @FunctionalInterface
    interface Program {
        void main(String... args) throws Exception;
    }

    private static final Pattern DIRECTIVE = Pattern.compile(
            "(?m)^\\{\\{(code|play) ([A-Za-z0-9-]+)(?: ([a-z0-9]+))?}}((?:\\n\\{\\{picture [^}]+}})*)$");

    private static final Pattern PICTURE = Pattern.compile("\\{\\{picture ([^}]+)}}");

    private static final Pattern TITLE = Pattern.compile("\\A# (.+)\n\n((?:.+\n)+)");

    private static final String BEGIN = "    public static void main(String... args) throws Exception {";

    private static final String MARKER = "        // %% ";

    /** Joins the Markdown and the program of a chapter with what the program printed and drew. */
    static Chapter of(String name, List<Notebook.Output> outputs) {
        return of(name, read(name + ".md"), read(name + ".java"), outputs);
    }

    private static Play play(MatchResult directive) {
        return new Play(directive.group(2), directive.group(3) == null ? "" : directive.group(3));
    }

    /** Returns the sliders that Markdown names, in order. */
    static List<Play> plays(String markdown) {
        return DIRECTIVE
                .matcher(markdown)
                .results()
                .filter(directive -> directive.group(1).equals("play"))
                .map(Chapter::play)
                .toList();
    }

    private static String read(String file) {
        try {
            return new String(new Resource("/chapters/" + file, "djl-positional-book").read(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Joins Markdown and a program.
     *
     * @throws IllegalArgumentException if the Markdown has no title, does not name all pieces of the program in order,
     *     or has more or fewer captions than a piece that has run has drawn pictures
     */
    static Chapter of(String name, String markdown, String program, List<Notebook.Output> outputs) {
        Matcher title = TITLE.matcher(markdown);
        if (!title.find()) {
            throw new IllegalArgumentException("chapter " + name + " begins with "
                    + markdown.lines().findFirst().orElse("nothing")
                    + ": expected # and its title, and a paragraph; add them");
        }
        Map<String, Code> pieces = pieces(program, outputs);
        List<Part> parts = new ArrayList<>();
        List<String> used = new ArrayList<>();
        int end = title.end();
        for (MatchResult directive : DIRECTIVE.matcher(markdown).results().toList()) {
            parts.add(new Text(markdown.substring(end, directive.start())));
            if (directive.group(1).equals("code")) {
                used.add(directive.group(2));
                parts.add(withCaptions(name, pieces.get(directive.group(2)), directive));
            } else {
                parts.add(play(directive));
            }
            end = directive.end();
        }
        parts.add(new Text(markdown.substring(end)));
        if (!used.equals(List.copyOf(pieces.keySet()))) {
            throw new IllegalArgumentException("chapter " + name + " names the pieces " + used + ": expected all of "
                    + pieces.keySet() + " in order; change the Markdown or the program");
        }
        parts.removeIf(part -> part instanceof Text text && text.markdown().isBlank());
        return new Chapter(
                name,
                title.group(1),
                title.group(2).strip().replace('\n', ' '),
                parts,
                program.lines().filter(line -> line.startsWith("import ")).collect(Collectors.joining("\n")),
                members(program));
    }

    /** Returns a piece with the captions that follow it in the Markdown, one for each picture; null for null. */
    private static Code withCaptions(String chapter, Code code, MatchResult directive) {
        List<String> captions = PICTURE.matcher(directive.group(4))
                .results()
                .map(picture -> picture.group(1))
                .toList();
        if (code == null || code.outputs().isEmpty()) {
            return code;
        }
        if (captions.size() != code.pictures().size()) {
            throw new IllegalArgumentException("chapter " + chapter + " has " + captions.size()
                    + " captions after {{code "
                    + directive.group(2) + "}}: expected " + code.pictures().size()
                    + ", one for each picture; change the {{picture}} lines of the Markdown");
        }
        Iterator<String> next = captions.iterator();
        return new Code(
                code.shown(),
                code.folded(),
                code.outputs().stream()
                        .map(output -> output.figure() == null ? output : output.withText(next.next()))
                        .toList());
    }

    /** Returns the name of the piece of a chapter's program that has a line; the first line is 1. */
    static String piece(String chapter, int line) {
        return read(chapter + ".java")
                .lines()
                .limit(line)
                .filter(each -> each.startsWith(MARKER))
                .reduce("", (before, each) -> each.substring(MARKER.length()));
    }

    /** The pieces of the method main by name. */
    private static Map<String, Code> pieces(String program, List<Notebook.Output> outputs) {
        List<String> lines = program.lines().toList();
        Map<String, Code> pieces = new LinkedHashMap<>();
        int line = lines.indexOf(BEGIN) + 2;
        while (!lines.get(line).equals("    }")) {
            String name = lines.get(line).substring(MARKER.length());
            int first = ++line;
            while (!lines.get(line).equals("    }") && !lines.get(line).startsWith(MARKER)) {
                line++;
            }
            int last = line;
            int fold = lines.subList(first, last).indexOf("        // ...");
            String shown = code(lines.subList(first, fold < 0 ? last : first + fold));
            String folded = fold < 0 ? "" : code(lines.subList(first + fold + 1, last));
            pieces.put(
                    name,
                    new Code(
                            shown,
                            folded,
                            outputs.stream()
                                    .filter(output -> output.piece().equals(name))
                                    .toList()));
        }
        return pieces;
    }

    private static String code(List<String> lines) {
        return String.join("\n", lines).stripIndent().strip();
    }

    /** The constants and methods of the program but main. */
    private static String members(String program) {
        return program.substring(
                        program.indexOf(" {\n", program.indexOf("\npublic final class ")) + 3, program.lastIndexOf("}"))
                .replaceAll("(?ms)^    public static void main\\(.*?^    }\n", "")
                .replaceAll("\n{3,}", "\n\n")
                .stripIndent()
                .strip();
    }
}
