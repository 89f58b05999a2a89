package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;

/** A file at a path in a Maven artifact, {@code group:name:version}. */
public record Resource(String path, String artifact) {

    private URL url() throws IOException {
        URL url = Resource.class.getResource(path);
        if (url == null) {
            throw new IOException(path + " is not on the class path: add the Maven artifact " + artifact);
        }
        return url;
    }

    public byte[] read() throws IOException {
        try (InputStream in = url().openStream()) {
            return in.readAllBytes();
        }
    }

    /** Returns the CRC-32 of the file, which a jar has beside it. */
    public long checksum() throws IOException {
        URLConnection connection = url().openConnection();
        if (connection instanceof JarURLConnection jar) {
            return jar.getJarEntry().getCrc();
        }
        try (CheckedInputStream in = new CheckedInputStream(connection.getInputStream(), new CRC32())) {
            in.transferTo(OutputStream.nullOutputStream());
            return in.getChecksum().getValue();
        }
    }
}
