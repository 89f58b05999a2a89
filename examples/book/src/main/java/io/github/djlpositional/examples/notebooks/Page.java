package io.github.djlpositional.examples.notebooks;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** Chapters as HTML pages, which need no other file and no network. */
final class Page {

    private static final List<Extension> TABLES = List.of(TablesExtension.create());
    private static final Parser MARKDOWN = Parser.builder().extensions(TABLES).build();
    private static final HtmlRenderer HTML =
            HtmlRenderer.builder().extensions(TABLES).build();

    /** What is highlighted in Java: the group that matches is the class of its {@code span}. */
    private static final Pattern JAVA = Pattern.compile("(?<comment>//.*|/\\*[\\s\\S]*?\\*/)"
            + "|(?<string>\"\"\"[\\s\\S]*?\"\"\"|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])')"
            + "|(?<keyword>\\b(?:boolean|case|default|double|else|float|for|if|int|long|new|private|return|static"
            + "|switch|throws|try|void|while|final|true|false|null)\\b)"
            + "|(?<number>\\b\\d[\\d_]*(?:\\.\\d+)?(?:e-?\\d+)?\\b)");

    private Page() {}

    /** Returns the page of a chapter. */
    static String of(Chapter chapter, Optional<Chapter> previous, Optional<Chapter> next) throws IOException {
        StringBuilder body = new StringBuilder();
        for (Chapter.Cell cell : chapter.cells()) {
            append(body, chapter.name(), cell);
        }
        if (!chapter.members().isEmpty()) {
            body.append(details("Constants and methods of this chapter", code(String.join("\n\n", chapter.members()))));
        }
        String links = "<nav aria-label=\"Chapters, at the %s\">" + link(previous, "prev", "← ")
                + "<a href=\"index.html\">Contents</a>" + link(next, "next", "→ ") + "</nav>\n";
        return page(
                heading(chapter.name(), chapter.title()),
                links.replaceFirst("%s", "top") + "<main>\n" + body + "</main>\n" + links.replaceFirst("%s", "end")
                        + scripts(chapter));
    }

    /** Returns the page of contents: for each chapter its title, one line, and a small picture. */
    static String contents(List<Chapter> chapters) throws IOException {
        StringBuilder body = new StringBuilder(
                "<main>\n<h1>Positions, chapter by chapter</h1>\n<p>A Transformer does not see the order"
                        + " of its words by itself. These chapters show, with formulas, code that runs, and pictures, how"
                        + " positions tell it.</p>\n<ol class=\"contents\">\n");
        for (Chapter chapter : chapters) {
            if (Book.number(chapter.name()).equals("A")) {
                body.append("</ol>\n<h2>Appendix</h2>\n<ol class=\"contents\">\n");
            }
            body.append(String.format(
                    "<li><a href=\"%s.html\">%s<span><strong>%s</strong><br>%s</span></a></li>%n",
                    chapter.name(),
                    chapter.cover().map(picture -> picture.figure().cover()).orElse(""),
                    escaped(heading(chapter.name(), chapter.title())),
                    escaped(chapter.line())));
        }
        return page(
                "Positions, chapter by chapter", body.append("</ol>\n</main>\n").toString());
    }

    private static String page(String title, String body) throws IOException {
        return resource("/page.html").replace("${title}", escaped(title)).replace("${body}", body);
    }

