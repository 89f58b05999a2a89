package io.github.djlpositional.guide;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;

/** Tables in Markdown and CSV: rows with the text of each cell by the heading of its column. */
public final class Tables {

    private Tables() {}

    /** Returns the rows of all tables of a page that have some columns. */
    public static List<Map<String, String>> rows(String page, String... columns) throws IOException {
        return rowsBelow(page, "", columns);
    }

    /** Returns these rows of the sections with a heading; of all sections if it is empty. */
    static List<Map<String, String>> rowsBelow(String page, String heading, String... columns) throws IOException {
        List<Map<String, String>> rows = rows(Files.readAllLines(Path.of(page)), heading, columns);
        if (rows.isEmpty()) {
            throw new AssertionError(page + " has no table with the columns " + Arrays.toString(columns));
        }
        return rows;
    }

    static List<Map<String, String>> rows(List<String> lines, String heading, String... columns) {
        List<Map<String, String>> rows = new ArrayList<>();
        List<String> header = null;
        String section = "";
        for (String line : lines) {
            if (line.startsWith("#")) {
                section = line.replaceFirst("#+ ", "");
            }
            if (!line.stripLeading().startsWith("|")) {
                header = null;
            } else if (header == null) {
                header = cells(line);
            } else if ((heading.isEmpty() || section.equals(heading))
                    && header.containsAll(List.of(columns))
                    && !line.matches("[| -]+")) {
                rows.add(row(header, cells(line)));
            }
        }
        return rows;
    }

    /** The cells of a line of Markdown. An escaped bar is a part of a cell. */
    private static List<String> cells(String line) {
        return Arrays.stream(line.strip().replaceAll("^\\||\\|$", "").split("(?<!\\\\)\\|", -1))
                .map(String::strip)
                .toList();
    }

    private static Map<String, String> row(List<String> header, List<String> cells) {
        if (cells.size() != header.size()) {
            throw new AssertionError("a row of " + cells.size() + " cells for " + header + ": " + cells);
        }
        return IntStream.range(0, header.size())
                .boxed()
                .collect(Collectors.toMap(header::get, cells::get, (a, b) -> b, LinkedHashMap::new));
    }

    /** Returns the rows of a CSV file. */
    public static List<Map<String, String>> csv(String file) throws IOException {
        CSVFormat format = CSVFormat.DEFAULT.builder().setHeader().get();
        try (CSVParser parser = CSVParser.parse(Path.of(file), StandardCharsets.UTF_8, format)) {
            return parser.stream().map(CSVRecord::toMap).toList();
        }
    }

    /** Returns rows as CSV. */
    static String csv(List<Map<String, String>> rows) throws IOException {
        StringBuilder text = new StringBuilder();
        CSVPrinter printer = new CSVPrinter(
                text,
                CSVFormat.DEFAULT
                        .builder()
                        .setHeader(rows.get(0).keySet().toArray(String[]::new))
                        .setRecordSeparator('\n')
                        .get());
        for (Map<String, String> row : rows) {
            printer.printRecord(row.values());
        }
        return text.toString();
    }

    /** Returns rows as Markdown, with a line break before each line. */
    static String markdown(List<Map<String, String>> rows) {
        Collection<String> header = rows.get(0).keySet();
        Stream<Collection<String>> above = Stream.of(header, Collections.nCopies(header.size(), "---"));
        return Stream.concat(above, rows.stream().map(Map::values))
                .map(cells -> cells.stream()
                        .map(cell -> cell.isEmpty() ? " |" : " " + cell + " |")
                        .collect(Collectors.joining("", "\n|", "")))
                .collect(Collectors.joining());
    }
}
