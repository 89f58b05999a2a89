package io.github.djlpositional.examples.sentences;

import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.examples.AtomicFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes safetensors, the format of Hugging Face: the length of a header, the header in JSON, and the numbers. */
final class Safetensors {

    private Safetensors() {}

    /**
     * Writes parameters of 32-bit floats, and replaces the file if it exists.
     *
     * @param file the file
     * @param parameters the parameters by name
     */
    static void write(Path file, Map<String, Parameter> parameters) throws IOException {
        Map<String, Object> header = new LinkedHashMap<>();
        // Hugging Face's transformers require it
        header.put("__metadata__", Map.of("format", "pt"));
        long end = 0;
        for (Map.Entry<String, Parameter> named : parameters.entrySet()) {
            long begin = end;
            end += Float.BYTES * named.getValue().getShape().size();
            header.put(
                    named.getKey(),
                    Map.of(
                            "dtype", "F32",
                            "shape", named.getValue().getShape().getShape(),
                            "data_offsets", List.of(begin, end)));
        }
        byte[] json = JsonUtils.GSON.toJson(header).getBytes(StandardCharsets.UTF_8);
        AtomicFile.write(file, out -> {
            WritableByteChannel channel = Channels.newChannel(out);
            channel.write(buffer(Long.BYTES).putLong(json.length).flip());
            channel.write(ByteBuffer.wrap(json));
            for (Parameter parameter : parameters.values()) {
                float[] values = parameter.getArray().toFloatArray();
                ByteBuffer bytes = buffer(Float.BYTES * values.length);
                bytes.asFloatBuffer().put(values);
                channel.write(bytes);
            }
        });
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }
}
