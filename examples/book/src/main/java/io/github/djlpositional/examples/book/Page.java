package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Figure;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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

    /** What is highlighted in escaped Java: each group of the pattern has a class of {@code span}. */
    private static final List<String> KINDS = List.of("comment", "string", "keyword", "number");

    private static final Pattern JAVA = Pattern.compile("(//.*|/\\*[\\s\\S]*?\\*/)"
            + "|(&quot;&quot;&quot;[\\s\\S]*?&quot;&quot;&quot;|&quot;(?:\\\\.|(?!&quot;)[^\\\\])*&quot;"
            + "|'(?:\\\\.|&\\w+;|[^'\\\\])')"
            + "|(\\b(?:boolean|case|default|double|else|float|for|if|int|long|new|private|return|static"
            + "|switch|throws|try|void|while|final|true|false|null|var|record)\\b)"
            + "|(\\b\\d[\\d_]*(?:\\.\\d+)?(?:e-?\\d+)?\\b)");

    private Page() {}

    /** Returns the page of a chapter, with links to its neighbors among all chapters. */
    static String of(Chapter chapter, List<Chapter> all) {
        String setup = chapter.setup().isEmpty()
                ? ""
                : details("Imports, constants and methods of this chapter", code(chapter.setup()));
        StringBuilder headings = new StringBuilder();
        String anchored = HEADING.matcher(body(chapter) + setup).replaceAll(match -> {
            String id = match.group(1)
                    .replaceAll("<[^>]*>|&\\w+;|[^\\p{Alnum} -]", "")
                    .strip()
                    .toLowerCase(Locale.ROOT)
                    .replace(' ', '-');
            headings.append("<a href=\"#%s\">%s</a>\n".formatted(id, match.group(1)));
            return Matcher.quoteReplacement(
                    "<h2 id=\"%1$s\"><a href=\"#%1$s\">%2$s</a></h2>".formatted(id, match.group(1)));
        });
        int index = all.indexOf(chapter);
        String links = "<nav aria-label=\"Chapters, at the %s\">" + link(all, index - 1, "prev", "← ")
                + "<a href=\"index.html\">Contents</a>" + link(all, index + 1, "next", "→ ") + "</nav>\n";
        String heading = Book.heading(chapter);
        String main = "<main id=\"main\">\n<h1>" + escaped(heading) + "</h1>\n" + html(chapter.line())
                + "<nav class=\"toc\" aria-label=\"On this page\">" + headings + "</nav>\n" + anchored + "</main>\n";
        return page(heading + " · " + BOOK, chapter, links.formatted("top") + main + links.formatted("end"));
    }

    /** Returns the start page, in which {@code {{contents}}} becomes the list of chapters. */
    static String contents(Chapter index, List<Chapter> chapters) {
        StringBuilder list = new StringBuilder("<ol class=\"contents\">\n");
        for (Chapter chapter : chapters) {
            if (chapter.name().equals(Book.APPENDIX)) {
                list.append("</ol>\n<h2>Appendix</h2>\n<ol class=\"contents\">\n");
            }
            String cover = chapter.parts().stream()
                    .flatMap(part -> part instanceof Chapter.Code code ? code.figures().stream() : Stream.empty())
                    .findFirst()
                    .map(Figure::cover)
                    .orElse("");
            list.append("<li><a href=\"%s.html\">%s<span><strong>%s</strong><br>%s</span></a></li>\n"
                    .formatted(chapter.name(), cover, escaped(Book.heading(chapter)), escaped(chapter.line())));
        }
        String main = "<main id=\"main\">\n<h1>" + escaped(index.title()) + "</h1>\n" + html(index.line()) + body(index)
                + "</main>\n";
        return page(BOOK, index, main.replace("<p>{{contents}}</p>", list.append("</ol>")));
    }

    private static String page(String title, Chapter chapter, String body) {
        String scripts = Stream.concat(Stream.of("play"), chapter.scripts().stream())
                .map("<script src=\"play/%s.js\"></script>\n"::formatted)
                .collect(Collectors.joining());
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
                """.formatted(
                        escaped(chapter.line().replaceAll("[*`$]", "")),
                        escaped(title),
                        body,
                        chapter.scripts().isEmpty() ? "" : scripts);
    }

    private static String link(List<Chapter> all, int index, String relation, String arrow) {
        if (index < 0 || index == all.size()) {
            return "<span></span>";
        }
        String heading = escaped(Book.heading(all.get(index)));
        return "<a rel=\"%s\" href=\"%s.html\">%s%s</a>"
                .formatted(relation, all.get(index).name(), arrow, heading);
    }

    private static String body(Chapter chapter) {
        return chapter.parts().stream()
                .map(part -> part instanceof Chapter.Text text
                        ? html(text.markdown())
                        : part instanceof Chapter.Code code ? html(code) : html((Chapter.Play) part))
                .collect(Collectors.joining());
    }

    private static String html(Chapter.Play play) {
        String start = play.encoding() == null ? "" : " data-encoding=\"" + play.encoding() + "\"";
        return "<div class=\"play\" data-play=\"" + play.script() + "\"" + start + "></div>\n"
                + "<noscript><p>The sliders here need JavaScript.</p></noscript>\n";
    }

    private static String html(Chapter.Code code) {
        StringBuilder html = new StringBuilder(code.shown().isEmpty() ? "" : code(code.shown()));
        if (!code.printed().isEmpty()) {
            // the style sheet makes the letters small enough for the longest line
            int columns = code.printed().lines().mapToInt(String::length).max().orElse(0);
            html.append("<pre class=\"output\" style=\"--columns: %d\">%s</pre>\n"
                    .formatted(columns, escaped(code.printed())));
        }
        for (int i = 0; i < code.figures().size(); i++) {
            html.append("<figure>\n%s<figcaption>%s</figcaption></figure>\n"
                    .formatted(
                            code.figures().get(i).html(),
                            escaped(code.captions().get(i))));
        }
        if (!code.folded().isEmpty()) {
            html.append(details(code.shown().isEmpty() ? "Code" : "More of the code", code(code.folded())));
        }
        return html.toString();
    }

    private static String details(String summary, String content) {
        return "<details><summary>" + summary + "</summary>\n" + content + "</details>\n";
    }

    /** Returns Markdown with formulas as HTML. */
    static String html(String markdown) {
        return HTML.render(MARKDOWN.parse(FORMULA.matcher(markdown)
                .replaceAll(match -> Matcher.quoteReplacement(
                        match.group(1) == null
                                ? MathMl.inline(match.group(2))
                                : "<div class=\"formula\">" + MathMl.of(match.group(1)) + "</div>"))));
    }

    private static String code(String java) {
        String html = JAVA.matcher(escaped(java)).replaceAll(match -> {
            int kind = 0;
            while (match.group(kind + 1) == null) {
                kind++;
            }
            return Matcher.quoteReplacement("<span class=\"%s\">%s</span>".formatted(KINDS.get(kind), match.group()));
        });
        return "<pre class=\"code\"><code>" + html + "</code></pre>\n";
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
