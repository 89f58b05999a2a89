package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
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

    /** Writes arrays of 32-bit floats by name, and replaces the file if it exists. */
    static void write(Path file, Map<String, NDArray> arrays) throws IOException {
        Map<String, Object> header = new LinkedHashMap<>();
        // Hugging Face's transformers require it
        header.put("__metadata__", Map.of("format", "pt"));
        long end = 0;
        for (Map.Entry<String, NDArray> named : arrays.entrySet()) {
            long begin = end;
            end += Float.BYTES * named.getValue().size();
            long[] shape = named.getValue().getShape().getShape();
            header.put(named.getKey(), Map.of("dtype", "F32", "shape", shape, "data_offsets", List.of(begin, end)));
        }
        byte[] json = JsonUtils.GSON.toJson(header).getBytes(StandardCharsets.UTF_8);
        AtomicFile.write(file, out -> {
            WritableByteChannel channel = Channels.newChannel(out);
            ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            channel.write(length.putLong(json.length).flip());
            channel.write(ByteBuffer.wrap(json));
            for (NDArray array : arrays.values()) {
                channel.write(array.toByteBuffer()); // the engines have little-endian machines only
            }
        });
    }
}
