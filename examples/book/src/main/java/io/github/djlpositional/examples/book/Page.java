package io.github.djlpositional.examples.book;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** Chapters as HTML pages, which need only the style sheet and the scripts of the site, and no network. */
final class Page {

    static final String BOOK = "Positional encodings, chapter by chapter";

    private static final List<Extension> TABLES = List.of(TablesExtension.create());
    private static final Parser MARKDOWN = Parser.builder().extensions(TABLES).build();
    private static final HtmlRenderer HTML =
            HtmlRenderer.builder().extensions(TABLES).build();

    /** A displayed formula, or one within a line. */
    private static final Pattern FORMULA = Pattern.compile("\\$\\$([^$]+)\\$\\$|\\$([^$\n]+(?:\n[^$\n]+)?)\\$");

    private static final Pattern HEADING = Pattern.compile("<h2>(.*)</h2>");

    /** What is highlighted in Java: the name of the group that matches is the class of its {@code span}. */
    private static final Pattern JAVA = Pattern.compile("(?<comment>//.*|/\\*[\\s\\S]*?\\*/)"
            + "|(?<string>\"\"\"[\\s\\S]*?\"\"\"|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])')"
            + "|(?<keyword>\\b(?:boolean|case|default|double|else|float|for|if|int|long|new|private|return|static"
            + "|switch|throws|try|void|while|final|true|false|null|var|record)\\b)"
            + "|(?<number>\\b\\d[\\d_]*(?:\\.\\d+)?(?:e-?\\d+)?\\b)");

    private Page() {}

    /** Returns the page of a chapter, with links to its neighbors. */
    static String of(Chapter chapter, Optional<Chapter> previous, Optional<Chapter> next) {
        StringBuilder body = new StringBuilder();
        for (Chapter.Part part : chapter.parts()) {
            if (part instanceof Chapter.Text text) {
                body.append(html(text.markdown()));
            } else if (part instanceof Chapter.Code code) {
                append(body, code);
            } else if (part instanceof Chapter.Play play) {
                body.append(play.html());
            }
        }
        String program = (chapter.imports() + "\n\n" + chapter.members()).strip();
        if (!program.isEmpty()) {
            body.append(details("Imports, constants and methods of this chapter", code(program)));
        }
        List<String> headings = new ArrayList<>();
        String anchored = HEADING.matcher(body).replaceAll(match -> {
            String id = match.group(1)
                    .replaceAll("<[^>]*>|&\\w+;|[^\\p{Alnum} -]", "")
                    .strip()
                    .toLowerCase(Locale.ROOT)
                    .replace(' ', '-');
            headings.add("<a href=\"#%s\">%s</a>".formatted(id, match.group(1)));
            return "<h2 id=\"%1$s\"><a href=\"#%1$s\">%2$s</a></h2>"
                    .formatted(id, match.group(1))
                    .replace("$", "\\$");
        });
        String links = "<nav aria-label=\"Chapters, at the %s\">" + link(previous, "prev", "← ")
                + "<a href=\"index.html\">Contents</a>" + link(next, "next", "→ ") + "</nav>\n";
        return page(
                Book.heading(chapter) + " · " + BOOK,
                chapter.line(),
                links.formatted("top") + "<main id=\"main\">\n<h1>" + escaped(Book.heading(chapter)) + "</h1>\n"
                        + html(chapter.line()) + "<nav class=\"toc\" aria-label=\"On this page\">"
                        + String.join("\n", headings) + "</nav>\n" + anchored + "</main>\n" + links.formatted("end"),
                chapter.parts().stream()
                        .filter(Chapter.Play.class::isInstance)
                        .map(part -> ((Chapter.Play) part).script())
                        .distinct()
                        .toList());
    }

