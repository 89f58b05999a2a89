package io.github.djlpositional.examples.book;

import java.io.IOException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import uk.ac.ed.ph.snuggletex.SnuggleEngine;
import uk.ac.ed.ph.snuggletex.SnuggleInput;
import uk.ac.ed.ph.snuggletex.SnuggleSession;
import uk.ac.ed.ph.snuggletex.XMLStringOutputOptions;
import uk.ac.ed.ph.snuggletex.utilities.MessageFormatter;

/** Formulas in MathML, which browsers display without a script. */
final class MathMl {

    private static final String NAMESPACE = "http://www.w3.org/1998/Math/MathML";

    /** Usual commands that SnuggleTeX does not define. */
    private static final String COMMANDS =
            "\\newcommand{\\text}[1]{\\mbox{#1}}\\newcommand{\\operatorname}[1]{\\mbox{#1}}"
                    + "\\newcommand{\\dots}{\\ldots}\\newcommand{\\to}{\\rightarrow}";

    private static final SnuggleEngine ENGINE = new SnuggleEngine();

    private MathMl() {}

    /**
     * Converts a displayed formula, or several with wide spaces between them, which a narrow page displays in lines.
     *
     * @throws IllegalArgumentException if the LaTeX has an error, or a command that is not supported
     */
    static String of(String latex) {
        return Stream.of(latex.split("\\\\qquad", -1))
                .map(each -> converted("$$" + each + "$$", latex))
                .collect(Collectors.joining("\n"));
    }

    /** Converts a formula within a line. */
    static String inline(String latex) {
        return converted("$" + latex + "$", latex);
    }

    private static String converted(String input, String latex) {
        SnuggleSession session = ENGINE.createSession();
        // SnuggleTeX puts no space around the name of a function
        String spaced = input.replaceAll("\\\\(ln|sin|cos)(\\^\\w)? (?=\\\\?\\w)|\\w (?=\\\\ln)", "$0\\\\, ");
        try {
            session.parseInput(new SnuggleInput(COMMANDS + spaced));
        } catch (IOException e) {
            throw new IllegalStateException("a string cannot be read", e);
        }
        XMLStringOutputOptions options = new XMLStringOutputOptions();
        options.setEncoding("UTF-8");
        options.setDOMPostProcessors((document, unused, stylesheets) -> forBrowsers(document));
        String xml = session.buildXMLString(options);
        if (!session.getErrors().isEmpty()) {
            String errors = session.getErrors().stream()
                    .map(MessageFormatter::getErrorMessage)
                    .collect(Collectors.joining("; "));
            throw new IllegalArgumentException(
                    "formula " + latex + ": expected LaTeX that SnuggleTeX supports (" + errors + "); simplify it");
        }
        return xml;
    }

    private static Document forBrowsers(Document document) {
        NodeList elements = document.getElementsByTagNameNS(NAMESPACE, "*");
        // the list is live: it has the brackets that are put into a fence
        for (int i = 0; i < elements.getLength(); i++) {
            Element element = (Element) elements.item(i);
            switch (element.getLocalName()) {
                case "mfenced" -> replaceFence(element);
                case "mo", "mn", "mi" -> replaceSigns(element);
                default -> {}
            }
        }
        return document;
    }

    /** Replaces a fence by its brackets: browsers no longer display {@code mfenced}. */
    private static void replaceFence(Element fence) {
        Node row = fence.getOwnerDocument().renameNode(fence, NAMESPACE, "mrow");
        Node first = row.getFirstChild();
        for (Node child = first; child != null; child = child.getNextSibling()) {
            insert(row, child == first ? fence.getAttribute("open") : ",", child);
        }
        insert(row, fence.getAttribute("close"), null);
        fence.removeAttribute("open");
        fence.removeAttribute("close");
    }

    private static void insert(Node row, String operator, Node before) {
        Node element = row.getOwnerDocument().createElementNS(NAMESPACE, "mo");
        element.setTextContent(operator);
        row.insertBefore(element, before);
    }

    /**
     * Replaces hyphens by minus signs, apostrophes by primes, and the bar that Chromium draws beside its letter;
     * removes the space that browsers put around brackets, bars and slashes, and makes bars no higher than letters.
     */
    private static void replaceSigns(Element element) {
        String text = element.getTextContent();
        element.setTextContent(
                text.replace('-', '\u2212').replace('\'', '\u2032').replace('\u0304', '\u00AF'));
        if (element.getLocalName().equals("mo") && "()|/".contains(text)) {
            element.setAttribute("lspace", "0");
            element.setAttribute("rspace", "0");
            if (text.equals("|")) {
                element.setAttribute("stretchy", "false");
            }
        }
    }
}
