package io.github.djlpositional.weights;

/** Text from a file, as a message may show it: on one line, and not too long. */
final class Quoted {

    private static final int LONGEST = 100;

    private Quoted() {}

    static String text(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().limit(LONGEST).forEach(character -> {
            if (isHidden(character)) {
                quoted.append(String.format("\\u%04x", character));
            } else {
                quoted.appendCodePoint(character);
            }
        });
        return quoted.append(text.codePointCount(0, text.length()) > LONGEST ? "…\"" : "\"")
                .toString();
    }

    /** Whether a character moves or turns what stands around it instead of being seen. */
    private static boolean isHidden(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
