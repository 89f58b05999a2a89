package io.github.djlpositional.examples.notebooks;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionStatementTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.StatementTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.Trees;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * The source file of a chapter, from the jar.
 *
 * @param imports the import declarations
 * @param members the constants and methods other than {@code write}, with their comments
 * @param cells the calls of {@code write} that write prose, each with the code up to the next
 */
record ChapterSource(List<String> imports, List<String> members, List<Cell> cells) {

    /** The methods of {@link Notebook} that begin a cell. */
    private static final Set<String> PROSE = Arrays.stream(Part.Prose.class.getPermittedSubclasses())
            .map(type -> type.getSimpleName().toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet());

    /** What only code that draws names. */
    private static final Pattern DRAWING = Pattern.compile("Chart\\b|\\bnotebook\\s*\\.pictures?\\(");

    /**
     * One call that writes prose.
     *
     * @param call the name of the method
     * @param code the statements after it up to the first one that draws, may be empty
     * @param drawing that statement and all after it, may be empty
     */
    record Cell(String call, String code, String drawing) {}

    /** Reads the source of a class of this package. */
    static ChapterSource of(String name) throws IOException {
        try (InputStream in = ChapterSource.class.getResourceAsStream(name + ".java")) {
            if (in == null) {
                throw new IOException(name + ".java is not on the class path beside its class: package the sources of"
                        + " the chapters as resources, as the POM does");
            }
            return parse(name, new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    /** Parses the source of a class with a method {@code write}. */
    static ChapterSource parse(String name, String source) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) {
            throw new UserError("this Java has no compiler, which reads the code for the pages: use a JDK");
        }
        JavaFileObject file =
                new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        JavacTask task = (JavacTask) compiler.getTask(null, null, null, null, null, List.of(file));
        CompilationUnitTree unit = task.parse().iterator().next();
        return new Parser(source, unit, Trees.instance(task).getSourcePositions()).parse();
    }

    /** Cuts a source file by the positions of its syntax tree. */
    private record Parser(String source, CompilationUnitTree unit, SourcePositions positions) {

        private int start(Tree tree) {
            return (int) positions.getStartPosition(unit, tree);
        }

        private int end(Tree tree) {
            return (int) positions.getEndPosition(unit, tree);
        }

        /** Returns lines without their common indentation. */
        private String cut(int start, int end) {
            return source.substring(start, end).stripTrailing().stripIndent().strip();
        }

        ChapterSource parse() {
            List<String> imports = unit.getImports().stream()
                    .map(declaration -> cut(start(declaration), end(declaration)))
                    .toList();
            ClassTree type = (ClassTree) unit.getTypeDecls().get(0);
            List<String> members = new ArrayList<>();
            List<Cell> cells = List.of();
            int previous = source.indexOf('{', start(type)) + 1;
            for (Tree member : type.getMembers()) {
                if (member instanceof MethodTree method && method.getName().contentEquals("write")) {
                    cells = cells(method);
                } else if (!(member instanceof MethodTree method
                        && method.getName().contentEquals("<init>"))) {
                    members.add(cut(previous, end(member)));
                }
                previous = end(member);
            }
            return new ChapterSource(imports, List.copyOf(members), cells);
        }

        private List<Cell> cells(MethodTree write) {
            List<? extends StatementTree> statements = write.getBody().getStatements();
            List<Cell> cells = new ArrayList<>();
            for (int i = 0; i < statements.size(); ) {
                Optional<String> call = prose(statements.get(i));
                int codeStart = end(statements.get(i));
                int drawingStart = -1;
                for (i++; i < statements.size() && prose(statements.get(i)).isEmpty(); i++) {
                    if (drawingStart < 0
                            && DRAWING.matcher(statements.get(i).toString()).find()) {
                        // a comment behind the statement before is not of this one
                        drawingStart = source.indexOf('\n', end(statements.get(i - 1)));
                    }
                }
                int end = i < statements.size() ? start(statements.get(i)) : end(write.getBody()) - 1;
                int codeEnd = drawingStart < 0 ? end : drawingStart;
                call.ifPresent(name -> cells.add(new Cell(name, cut(codeStart, codeEnd), cut(codeEnd, end))));
            }
            return List.copyOf(cells);
        }

        /** Returns the name of the method if a statement is a call that writes prose. */
        private static Optional<String> prose(StatementTree statement) {
            return statement instanceof ExpressionStatementTree expression
                            && expression.getExpression() instanceof MethodInvocationTree call
                            && call.getMethodSelect() instanceof MemberSelectTree method
                            && method.getExpression().toString().equals("notebook")
                            && PROSE.contains(method.getIdentifier().toString())
                    ? Optional.of(method.getIdentifier().toString())
                    : Optional.empty();
        }
    }
}
