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
        notebook.text("# " + Book.heading(chapter) + "\n\n*" + chapter.line() + "*");
        String imports = "\n\nimport " + Jupyter.class.getPackageName() + ".*;\n";
        String setup = imports + chapter.setup() + "\n\nNotebook out = Notebook.open();";
        notebook.code("%maven " + Book.read("/artifact.txt").strip() + setup, "", object());
        for (Chapter.Part part : chapter.parts()) {
            if (part instanceof Chapter.Text text) {
                // notebooks link to notebooks
                notebook.text(text.markdown().strip().replaceAll("\\]\\((\\w+)\\.html", "]($1.ipynb"));
            } else if (part instanceof Chapter.Code code) {
                notebook.code(code.shown(), code.folded().isEmpty() ? code.printed() : "", object());
                // JupyterLab folds the code
                notebook.code(code.folded(), code.printed(), object("jupyter", object("source_hidden", true)));
                code.captions().forEach(caption -> notebook.text("*" + caption + "*"));
            } else {
                notebook.text("*The page `" + chapter.name() + ".html` has sliders here.*");
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

    private void text(String markdown) {
        add("markdown", markdown, object());
    }

    /** Adds code, if there is some, with what it has printed; a cell draws its pictures when it runs. */
    private void code(String code, String printed, Object metadata) {
        if (!code.isEmpty()) {
            Map<String, Object> cell = add("code", code, metadata);
            // the kernel of the reader has not run it
            cell.put("execution_count", null);
            Object output = object("output_type", "stream", "name", "stdout", "text", printed);
            cell.put("outputs", printed.isEmpty() ? List.of() : List.of(output));
        }
    }

    private Map<String, Object> add(String type, String source, Object metadata) {
        String id = "cell-" + (cells.size() + 1);
        cells.add(object("cell_type", type, "id", id, "metadata", metadata, "source", source));
        return cells.get(cells.size() - 1);
    }
}