    private static String resource(String path) throws IOException {
        try (InputStream in = Page.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IOException(path + " is not on the class path: expected a resource of the examples");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String link(Optional<Chapter> chapter, String relation, String arrow) {
        return chapter.map(target -> String.format(
                        "<a rel=\"%s\" href=\"%s.html\">%s%s</a>",
                        relation, target.name(), arrow, escaped(heading(target.name(), target.title()))))
                .orElse("<span></span>");
    }

    /** Returns a title with its number. */
    private static String heading(String name, String title) {
        String number = Book.number(name);
        return number.isEmpty() ? title : number + ". " + title;
    }

    private static void append(StringBuilder body, String chapter, Chapter.Cell cell) {
        body.append(prose(chapter, cell.prose()));
        StringBuilder output = new StringBuilder();
        for (Part part : cell.outputs()) {
            if (part instanceof Part.Output printed) {
                output.append(printed.text()).append('\n');
            } else if (part instanceof Part.Picture picture) {
                body.append(figure(picture));
            }
        }
        if (!cell.code().isEmpty()) {
            body.append(code(cell.code()));
        }
        if (!output.isEmpty()) {
            // page.html makes the letters small enough for the longest line
            int columns =
                    output.toString().lines().mapToInt(String::length).max().orElse(0);
            body.append(String.format("<pre class=\"output\" style=\"--columns: %d\">", columns))
                    .append(escaped(output.toString()))
                    .append("</pre>\n");
        }
        if (!cell.drawing().isEmpty()) {
            body.append(details("Code of the picture", code(cell.drawing())));
        }
    }

    private static String details(String summary, String content) {
        return "<details><summary>" + summary + "</summary>\n" + content + "</details>\n";
    }

    private static String prose(String chapter, Part.Prose prose) {
        if (prose instanceof Part.Title title) {
            return "<h1>" + escaped(heading(chapter, title.text())) + "</h1>\n<p class=\"line\">"
                    + escaped(title.line()) + "</p>\n";
        } else if (prose instanceof Part.Question question) {
            return section("question", html(question.markdown()));
        } else if (prose instanceof Part.Heading heading) {
            return "<h2>" + escaped(heading.text()) + "</h2>\n";
        } else if (prose instanceof Part.Text text) {
            return html(text.markdown());
        } else if (prose instanceof Part.Recap recap) {
            return section("recap", html("**In one sentence.** " + recap.markdown()));
        } else if (prose instanceof Part.Exercise exercise) {
            return section(
                    "exercise",
                    html("**Exercise.** " + exercise.markdown()) + details("Answer", html(exercise.answer())));
        } else if (prose instanceof Part.Sources sources) {
            return section("sources", html("**Sources.**\n\n- " + String.join("\n- ", sources.links())));
        } else if (prose instanceof Part.Formula formula) {
            return "<div class=\"formula\">" + MathMl.of(formula.latex()) + "</div>\n";
        } else {
            return String.format(
                    "<div class=\"play\" data-play=\"%s\"></div>%n"
                            + "<noscript><p>The sliders here need JavaScript.</p></noscript>%n",
                    ((Part.Play) prose).script());
        }
    }

    private static String html(String markdown) {
        return HTML.render(MARKDOWN.parse(markdown));
    }

    private static String section(String kind, String content) {
        return "<div class=\"" + kind + "\">\n" + content + "</div>\n";
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
                    .append(String.format(
                            "<span class=\"%s\">%s</span>",
                            List.of("comment", "string", "keyword", "number").get(group - 1), escaped(match.group())));
            end = match.end();
        }
        return html.append(escaped(java.substring(end)))
                .append("</code></pre>\n")
                .toString();
    }

    private static String figure(Part.Picture picture) {
        return "<figure>\n" + picture.figure().html() + "<figcaption>" + escaped(picture.caption())
                + "</figcaption></figure>\n";
    }

    /** Returns the scripts of the sliders. */
    private static String scripts(Chapter chapter) throws IOException {
        List<String> played = chapter.cells().stream()
                .map(Chapter.Cell::prose)
                .filter(Part.Play.class::isInstance)
                .map(prose -> ((Part.Play) prose).script())
                .distinct()
                .toList();
        StringBuilder scripts = new StringBuilder();
        if (!played.isEmpty()) {
            for (String script :
                    Stream.concat(Stream.of("play"), played.stream()).toList()) {
                scripts.append("<script>\n")
                        .append(resource("/play/" + script + ".js"))
                        .append("</script>\n");
            }
        }
        return scripts.toString();
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
