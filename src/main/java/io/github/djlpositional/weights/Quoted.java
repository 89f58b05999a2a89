package io.github.djlpositional.weights;

/** Text from a file, as a message may show it: on one line, and not too long. */
final class Quoted {

    private static final int LONGEST = 100;

    private Quoted() {}

    static String text(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().limit(LONGEST).forEach(character -> {
            if (Character.isISOControl(character) || !Character.isDefined(character)) {
                quoted.append(String.format("\\u%04x", character));
            } else {
                quoted.appendCodePoint(character);
            }
        });
        return quoted.append(text.codePointCount(0, text.length()) > LONGEST ? "…\"" : "\"")
                .toString();
    }
}
