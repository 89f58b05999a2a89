package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
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

    /** The chapters, in order. */
    static final List<String> CHAPTERS = List.of(("OrderLost Count Clock Added Similarity Shift Rotary Relative Learned"
                    + " Longer TwoDimensions Heads Which Model Conventions Precision Others")
            .split(" ", -1));

    /** The first chapter of the appendix. */
    static final String APPENDIX = "Model";

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

    /** Returns the title of a chapter with its number, a letter in the appendix. */
    static String heading(Chapter chapter) {
        int index = CHAPTERS.indexOf(chapter.name());
        int appendix = CHAPTERS.indexOf(APPENDIX);
        String number = index < appendix ? Integer.toString(index + 1) : Character.toString('A' + index - appendix);
        return index < 0 ? chapter.title() : number + ". " + chapter.title();
    }

    @Override
    public Integer call() throws Exception {
        if (isTraining) {
            Training.run(folder.resolve("trained"), Training.GLOSSES);
            return 0;
        }
        AtomicFile.prepare(folder.resolve("index.html"));
        List<Chapter> chapters = new ArrayList<>();
        for (String name : names.isEmpty() ? CHAPTERS : names) {
            System.out.printf("%n%s%n%s%n", name, "-".repeat(name.length()));
            chapters.add(run(name, System.out, folder.resolve("pictures")));
        }
        write(folder, chapters);
        System.out.println("\n" + folder.resolve(names.isEmpty() ? "index.html" : names.get(0) + ".html"));
        return 0;
    }

    /** Runs a chapter, which prints to a stream and saves its pictures in a folder. */
    static Chapter run(String name, PrintStream out, Path pictures) throws Exception {
        if (!CHAPTERS.contains(name)) {
            throw new UserError("unknown chapter '" + name + "': choose from " + String.join(", ", CHAPTERS));
        }
        Method main = Class.forName(Book.class.getPackageName() + "." + name).getMethod("main", String[].class);
        try {
            return Chapter.of(name, Notebook.record(() -> main.invoke(null, (Object) new String[0]), out, pictures));
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** Writes the site of chapters. */
    static void write(Path folder, List<Chapter> chapters) throws IOException {
        Files.createDirectories(folder.resolve("play"));
        for (Chapter chapter : chapters) {
            Files.writeString(folder.resolve(chapter.name() + ".html"), Page.of(chapter, chapters));
            Files.writeString(folder.resolve(chapter.name() + ".ipynb"), Jupyter.of(chapter));
        }
        Chapter index = index();
        Files.writeString(folder.resolve("index.html"), Page.contents(index, chapters));
        Stream<String> scripts = Stream.concat(chapters.stream(), Stream.of(index))
                .flatMap(chapter -> chapter.scripts().stream())
                .map("play/%s.js"::formatted);
        Stream<String> shared = Stream.of("style.css", "cat.png", "play/play.js");
        for (String file : Stream.concat(shared, scripts).distinct().toList()) {
            Files.write(folder.resolve(file), bytes("/site/" + file));
        }
    }

    /** Returns the start page, in which {@code {{contents}}} is the list of chapters. */
    static Chapter index() {
        return Chapter.of("index", read("/chapters/index.md"), "", Map.of());
    }

    /** Returns a text file of the book. */
    static String read(String resource) {
        return new String(bytes(resource), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String resource) {
        try {
            return new Resource(resource, "djl-positional-book").read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
