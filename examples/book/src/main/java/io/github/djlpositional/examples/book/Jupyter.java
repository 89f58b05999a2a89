package io.github.djlpositional.examples.book;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
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
    static String of(Chapter chapter) {
        Jupyter notebook = new Jupyter();
        notebook.add("markdown", "# " + Book.heading(chapter) + "\n\n*" + chapter.line() + "*");
        notebook.addCode(
                "%maven " + Book.read("/artifact.txt").strip() + "\n\nimport " + Jupyter.class.getPackageName()
                        + ".*;\n" + chapter.setup() + "\n\nNotebook out = Notebook.open();",
                "");
        for (Chapter.Part part : chapter.parts()) {
            if (part instanceof Chapter.Text text) {
                // notebooks link to notebooks
                notebook.add("markdown", text.markdown().strip().replaceAll("\\]\\((\\w+)\\.html", "]($1.ipynb"));
            } else if (part instanceof Chapter.Play) {
                notebook.add("markdown", "*The page `" + chapter.name() + ".html` has sliders here.*");
            } else if (part instanceof Chapter.Code code) {
                if (!code.shown().isEmpty()) {
                    notebook.addCode(code.shown(), code.folded().isEmpty() ? code.printed() : "");
                }
                if (!code.folded().isEmpty()) {
                    // JupyterLab folds the code
                    notebook.addCode(code.folded(), code.printed())
                            .put("metadata", object("jupyter", object("source_hidden", true)));
                }
                code.captions().forEach(caption -> notebook.add("markdown", "*" + caption + "*"));
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

    /** Adds code with what it has printed; a cell draws its pictures when it runs. */
    private Map<String, Object> addCode(String code, String printed) {
        Map<String, Object> cell = add("code", code);
        // the kernel of the reader has not run it
        cell.put("execution_count", null);
        Object output = object("output_type", "stream", "name", "stdout", "text", printed);
        cell.put("outputs", printed.isEmpty() ? List.of() : List.of(output));
        return cell;
    }
}
