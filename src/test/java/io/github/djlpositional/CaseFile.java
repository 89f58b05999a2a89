package io.github.djlpositional;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A file of cases in {@code src/test/resources}, one a line: {@code name := text} is a definition, {@code for 1, 2:
 * row} stands for two rows with 1 and 2 in place of {@code $}, a line that begins with a space continues the line
 * before, and {@code //} begins a comment.
 *
 * @param definitions the definitions, by name
 * @param rows the other lines
 */
public record CaseFile(Map<String, String> definitions, List<String> rows) {

    /** Reads a file. */
    public static CaseFile read(String path) {
        CaseFile file = new CaseFile(new LinkedHashMap<>(), new ArrayList<>());
        for (String line : lines(path)) {
            if (line.contains(" := ")) {
                String[] definition = line.split(" := ", 2);
                file.definitions.put(definition[0], definition[1]);
            } else if (line.startsWith("for ")) {
                int colon = line.indexOf(": ");
                for (String value : line.substring(4, colon).split(", ", -1)) {
                    file.rows.add(line.substring(colon + 2).replace("$", value));
                }
            } else {
                file.rows.add(line);
            }
        }
        return file;
    }

    private static List<String> lines(String path) {
        List<String> lines = new ArrayList<>();
        try {
            for (String line : Files.readAllLines(Path.of("src/test/resources", path))) {
                if (line.startsWith(" ")) {
                    lines.set(lines.size() - 1, lines.get(lines.size() - 1) + " " + line.strip());
                } else if (!line.isBlank() && !line.startsWith("//")) {
                    lines.add(line);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return lines;
    }

    /** The second columns of the rows, by the first. */
    public Map<String, List<String>> byFirstColumn() {
        Map<String, List<String>> columns = new LinkedHashMap<>();
        for (String row : rows) {
            String[] both = row.split(" [|] ", 2);
            columns.computeIfAbsent(both[0], kind -> new ArrayList<>()).add(both[1]);
        }
        return columns;
    }

    /** A row in which names of definitions are replaced by the definitions. */
    public String expanded(String row) {
        String before;
        String text = row;
        do {
            before = text;
            // Block{name} stands for the block of arguments with this name; keys of arguments are no names
            text = Pattern.compile("[{](\\w+)[}]|\\b(\\w+)\\b(?![{:\\w])")
                    .matcher(before)
                    .replaceAll(found -> {
                        String name = found.group(1) == null ? found.group(2) : found.group(1);
                        return Matcher.quoteReplacement(definitions.getOrDefault(name, found.group()));
                    });
        } while (!text.equals(before));
        return text;
    }
}