    /** Returns a page of Markdown, in which {@code {{contents}}} is the list of chapters. */
    static String contents(String markdown, List<Chapter> chapters) {
        StringBuilder list = new StringBuilder("<ol class=\"contents\">\n");
        for (Chapter chapter : chapters) {
            if (Book.number(chapter.name()).equals("A")) {
                list.append("</ol>\n<h2>Appendix</h2>\n<ol class=\"contents\">\n");
            }
            list.append("<li><a href=\"%s.html\">%s<span><strong>%s</strong><br>%s</span></a></li>\n"
                    .formatted(
                            chapter.name(), cover(chapter), escaped(Book.heading(chapter)), escaped(chapter.line())));
        }
        List<Chapter.Play> plays = Chapter.plays(markdown);
        String body = html(markdown).replace("<p>{{contents}}</p>", list.append("</ol>"));
        for (Chapter.Play play : plays) {
            body = body.replaceFirst("<p>\\{\\{play [^}]+}}</p>", play.html());
        }
        return page(
                BOOK,
                "How a Transformer knows the order of its words",
                "<main id=\"main\">\n" + body + "</main>\n",
                plays.stream().map(Chapter.Play::script).distinct().toList());
    }

    private static String cover(Chapter chapter) {
        return chapter.parts().stream()
                .filter(Chapter.Code.class::isInstance)
                .flatMap(part -> ((Chapter.Code) part).pictures().stream())
                .findFirst()
                .map(picture -> picture.figure().cover())
                .orElse("");
    }

    private static String page(String title, String description, String body, List<String> scripts) {
        StringBuilder sources = new StringBuilder();
        if (!scripts.isEmpty()) {
            sources.append("<script src=\"play/play.js\"></script>\n");
            scripts.forEach(name -> sources.append("<script src=\"play/%s.js\"></script>\n".formatted(name)));
        }
        return """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="description" content="%s">
                <title>%s</title>
                <link rel="stylesheet" href="style.css">
                </head>
                <body>
                <a class="skip" href="#main">To the text</a>
                %s%s<script>addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(d => d.open = true))</script>
                </body>
                </html>
                """.formatted(escaped(description.replaceAll("[*`$]", "")), escaped(title), body, sources);
    }

    private static String link(Optional<Chapter> chapter, String relation, String arrow) {
        return chapter.map(target -> "<a rel=\"%s\" href=\"%s.html\">%s%s</a>"
                        .formatted(relation, target.name(), arrow, escaped(Book.heading(target))))
                .orElse("<span></span>");
    }

    private static void append(StringBuilder body, Chapter.Code code) {
        if (!code.shown().isEmpty()) {
            body.append(code(code.shown()));
        }
        String printed = code.printed();
        if (!printed.isEmpty()) {
            // the style sheet makes the letters small enough for the longest line
            int columns = printed.lines().mapToInt(String::length).max().orElse(0);
            body.append("<pre class=\"output\" style=\"--columns: %d\">".formatted(columns))
                    .append(escaped(printed))
                    .append("</pre>\n");
        }
        for (Notebook.Output picture : code.pictures()) {
            body.append("<figure>\n" + picture.figure().html() + "<figcaption>" + escaped(picture.text())
                    + "</figcaption></figure>\n");
        }
        if (!code.folded().isEmpty()) {
            body.append(details(code.shown().isEmpty() ? "Code" : "More of the code", code(code.folded())));
        }
    }

    private static String details(String summary, String content) {
        return "<details><summary>" + summary + "</summary>\n" + content + "</details>\n";
    }

    /** Returns Markdown with formulas as HTML. */
    static String html(String markdown) {
        String formulas = FORMULA.matcher(markdown)
                .replaceAll(match -> (match.group(1) == null
                                ? MathMl.inline(match.group(2))
                                : "<div class=\"formula\">" + MathMl.of(match.group(1)) + "</div>")
                        .replace("\\", "\\\\")
                        .replace("$", "\\$"));
        return HTML.render(MARKDOWN.parse(formulas));
    }

    private static String code(String java) {
        StringBuilder html = new StringBuilder("<pre class=\"code\"><code>");
        int end = 0;
        for (MatchResult match : JAVA.matcher(java).results().toList()) {
            int group = 1;
            while (match.group(group) == null) {
                group++;
            }
            html.append(escaped(java.substring(end, match.start())))
                    .append("<span class=\"%s\">%s</span>"
                            .formatted(
                                    List.of("comment", "string", "keyword", "number")
                                            .get(group - 1),
                                    escaped(match.group())));
            end = match.end();
        }
        return html.append(escaped(java.substring(end)))
                .append("</code></pre>\n")
                .toString();
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
