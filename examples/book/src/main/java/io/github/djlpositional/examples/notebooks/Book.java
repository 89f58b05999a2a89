package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Program;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
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

/** Runs chapters, and writes each as a page and as a Jupyter notebook; all of them also with a page of contents. */
@Command(
        name = "Book",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        showDefaultValues = true,
        description =
                "Run chapters, and write each as a page and as a Jupyter notebook; all of them also with a page of"
                        + " contents, index.html.")
public final class Book implements Callable<Integer> {

    /** The chapters by name, in order. */
    static final Map<String, Chapter.Author> CHAPTERS = new LinkedHashMap<>();

    static {
        CHAPTERS.put("WhyOrderIsLost", WhyOrderIsLost::write);
        CHAPTERS.put("FirstIdeas", FirstIdeas::write);
        CHAPTERS.put("SinesAsAClock", SinesAsAClock::write);
        CHAPTERS.put("HeatMap", HeatMap::write);
        CHAPTERS.put("AddedToAWord", AddedToAWord::write);
        CHAPTERS.put("Similarity", Similarity::write);
        CHAPTERS.put("ShiftAsRotation", ShiftAsRotation::write);
        CHAPTERS.put("RotaryPairs", RotaryPairs::write);
        CHAPTERS.put("ContextExtension", ContextExtension::write);
        CHAPTERS.put("LearnedTables", LearnedTables::write);
        CHAPTERS.put("BiasesOfDistance", BiasesOfDistance::write);
        CHAPTERS.put("RelativePositions", RelativePositions::write);
        CHAPTERS.put("LengthExtrapolation", LengthExtrapolation::write);
        CHAPTERS.put("TwoDimensions", TwoDimensions::write);
        CHAPTERS.put("TrainedHeads", TrainedHeads::write);
        CHAPTERS.put("WhichToUse", WhichToUse::write);
        CHAPTERS.put("GettingStarted", GettingStarted::write);
        CHAPTERS.put("Conventions", Conventions::write);
        CHAPTERS.put("Precision", Precision::write);
    }

    /** The first chapter of the appendix. */
    private static final String APPENDIX = "Conventions";

    /** Returns the number of a chapter, a letter in the appendix; empty for a chapter that is not in the book. */
    static String number(String name) {
        List<String> all = List.copyOf(CHAPTERS.keySet());
        int index = all.indexOf(name);
        int appendix = all.indexOf(APPENDIX);
        return index < 0
                ? ""
                : index < appendix ? Integer.toString(index + 1) : Character.toString((char) ('A' + index - appendix));
    }

    /** The names of the chapters for the help. */
    static final class Names extends ArrayList<String> {
        Names() {
            super(CHAPTERS.keySet());
        }
    }

    @Parameters(
            paramLabel = "CHAPTER",
            arity = "0..*",
            completionCandidates = Names.class,
            description = "The chapters to run, by default all: ${COMPLETION-CANDIDATES}.")
    private List<String> names = new ArrayList<>();

    @Option(names = "--out", description = "The folder for the pages.")
    private Path folder = Path.of("notebooks");

    @Option(
            names = "--model",
            description = "The file of a trained model, which chapters that need its positions show instead of the"
                    + " shipped numbers.")
    private Path model;

    @Option(
            names = "--train",
            description = "Train the models that chapters show, in minutes, instead of reading the shipped numbers, and"
                    + " write the numbers to the folder trained beside the pages.")
    private boolean isTraining;

    @Option(names = "--glosses", description = "The number of definitions that --train trains with.")
    private int glosses = Notebook.GLOSSES;

    /**
     * Runs chapters.
     *
     * @param args the options; {@code --help} lists them
     */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(Program.commandLine(new Book()).execute(args));
    }

    @Override
    public Integer call() throws IOException {
        List<Chapter> chapters = new ArrayList<>();
        for (String name : names.isEmpty() ? CHAPTERS.keySet() : names) {
            if (!CHAPTERS.containsKey(name)) {
                throw new UserError(
                        "unknown chapter '" + name + "': choose from " + String.join(", ", CHAPTERS.keySet()));
            }
            Notebook notebook = new Notebook(System.out, folder, Optional.ofNullable(model), isTraining, glosses);
            write(CHAPTERS.get(name), notebook);
            chapters.add(Chapter.of(name, notebook));
        }
        System.out.println();
        for (Path page : write(folder, chapters, names.isEmpty())) {
            System.out.println(page);
        }
        return 0;
    }

    /** Runs one chapter. */
    static void write(Chapter.Author author, Notebook notebook) {
        AtomicFile.prepare(notebook.folder().resolve("index.html"));
        try {
            author.write(notebook);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("the chapter could not be written", e);
        }
    }

    /** Writes the pages and Jupyter notebooks of chapters to a folder, and returns the pages. */
    static List<Path> write(Path folder, List<Chapter> chapters, boolean withContents) throws IOException {
        List<Path> pages = new ArrayList<>();
        for (int i = 0; i < chapters.size(); i++) {
            Chapter chapter = chapters.get(i);
            Optional<Chapter> previous = chapters.stream().limit(i).reduce((first, second) -> second);
            Optional<Chapter> next = chapters.stream().skip(i + 1L).findFirst();
            pages.add(write(folder.resolve(chapter.name() + ".html"), Page.of(chapter, previous, next)));
            write(folder.resolve(chapter.name() + ".ipynb"), JupyterNotebook.of(chapter));
        }
        if (withContents) {
            pages.add(write(folder.resolve("index.html"), Page.contents(chapters)));
        }
        return pages;
    }

    private static Path write(Path file, String text) throws IOException {
        AtomicFile.write(file, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
        return file;
    }
}
