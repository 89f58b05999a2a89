package io.github.djlpositional.examples;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Set;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * A tragedy by Shakespeare: the text that Moby Lexical Tools placed in the public domain in 1992, as the XML of Jon
 * Bosak, which may be distributed freely.
 */
enum Play {
    /** 175,376 characters. */
    HAMLET("hamlet"),

    /** 138,103 characters. */
    ROMEO_AND_JULIET("r_and_j"),

    /** 99,616 characters. */
    MACBETH("macbeth");

    /** The elements with text, each of which is a line. The list of persons and the notice of the edition are not. */
    private static final Set<String> LINES = Set.of("SPEAKER", "LINE", "STAGEDIR");

    private final String file;

    Play(String file) {
        this.file = file;
    }

    /** Reads the speeches and the stage directions: a line for each verse, and an empty one before each speaker. */
    String read() throws IOException {
        byte[] xml = new Resource("/org/exist/samples/shakespeare/" + file + ".xml", "org.exist-db:exist-samples:6.2.0")
                .read();
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        StringBuilder text = new StringBuilder();
        try {
            XMLStreamReader reader = factory.createXMLStreamReader(new ByteArrayInputStream(xml));
            StringBuilder line = new StringBuilder();
            int depth = 0; // a verse may contain a stage direction
            while (reader.hasNext()) {
                int event = reader.next();
                if (event == XMLStreamReader.START_ELEMENT && LINES.contains(reader.getLocalName())) {
                    depth++;
                    text.append(reader.getLocalName().equals("SPEAKER") ? "\n" : "");
                } else if (event == XMLStreamReader.END_ELEMENT && LINES.contains(reader.getLocalName())) {
                    depth--;
                    if (depth == 0) {
                        text.append(line.toString().strip()).append('\n');
                        line.setLength(0);
                    }
                } else if (event == XMLStreamReader.CHARACTERS && depth > 0) {
                    line.append(reader.getText().replaceAll("\\s+", " "));
                }
            }
            return text.toString();
        } catch (XMLStreamException e) {
            throw new IOException(file + ".xml cannot be read: " + e.getMessage(), e);
        }
    }
}
