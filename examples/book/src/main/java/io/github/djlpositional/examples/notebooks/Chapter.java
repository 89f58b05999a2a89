package io.github.djlpositional.examples.notebooks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A finished chapter: what its run recorded, with the code of its source.
 *
 * @param name the name of its class
 * @param title its heading
 * @param line what it shows
 * @param imports the import declarations of its source
 * @param members the constants and helper methods of its source
 * @param cells its cells in order
 */
record Chapter(String name, String title, String line, List<String> imports, List<String> members, List<Cell> cells) {

    /** Prose, the code that follows it, the code after that which draws, and what both printed and drew. */
    record Cell(Part.Prose prose, String code, String drawing, List<Part> outputs) {}

    /** Writes a chapter while it runs. */
    @FunctionalInterface
    interface Author {
        void write(Notebook notebook) throws Exception;
    }

    /** Joins a run with the source of the class. */
    static Chapter of(String name, Notebook notebook) throws IOException {
        return of(name, notebook.parts(), ChapterSource.of(name));
    }

    /**
     * Joins a run with its source.
     *
     * @throws IllegalStateException if the run did not write the same prose as the source
     */
    static Chapter of(String name, List<Part> parts, ChapterSource source) {
        List<String> written = parts.stream()
                .filter(Part.Prose.class::isInstance)
                .map(part -> ((Part.Prose) part).call())
                .toList();
        List<String> calls =
                source.cells().stream().map(ChapterSource.Cell::call).toList();
        if (!written.equals(calls) || written.isEmpty() || !(parts.get(0) instanceof Part.Title title)) {
            throw new IllegalStateException(String.format(
                    "chapter %s wrote %s, its source has the calls %s: expected the same, with a title before anything"
                            + " else; call the methods that write prose as statements of write, not in a loop, a"
                            + " block, a lambda or another method",
                    name, written, calls));
        }
        List<Cell> cells = new ArrayList<>();
        for (Part part : parts) {
            if (part instanceof Part.Prose prose) {
                ChapterSource.Cell cell = source.cells().get(cells.size());
                cells.add(new Cell(prose, cell.code(), cell.drawing(), new ArrayList<>()));
            } else {
                cells.get(cells.size() - 1).outputs().add(part);
            }
        }
        return new Chapter(name, title.text(), title.line(), source.imports(), source.members(), cells);
    }

    /** Returns its first picture. */
    Optional<Part.Picture> cover() {
        return cells.stream()
                .flatMap(cell -> cell.outputs().stream())
                .filter(Part.Picture.class::isInstance)
                .map(Part.Picture.class::cast)
                .findFirst();
    }
}
