package io.github.djlpositional.examples.book;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import io.github.djlpositional.examples.Resource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Chapters as Jupyter notebooks of format 4.5, for those who have a Java kernel. */
final class Jupyter {

    private static final Gson GSON = new GsonBuilder()
            .setPrettyPrinting()
            .disableHtmlEscaping()
            .serializeNulls()
            .create();

    private final List<Map<String, Object>> cells = new ArrayList<>();

    private Jupyter() {}

    /** Returns a notebook with the outputs of the run. */
    static String of(Chapter chapter) throws IOException {
        Jupyter notebook = new Jupyter();
        notebook.add("markdown", "# " + Book.heading(chapter) + "\n\n*" + chapter.line() + "*");
        String artifact =
                new String(new Resource("/artifact.txt", "djl-positional-book").read(), StandardCharsets.UTF_8);
        notebook.addCode(
                "%maven " + artifact.strip() + "\n\n" + chapter.imports()
                        + "\nimport io.github.djlpositional.examples.book.*;\n\n"
                        + chapter.members() + "\n\nNotebook out = Notebook.open();",
                List.of());
        for (Chapter.Part part : chapter.parts()) {
            if (part instanceof Chapter.Text text) {
                // notebooks link to notebooks
                notebook.add("markdown", text.markdown().strip().replaceAll("\\]\\((\\w+)\\.html", "]($1.ipynb"));
            } else if (part instanceof Chapter.Play) {
                notebook.add("markdown", "*The page `" + chapter.name() + ".html` has sliders here.*");
            } else if (part instanceof Chapter.Code code) {
                if (!code.shown().isEmpty()) {
                    notebook.addCode(code.shown(), code.folded().isEmpty() ? code.outputs() : List.of());
                }
                if (!code.folded().isEmpty()) {
                    // JupyterLab folds the code
                    notebook.addCode(code.folded(), code.outputs())
                            .put("metadata", object("jupyter", object("source_hidden", true)));
                }
            }
        }
        Object kernel = object("kernelspec", object("name", "java", "display_name", "Java", "language", "java"));
        return GSON.toJson(object("nbformat", 4, "nbformat_minor", 5, "metadata", kernel, "cells", notebook.cells));
    }

    /** Returns a JSON object of keys and values, in their order. */
    private static Map<String, Object> object(Object... entries) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            object.put((String) entries[i], entries[i + 1]);
        }
        return object;
    }

    private Map<String, Object> add(String type, String source) {
        Map<String, Object> cell =
                object("cell_type", type, "id", "cell-" + (cells.size() + 1), "metadata", object(), "source", source);
        cells.add(cell);
        return cell;
    }

    private Map<String, Object> addCode(String code, List<Notebook.Output> outputs) {
        Map<String, Object> cell = add("code", code);
        // the kernel of the reader has not run it
        cell.put("execution_count", null);
        cell.put("outputs", outputs.stream().map(Jupyter::result).toList());
        return cell;
    }

    /** A picture is its caption: the cell draws it when it runs. */
    private static Map<String, Object> result(Notebook.Output output) {
        String text = output.figure() == null ? output.text() : "[" + output.text() + "]";
        return object("output_type", "stream", "name", "stdout", "text", text + "\n");
    }
}
