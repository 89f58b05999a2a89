package io.github.djlpositional.guide;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;

/** Tables in Markdown and CSV: rows with the text of each cell by the heading of its column. */
public final class Tables {

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setHeader().setRecordSeparator('\n').get();

    /** A table without its outer bars. */
    private static final CSVFormat MARKDOWN = CSV.builder()
            .setDelimiter('|')
            .setIgnoreSurroundingSpaces(true)
            .setQuote(null)
            .setEscape('\\')
            .get();

    private static final Pattern TABLE = Pattern.compile("(^ *\\|.*\\n)+", Pattern.MULTILINE);

    private Tables() {}

    /** Returns the rows of all tables of a page that have some columns. */
    public static List<Map<String, String>> rows(String page, String... columns) throws IOException {
        return rows(Files.readString(Path.of(page)), page, columns);
    }

    /** Returns these rows of the section with a heading. */
    static List<Map<String, String>> rowsBelow(String page, String heading, String... columns) throws IOException {
        String section = Files.readString(Path.of(page)).split("(?m)^#+ " + heading + "\\n", 2)[1];
        return rows(section.split("(?m)^#", 2)[0], page, columns);
    }

    private static List<Map<String, String>> rows(String text, String page, String... columns) throws IOException {
        for (String table :
                TABLE.matcher(text).results().map(MatchResult::group).toList()) {
            List<Map<String, String>> rows = table(table);
            if (rows.get(0).keySet().containsAll(List.of(columns))) {
                return rows;
            }
        }
        throw new AssertionError(page + " has no table with the columns " + Arrays.toString(columns));
    }

    /** Returns the rows of a table in Markdown. */
    static List<Map<String, String>> table(String markdown) throws IOException {
        String text = markdown.strip().replaceFirst("\\n[| -]+\\n", "\n");
        return read(text.replaceAll("(?m)^ *\\| ?| *\\|$", ""), MARKDOWN);
    }

    /** Returns the rows of a CSV file. */
    public static List<Map<String, String>> csv(String file) throws IOException {
        return read(Files.readString(Path.of(file)), CSV);
    }

    private static List<Map<String, String>> read(String text, CSVFormat format) throws IOException {
        try (CSVParser parser = CSVParser.parse(new StringReader(text), format)) {
            List<CSVRecord> records = parser.getRecords();
            if (!records.stream().allMatch(CSVRecord::isConsistent)) {
                throw new AssertionError("a row has another number of cells than " + parser.getHeaderNames());
            }
            return records.stream().map(CSVRecord::toMap).toList();
        }
    }

    /** Returns rows as CSV. */
    static String csv(List<Map<String, String>> rows) throws IOException {
        StringBuilder text = new StringBuilder();
        String[] header = rows.get(0).keySet().toArray(String[]::new);
        CSVPrinter printer =
                new CSVPrinter(text, CSV.builder().setHeader(header).get());
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
                        .map(cell -> cell.isEmpty() ? " |" : " " + cell.replace("|", "\\|") + " |")
                        .collect(Collectors.joining("", "\n|", "")))
                .collect(Collectors.joining());
    }
}
