package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.FolderUpdate;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/** Runs every notebook and puts all pictures on one page, {@code index.html}, which needs nothing else. */
public final class Gallery {

    private Gallery() {}

    /** The notebooks, by the names of their programs. */
    static Map<String, Notebook.Page> pages() {
        Map<String, Notebook.Page> pages = new LinkedHashMap<>();
        pages.put("GettingStarted", GettingStarted::write);
        pages.put("SinusoidsByHand", SinusoidsByHand::write);
        pages.put("WhySinusoids", WhySinusoids::write);
        pages.put("ShiftByRotation", ShiftByRotation::write);
        pages.put("Conventions", Conventions::write);
        pages.put("Precision", Precision::write);
        pages.put("LengthExtrapolation", LengthExtrapolation::write);
        pages.put("TrainingCurves", TrainingCurves::write);
        return pages;
    }

    /**
     * Runs all notebooks.
     *
     * @param args {@code --out FOLDER}, {@code --model FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(notebook -> write(notebook), Gallery.class, args);
    }

    static void write(Notebook all) throws IOException {
        Path folder = all.folder();
        StringBuilder sections = new StringBuilder();
        for (Map.Entry<String, Notebook.Page> page : pages().entrySet()) {
            Notebook notebook = new Notebook(all.out(), folder, all.model());
            Notebook.write(page.getValue(), notebook);
            sections.append("<section><h2>")
                    .append(page.getKey())
                    .append("</h2>\n<pre>java -cp examples/target/train-encoder.jar ")
                    .append(Gallery.class.getPackageName())
                    .append('.')
                    .append(page.getKey())
                    .append("</pre>\n");
            for (Notebook.Picture picture : notebook.pictures()) {
                byte[] png = Files.readAllBytes(folder.resolve(picture.file() + ".png"));
                sections.append("<figure><img alt=\"")
                        .append(escaped(picture.caption()))
                        .append("\" src=\"data:image/png;base64,")
                        .append(Base64.getEncoder().encodeToString(png))
                        .append("\"><figcaption>")
                        .append(escaped(picture.caption()))
                        .append("</figcaption></figure>\n");
            }
            sections.append("</section>\n");
        }
        FolderUpdate.of(
                folder,
                beside -> Files.writeString(
                        beside.resolve("index.html"), html(sections.toString()), StandardCharsets.UTF_8));
        all.out().printf("%n%s%n", folder.resolve("index.html"));
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }

    private static String html(String sections) {
        return """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>djl-positional: the pictures</title>
                <style>
                :root { color-scheme: light dark; --page: #ffffff; --text: #1b1f24; --code: #f0f2f4; --line: #d0d7de }
                @media (prefers-color-scheme: dark) {
                  :root { --page: #16191d; --text: #e4e7ea; --code: #23282e; --line: #3a4149 }
                }
                body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--page); color: var(--text);
                       font: 1rem/1.5 system-ui, sans-serif }
                pre { overflow-x: auto; padding: .6rem; background: var(--code); border-radius: .4rem; font-size: .85rem }
                figure { margin: 1.2rem 0; border: 1px solid var(--line); border-radius: .4rem; overflow-x: auto }
                /* on a phone a picture is as large as its smallest letters need, and slides sideways */
                img { display: block; width: 100%; min-width: 40rem; height: auto; background: #ffffff }
                figcaption { position: sticky; left: 0; box-sizing: border-box; max-width: calc(100vw - 2rem); padding: .5rem .8rem }
                </style>
                </head>
                <body>
                <h1>djl-positional: the pictures</h1>
                """ + sections + "</body>\n</html>\n";
    }
}
