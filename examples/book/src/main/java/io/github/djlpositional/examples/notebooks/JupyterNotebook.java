package io.github.djlpositional.examples.notebooks;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Chapters as Jupyter notebooks, for those who have a Java kernel. */
final class JupyterNotebook {

    private static final Gson GSON = new GsonBuilder()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .serializeNulls()
            .create();

    private final Chapter chapter;
    private final List<Map<String, Object>> cells = new ArrayList<>();

    private JupyterNotebook(Chapter chapter) {
        this.chapter = chapter;
    }

    /** Returns a notebook of format 4.5 with the outputs of the run. */
    static String of(Chapter chapter) throws IOException {
        JupyterNotebook notebook = new JupyterNotebook(chapter);
        for (Chapter.Cell cell : chapter.cells()) {
            notebook.add("markdown", notebook.markdown(cell.prose()));
            if (notebook.cells.size() == 1) {
                notebook.addCode(notebook.preparation(), List.of());
            }
            if (!cell.code().isEmpty()) {
                notebook.addCode(cell.code(), cell.drawing().isEmpty() ? cell.outputs() : List.of());
            }
            if (!cell.drawing().isEmpty()) {
                // JupyterLab folds the code
                notebook.addCode(cell.drawing(), cell.outputs())
                        .put("metadata", object("jupyter", object("source_hidden", true)));
            }
        }
        return GSON.toJson(object(
                "nbformat",
                4,
                "nbformat_minor",
                5,
                "metadata",
                object("kernelspec", object("name", "java", "display_name", "Java", "language", "java")),
                "cells",
                notebook.cells));
    }

    /** Returns a JSON object of keys and values, in their order. */
    private static Map<String, Object> object(Object... entries) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            object.put((String) entries[i], entries[i + 1]);
        }
        return object;
    }

    private String markdown(Part.Prose prose) {
        if (prose instanceof Part.Title title) {
            return "# " + title.text() + "\n\n*" + title.line() + "*";
        } else if (prose instanceof Part.Question question) {
            return "> " + question.markdown().replace("\n", "\n> ");
        } else if (prose instanceof Part.Heading heading) {
            return "## " + heading.text();
        } else if (prose instanceof Part.Recap recap) {
            return "**In one sentence.** " + recap.markdown();
        } else if (prose instanceof Part.Exercise exercise) {
            return "**Exercise.** " + exercise.markdown() + "\n\n<details><summary>Answer</summary>\n\n"
                    + exercise.answer() + "\n\n</details>";
        } else if (prose instanceof Part.Sources sources) {
            return "**Sources.**\n\n- " + String.join("\n- ", sources.links());
        } else if (prose instanceof Part.Text text) {
            return text.markdown();
        } else if (prose instanceof Part.Formula formula) {
            return "$$\n" + formula.latex() + "\n$$";
        } else {
            return "*The page `" + chapter.name() + ".html` has sliders here.*";
        }
    }

    /** Returns the code that a notebook needs before its first cell. */
    private String preparation() throws IOException {
        List<String> lines = new ArrayList<>();
        try (InputStream in = JupyterNotebook.class.getResourceAsStream("/artifact.txt")) {
            lines.add("%maven " + new String(in.readAllBytes(), StandardCharsets.UTF_8).strip());
        }
        lines.add("");
        lines.addAll(chapter.imports());
        lines.add("import io.github.djlpositional.examples.notebooks.*;");
        lines.add("import java.nio.file.Path;");
        for (String member : chapter.members()) {
            lines.add("");
            lines.add(member);
        }
        lines.add("");
        lines.add("Notebook notebook = Notebook.in(Path.of(\"notebooks\"));");
        return String.join("\n", lines);
    }

    private Map<String, Object> add(String type, String source) {
        Map<String, Object> cell =
                object("cell_type", type, "id", "cell-" + (cells.size() + 1), "metadata", object(), "source", source);
        cells.add(cell);
        return cell;
    }

    private Map<String, Object> addCode(String code, List<Part> outputs) {
        List<Object> results = new ArrayList<>();
        for (Part part : outputs) {
            if (part instanceof Part.Output printed) {
                results.add(object("output_type", "stream", "name", "stdout", "text", printed.text() + "\n"));
            } else if (part instanceof Part.Picture picture) {
                results.add(object(
                        "output_type", "display_data",
                        "metadata", object(),
                        "data", object("image/svg+xml", picture.figure().svg(), "text/plain", picture.caption())));
            }
        }
        Map<String, Object> cell = add("code", code);
        // the kernel of the reader has not run it
        cell.put("execution_count", null);
        cell.put("outputs", results);
        return cell;
    }
}
