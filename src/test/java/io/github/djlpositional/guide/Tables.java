package io.github.djlpositional.guide;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The tables of a Markdown page, so that tests can compare what they say with the code. */
public final class Tables {

    private Tables() {}

    /**
     * Returns the rows of all tables of a page that have all the given columns: the text of each cell by the heading of
     * its column.
     */
    public static List<Map<String, String>> rows(String page, String... columns) throws IOException {
        return rowsBelow(page, "", columns);
    }

    /** Returns these rows of the sections whose heading begins with a text. */
    public static List<Map<String, String>> rowsBelow(String page, String heading, String... columns)
            throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        List<String> header = null;
        String section = "";
        for (String line : Files.readAllLines(Path.of(page))) {
            if (line.startsWith("#")) {
                section = line.replaceFirst("#+ ", "");
            }
            if (!line.stripLeading().startsWith("|")) {
                header = null;
            } else if (header == null) {
                header = cells(line);
            } else if (section.startsWith(heading) && header.containsAll(List.of(columns)) && !line.matches("[| -]+")) {
                rows.add(row(header, cells(line)));
            }
        }
        if (rows.isEmpty()) {
            throw new AssertionError(page + " has no table with the columns " + Arrays.toString(columns));
        }
        return rows;
    }

    /** The cells of a line of Markdown. An escaped bar is a part of a cell. */
    private static List<String> cells(String line) {
        return Arrays.stream(line.strip().replaceAll("^\\||\\|$", "").split("(?<!\\\\)\\|", -1))
                .map(String::strip)
                .toList();
    }

    static Map<String, String> row(List<String> header, List<String> cells) {
        if (cells.size() != header.size()) {
            throw new AssertionError("a row of " + cells.size() + " cells for " + header + ": " + cells);
        }
        return IntStream.range(0, header.size())
                .boxed()
                .collect(Collectors.toMap(header::get, cells::get, (a, b) -> b, LinkedHashMap::new));
    }

    /** The rows of a CSV file whose cells have no commas and no quotation marks. */
    public static List<Map<String, String>> csv(String file) throws IOException {
        List<List<String>> lines = Files.readAllLines(Path.of(file)).stream()
                .map(line -> List.of(line.split(",", -1)))
                .toList();
        return lines.stream().skip(1).map(line -> row(lines.get(0), line)).toList();
    }
}
