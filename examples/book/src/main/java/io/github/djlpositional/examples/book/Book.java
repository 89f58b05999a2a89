package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs chapters, and writes them as a site: pages, Jupyter notebooks, a style sheet and the scripts of the sliders. */
@Command(
        name = "book",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        showDefaultValues = true,
        description = "Runs chapters, and writes them as pages and Jupyter notebooks. The start page is index.html.")
public final class Book implements Callable<Integer> {

    /** The chapters by name, in order. */
    static final Map<String, Chapter.Program> CHAPTERS = new LinkedHashMap<>();

    static {
        CHAPTERS.put("OrderLost", OrderLost::main);
        CHAPTERS.put("Count", Count::main);
        CHAPTERS.put("Clock", Clock::main);
        CHAPTERS.put("Added", Added::main);
        CHAPTERS.put("Similarity", Similarity::main);
        CHAPTERS.put("Shift", Shift::main);
        CHAPTERS.put("Rotary", Rotary::main);
        CHAPTERS.put("Relative", Relative::main);
        CHAPTERS.put("Learned", Learned::main);
        CHAPTERS.put("Longer", Longer::main);
        CHAPTERS.put("TwoDimensions", TwoDimensions::main);
        CHAPTERS.put("Heads", Heads::main);
        CHAPTERS.put("Which", Which::main);
        CHAPTERS.put("Model", Model::main);
        CHAPTERS.put("Conventions", Conventions::main);
        CHAPTERS.put("Precision", Precision::main);
        CHAPTERS.put("Others", Others::main);
    }

    /** The first chapter of the appendix. */
    private static final String APPENDIX = "Model";

    /** The scripts of sliders that several pages have. */
    static final List<String> SCRIPTS = List.of(
            "play",
            "added",
            "biases",
            "bits",
            "checker",
            "contexts",
            "forgetting",
            "formats",
            "heatmap",
            "maps",
            "patches",
            "playground",
            "rotary",
            "shift",
            "similarity",
            "sinusoids");

    @Parameters(paramLabel = "CHAPTER", arity = "0..*", description = "The chapters to run (default: all).")
    private List<String> names = new ArrayList<>();

    @Option(names = "--out", description = "The folder of the site.")
    private Path folder = Path.of("book");

    @Option(
            names = "--train",
            description = "Only train the models whose numbers the book shows, in minutes, and write the numbers to the"
                    + " folder trained in that of the site.")
    private boolean isTraining;

    /** Runs chapters; {@code --help} lists the options. */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(Program.commandLine(new Book()).execute(args));
    }

    /** Returns the number of a chapter, a letter in the appendix; empty for a chapter that is not in the book. */
    static String number(String name) {
        List<String> all = List.copyOf(CHAPTERS.keySet());
        int index = all.indexOf(name);
        int appendix = all.contains(APPENDIX) ? all.indexOf(APPENDIX) : all.size();
        return index < 0
                ? ""
                : index < appendix ? Integer.toString(index + 1) : Character.toString((char) ('A' + index - appendix));
    }

    /** Returns the title of a chapter with its number. */
    static String heading(Chapter chapter) {
        String number = number(chapter.name());
        return number.isEmpty() ? chapter.title() : number + ". " + chapter.title();
    }

    @Override
    public Integer call() throws IOException {
        if (isTraining) {
            Training.run(folder.resolve("trained"), Training.GLOSSES);
            return 0;
        }
        List<Chapter> chapters = new ArrayList<>();
        for (String name : names.isEmpty() ? CHAPTERS.keySet() : names) {
            System.out.printf("%n%s%n%s%n", name, "-".repeat(name.length()));
            chapters.add(run(name, System.out, folder.resolve("pictures")));
        }
        write(folder, chapters);
        System.out.println("\n" + folder.resolve(names.isEmpty() ? "index.html" : names.get(0) + ".html"));
        return 0;
    }

    /** Runs a chapter, which prints to a stream and saves its pictures in a folder. */
    static Chapter run(String name, PrintStream out, Path pictures) throws IOException {
        Chapter.Program program = CHAPTERS.get(name);
        if (program == null) {
            throw new UserError("unknown chapter '" + name + "': choose from " + String.join(", ", CHAPTERS.keySet()));
        }
        try {
            return Chapter.of(name, Notebook.record(program, out, pictures));
        } catch (RuntimeException | IOException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("the chapter " + name + " could not be written", e);
        }
    }

    /** Writes the site of chapters. */
    static void write(Path folder, List<Chapter> chapters) throws IOException {
        for (int i = 0; i < chapters.size(); i++) {
            Chapter chapter = chapters.get(i);
            Optional<Chapter> previous = i == 0 ? Optional.empty() : Optional.of(chapters.get(i - 1));
            Optional<Chapter> next = chapters.stream().skip(i + 1L).findFirst();
            write(folder.resolve(chapter.name() + ".html"), Page.of(chapter, previous, next));
            write(folder.resolve(chapter.name() + ".ipynb"), Jupyter.of(chapter));
        }
        write(folder.resolve("index.html"), Page.contents(read("/chapters/index.md"), chapters));
        write(folder.resolve("style.css"), read("/site/style.css"));
        byte[] photograph = new Resource("/site/cat.png", "djl-positional-book").read();
        AtomicFile.write(folder.resolve("cat.png"), out -> out.write(photograph));
        for (String script : SCRIPTS) {
            write(folder.resolve("play").resolve(script + ".js"), read("/site/play/" + script + ".js"));
        }
    }

    private static String read(String resource) throws IOException {
        return new String(new Resource(resource, "djl-positional-book").read(), StandardCharsets.UTF_8);
    }

    private static void write(Path file, String text) throws IOException {
        AtomicFile.prepare(file);
        AtomicFile.write(file, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
    }
}
