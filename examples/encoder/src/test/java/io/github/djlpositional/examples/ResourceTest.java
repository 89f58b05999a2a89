package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

class ResourceTest {

    private static long crc(byte[] content) {
        CRC32 crc = new CRC32();
        crc.update(content);
        return crc.getValue();
    }

    @Test
    void checksumIsThatOfTheContentInAJar() throws Exception {
        Resource resource = new Resource("/picocli/CommandLine.class", "a:b:1");
        assertThat(resource.checksum()).isEqualTo(crc(resource.read()));
    }

    @Test
    void aMissingFileNamesItsArtifact() {
        assertThatThrownBy(new Resource("/none", "a:b:1")::read)
                .isInstanceOf(IOException.class)
                .hasMessageContaining("/none")
                .hasMessageContaining("a:b:1");
    }
}
