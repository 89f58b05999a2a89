package io.github.djlpositional.support;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Saves a block to memory, and loads one from there. */
public final class BlockBytes {

    private BlockBytes() {}

    public static byte[] saved(Block block) throws IOException {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        block.saveParameters(new DataOutputStream(file));
        return file.toByteArray();
    }

    public static void load(NDManager manager, Block block, byte... file) throws IOException, MalformedModelException {
        block.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(file)));
    }
}
