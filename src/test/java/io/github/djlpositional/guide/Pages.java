package io.github.djlpositional.guide;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The READMEs and the pages of the guide. */
public final class Pages {

    /** Other processes may write to these folders at the same time. */
    private static final Set<String> SKIPPED = Set.of("target", ".git");

    private Pages() {}

    /** Returns the pages in the repository, in alphabetical order. */
    public static List<Path> in(Path root) throws IOException {
        List<Path> pages = new ArrayList<>();
        Files.walkFileTree(root, Set.of(), 3, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                return SKIPPED.contains(folder.getFileName().toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(".md")) {
                    pages.add(file.normalize());
                }
                return FileVisitResult.CONTINUE;
            }
        });
        pages.sort(null);
        return pages;
    }
}
