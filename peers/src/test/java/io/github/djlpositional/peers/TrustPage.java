package io.github.djlpositional.peers;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The tables of {@code docs/trust.md}, which say what has been compared. */
final class TrustPage {

    private static final Path PAGE = Path.of("../docs/trust.md");

    private TrustPage() {}

    /**
     * Requires that the first table of a section has these rows, whose last cell is an error: that may differ, because
     * the last bits depend on the processor. {@code -Dguide.write=true} writes them instead.
     */
    static void requireTable(String section, List<String> header, List<List<String>> rows) throws IOException {
        String page = Files.readString(PAGE);
        Matcher table = Pattern.compile(
                        "(\\n## " + Pattern.quote(section) + "\\n(?:(?!\\n## ).)*?)((?:(?<=\\n)\\|[^\\n]*\\n)+)",
                        Pattern.DOTALL)
                .matcher(page);
        assertThat(table.find()).as("%s has a table below '%s'", PAGE, section).isTrue();
        StringBuilder text = new StringBuilder(
                line(header) + line(header.stream().map(each -> "---").toList()));
        rows.forEach(row -> text.append(line(row)));
        if (Boolean.getBoolean("guide.write")) {
            Files.writeString(PAGE, page.substring(0, table.start(2)) + text + page.substring(table.end(2)));
        } else {
            assertThat(withoutErrors(table.group(2))).isEqualTo(withoutErrors(text.toString()));
        }
    }

    private static String line(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }

    private static String withoutErrors(String table) {
        return table.replaceAll("[^|\\n]+\\|\\n", "\n");
    }
}
