package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs notebooks, and puts their pictures on one self-contained page, {@code index.html}. */
@Command(
        name = "Gallery",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        showDefaultValues = true,
        description = "Run notebooks, and put their pictures on one page, index.html.")
public final class Gallery implements Callable<Integer> {

    /** A program that reads from top to bottom like a notebook. */
    @FunctionalInterface
    interface Page {
        void write(Notebook notebook) throws Exception;
    }

    /** The notebooks by name, in the order of the gallery. */
    static final Map<String, Page> NOTEBOOKS = new LinkedHashMap<>();

    static {
        NOTEBOOKS.put("GettingStarted", GettingStarted::write);
        NOTEBOOKS.put("SinusoidsByHand", SinusoidsByHand::write);
        NOTEBOOKS.put("WhySinusoids", WhySinusoids::write);
        NOTEBOOKS.put("ShiftByRotation", ShiftByRotation::write);
        NOTEBOOKS.put("Conventions", Conventions::write);
        NOTEBOOKS.put("Precision", Precision::write);
        NOTEBOOKS.put("LengthExtrapolation", LengthExtrapolation::write);
        NOTEBOOKS.put("TrainingCurves", TrainingCurves::write);
    }

    @Parameters(
            paramLabel = "NOTEBOOK",
            arity = "0..*",
            description = "The notebooks to run, by default all: GettingStarted, SinusoidsByHand, WhySinusoids,"
                    + " ShiftByRotation, Conventions, Precision, LengthExtrapolation, TrainingCurves.")
    private List<String> names = new ArrayList<>();

    @Option(names = "--out", description = "The folder for the pictures and the page.")
    private Path folder = Path.of("notebooks");

    @Option(
            names = "--model",
            description =
                    "The file of the model that TrainingCurves shows. If it does not exist, TrainingCurves trains a"
                            + " smaller model.")
    private Path model = Path.of("model.zip");

    /**
     * Runs notebooks.
     *
     * @param args the options; {@code --help} lists them
     */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(Program.commandLine(new Gallery()).execute(args));
    }

    @Override
    public Integer call() throws IOException {
        Map<String, Notebook> written = new LinkedHashMap<>();
        for (String name : names.isEmpty() ? NOTEBOOKS.keySet() : names) {
            if (!NOTEBOOKS.containsKey(name)) {
                throw new UserError(
                        "unknown notebook '" + name + "': choose from " + String.join(", ", NOTEBOOKS.keySet()));
            }
            Notebook notebook = new Notebook(System.out, folder, model);
            write(NOTEBOOKS.get(name), notebook);
            written.put(name, notebook);
        }
        if (names.isEmpty()) {
            writePage(folder, written);
            System.out.printf("%n%s%n", folder.resolve("index.html"));
        }
        return 0;
    }

    /** Runs one notebook. */
    static void write(Page page, Notebook notebook) {
        AtomicFile.prepare(notebook.folder().resolve("index.html"));
        try {
            page.write(notebook);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("the notebook could not be written", e);
        }
    }

    /** Writes the page with the pictures of some notebooks, which are in the folder. */
    static void writePage(Path folder, Map<String, Notebook> notebooks) throws IOException {
        StringBuilder sections = new StringBuilder();
        for (Map.Entry<String, Notebook> notebook : notebooks.entrySet()) {
            sections.append(String.format(
                    "<section><h2>%s</h2>%n<pre>java -cp examples/target/train-encoder.jar %s %1$s</pre>%n",
                    notebook.getKey(), Gallery.class.getName()));
            for (Notebook.Picture picture : notebook.getValue().pictures()) {
                byte[] png = Files.readAllBytes(folder.resolve(picture.file() + ".png"));
                sections.append(String.format(
                        "<figure><img alt=\"%s\" src=\"data:image/png;base64,%s\">"
                                + "<figcaption>%1$s</figcaption></figure>%n",
                        escaped(picture.caption()), Base64.getEncoder().encodeToString(png)));
            }
            sections.append("</section>\n");
        }
        try (InputStream template = Gallery.class.getResourceAsStream("/gallery.html")) {
            String page = new String(template.readAllBytes(), StandardCharsets.UTF_8).replace("${sections}", sections);
            AtomicFile.write(folder.resolve("index.html"), out -> out.write(page.getBytes(StandardCharsets.UTF_8)));
        }
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }
}
