package io.github.djlpositional.weights;

import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipException;

/**
 * Reads the one kind of Python dictionary that stands in front of an array of NumPy, as in
 * {@code {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }}, and nothing else of Python.
 */
final class PythonDictionary {

    /** More than any array has. */
    private static final int MOST_DIMENSIONS = 64;

    private final String text;
    private int at;

    private String description;
    private Boolean isColumnMajor;
    private long[] shape;

    private PythonDictionary(String text) {
        this.text = text;
    }

    static PythonDictionary parse(String text) throws ZipException {
        PythonDictionary dictionary = new PythonDictionary(text);
        dictionary.parse();
        return dictionary;
    }

    /** The type of the array's elements; of a structure, its text. */
    String description() {
        return description;
    }

    boolean isColumnMajor() {
        return isColumnMajor;
    }

    long[] shape() {
        return shape.clone();
    }

    private void parse() throws ZipException {
        require('{');
        while (!accept('}')) {
            String key = string();
            require(':');
            if (key.equals("descr") && description == null) {
                description = isNext('[') ? structure() : string();
            } else if (key.equals("fortran_order") && isColumnMajor == null) {
                isColumnMajor = truth();
            } else if (key.equals("shape") && shape == null) {
                shape = tuple();
            } else {
                throw bad("a key that NumPy does not write, or writes once");
            }
            if (!accept(',') && !isNext('}')) {
                throw bad("no comma");
            }
        }
        skipSpace();
        if (at < text.length() || description == null || isColumnMajor == null || shape == null) {
            throw bad("not its three entries");
        }
    }

    private void skipSpace() {
        while (at < text.length() && " \n\t\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean isNext(char wanted) {
        skipSpace();
        return at < text.length() && text.charAt(at) == wanted;
    }

    private boolean accept(char wanted) {
        boolean isThere = isNext(wanted);
        at += isThere ? 1 : 0;
        return isThere;
    }

    private void require(char wanted) throws ZipException {
        if (!accept(wanted)) {
            throw bad("no " + wanted);
        }
    }

    /** A string without escapes. */
    private String string() throws ZipException {
        char quote = isNext('"') ? '"' : '\'';
        require(quote);
        int end = text.indexOf(quote, at);
        if (end < 0 || text.substring(at, end).indexOf('\\') >= 0) {
            throw bad("no plain string");
        }
        String string = text.substring(at, end);
        at = end + 1;
        return string;
    }

    /** A list of fields, which is not read: its text up to the bracket that closes it. */
    private String structure() throws ZipException {
        int start = at;
        int depth = 0;
        do {
            if (isNext('\'') || isNext('"')) {
                string();
            } else if (at == text.length()) {
                throw bad("no end of a list");
            } else {
                char character = text.charAt(at);
                depth += character == '[' ? 1 : 0;
                depth -= character == ']' ? 1 : 0;
                at++;
            }
        } while (depth > 0);
        return text.substring(start, at);
    }

    private boolean truth() throws ZipException {
        skipSpace();
        for (boolean value : new boolean[] {true, false}) {
            String word = value ? "True" : "False";
            if (text.startsWith(word, at)) {
                at += word.length();
                return value;
            }
        }
        throw bad("neither True nor False");
    }

    private long[] tuple() throws ZipException {
        List<Long> sizes = new ArrayList<>();
        require('(');
        while (!accept(')')) {
            sizes.add(size());
            if (sizes.size() > MOST_DIMENSIONS) {
                throw bad("too many sizes");
            }
            // Python needs the comma behind a single number: (3) is no tuple
            if (!accept(',') && !(isNext(')') && sizes.size() > 1)) {
                throw bad("no comma");
            }
        }
        return sizes.stream().mapToLong(Long::longValue).toArray();
    }

    private long size() throws ZipException {
        skipSpace();
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start || at - start > 18) {
            throw bad("no size of an axis");
        }
        long size = Long.parseLong(text, start, at, 10);
        // Python 2 marks some whole numbers so
        at += at < text.length() && text.charAt(at) == 'L' ? 1 : 0;
        return size;
    }

    private ZipException bad(String what) {
        return new ZipException(
                "its header " + Quoted.text(text) + " is not NumPy's, at character " + at + ": " + what);
    }
}
